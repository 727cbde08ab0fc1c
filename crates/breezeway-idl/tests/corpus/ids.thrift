namespace rs ids

/** Ids need no order, and may be large. */
struct Ids {
    32767: i32 last
    5: optional string five
    1: required i64 one
    300: list<i32> three_hundred
    2: bool two
    16: binary sixteen
    15: i16 fifteen
    257: optional double odd
}

struct Single { 32767: required string only }

union Descending { 9: string nine, 3: i32 three, 1: Single one }
