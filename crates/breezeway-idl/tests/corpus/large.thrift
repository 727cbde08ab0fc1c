/** Twelve fields: each is read by code of its own. */
struct Twelve {
    1: i64 id
    2: i32 width
    3: i32 height
    4: double scale
    5: bool visible
    6: i16 layer
    7: i8 opacity
    8: i64 created
    9: string title
    10: list<string> tags
    11: map<string, i32> counts
    12: optional binary picture
}

/** One more, in few steps: what has no fixed size is read by functions that all structs share. */
struct Thirteen {
    1: i64 id
    2: i32 width
    3: i32 height
    4: double scale
    5: bool visible
    6: i16 layer
    7: i8 opacity
    8: i64 created
    9: i64 changed
    10: string title
    11: list<string> tags
    12: map<string, i32> counts
    13: optional binary picture
}

/** Another that shares them, with numbers above 255, whose presence the reader keeps itself. */
struct Others {
    1: required string title
    2: i32 width
    3: i32 height
    4: double scale
    5: bool visible
    6: i16 layer
    7: i8 opacity
    8: i64 created
    9: i64 changed
    10: list<Twelve> parts
    11: map<string, i32> counts
    12: optional Thirteen whole
    300: required string late
}
