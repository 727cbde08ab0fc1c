namespace rs kinds

enum Mood { GOOD = 1, BAD = 2 }
union Either { 1: i64 number, 2: string text }

// One of each kind of type.
struct All {
    1: required string name
    2: optional bool yes
    3: optional i8 tiny
    4: optional i16 small
    5: optional i32 middle
    6: optional i64 large
    7: optional double fraction
    8: optional binary bytes
    9: optional uuid id
    10: optional Mood mood
    11: optional Either either
    12: optional list<All> inner
    13: optional set<i32> numbers
    14: optional map<string, list<Mood>> moods
    15: optional map<i32, string> names
    16: optional map<list<i32>, bool> odd
}

exception Refused { 1: string reason, 2: Mood mood }

service Base {
    string who(1: string name)
}

service Kinds extends Base {
    All echo(1: All all) throws (1: Refused refused)
    string greet(1: string name, 2: i32 times = 2)
    void nothing()
    oneway void hear(1: string text)
    All listen(1: All all) throws (1: Refused refused) (streaming.mode = "server")
    All tell(1: All all) throws (1: Refused refused) (streaming.mode = "client")
    All talk(1: All all) throws (1: Refused refused) (streaming.mode = "bidirectional")
}
