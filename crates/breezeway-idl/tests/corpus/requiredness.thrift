namespace rs requiredness

struct Inner { 1: required i32 x }

struct Required {
    1: required bool a, 2: required i8 b, 3: required i16 c, 4: required i32 d, 5: required i64 e,
    6: required double f, 7: required string g, 8: required binary h, 9: required uuid i,
    10: required Inner j, 11: required list<Inner> k, 12: required set<i32> l, 13: required map<string, Inner> m,
}

struct Optional {
    1: optional bool a, 2: optional i8 b, 3: optional i16 c, 4: optional i32 d, 5: optional i64 e,
    6: optional double f, 7: optional string g, 8: optional binary h, 9: optional uuid i,
    10: optional Inner j, 11: optional list<Inner> k, 12: optional set<i32> l, 13: optional map<string, Inner> m,
}

struct Default {
    1: bool a, 2: i8 b, 3: i16 c, 4: i32 d, 5: i64 e,
    6: double f, 7: string g, 8: binary h, 9: uuid i,
    10: Inner j, 11: list<Inner> k, 12: set<i32> l, 13: map<string, Inner> m,
}

struct Mixed { 1: required i32 a, 2: optional string b, 3: i64 c, 4: required string d, 5: optional bool e, 6: list<i32> f }
