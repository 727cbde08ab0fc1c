namespace go shapes

// Structs that the codecs are measured with.

struct Five {
    1: required i64 id
    2: required string name
    3: optional double score
    4: bool active
    5: list<i64> values
}

struct Numbers { 1: i64 a, 2: i32 b, 3: double c, 4: bool d, 5: i16 e, 6: i64 f, 7: list<i64> longs, 8: list<i32> ints }

struct Texts { 1: string title, 2: list<string> tags, 3: map<string, string> labels, 4: binary body }

struct Batch { 1: list<Five> items }

// Twenty fields, of which few may be read.
struct Order {
    1: required i64 id
    2: required string customer
    3: i32 status
    4: double total
    5: string currency
    6: string street
    7: string city
    8: string country
    9: optional string note
    10: optional string coupon
    11: i64 created
    12: i64 updated
    13: bool paid
    14: string carrier
    15: string tracking
    16: i32 weight
    17: list<string> tags
    18: optional string referrer
    19: list<Five> items
    20: required string checksum
}
