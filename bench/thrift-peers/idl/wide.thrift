// Shapes that flatter nobody: what the messages of services have besides numbers.

struct Texts {
    1: required list<string> texts
}

struct Profile {
    1: optional string name
    2: optional string email
    3: optional i32 age
    4: optional i64 created
    5: optional bool active
    6: optional double score
    7: optional string city
    8: optional string country
    9: optional i64 manager
    10: optional list<string> tags
    11: optional i32 level
    12: optional string note
}

struct Profiles {
    1: required list<Profile> profiles
}

struct Counts {
    1: required map<string, i64> by_name
    2: required map<i32, string> by_number
}

struct Event {
    1: required string name
    2: required i32 count
    3: required list<i64> numbers
    4: required i64 stamp
    5: required bool flag
}

struct Events {
    1: required list<Event> events
}

// An Event of a later version, with ten fields more.
struct LaterEvent {
    1: required string name
    2: required i32 count
    3: required list<i64> numbers
    4: required i64 stamp
    5: required bool flag
    6: required i32 six
    7: required string seven
    8: required i64 eight
    9: required bool nine
    10: required double ten
    11: required string eleven
    12: required list<i32> twelve
    13: required i64 thirteen
    14: required i32 fourteen
    15: required string fifteen
}

struct LaterEvents {
    1: required list<LaterEvent> events
}
