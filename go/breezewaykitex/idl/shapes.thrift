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
