namespace rs keywords

/** Every Rust keyword that Thrift lets through, as a field. */
struct Fields {
    1: string type
    2: i32 self
    3: i32 Self
    4: optional i64 super
    5: bool crate
    6: list<string> match
    7: map<string, i32> async
    8: optional binary fn
    9: double dyn
    10: i8 mod
    11: i16 move
    12: set<string> ref
    13: optional Impl impl
    14: string use
    15: string where
    16: string loop
    17: string yield
    18: string try
    19: string gen
    20: string abstract
    21: string await
    22: string true_
    23: string box
    24: string priv
    25: string unsafe
    26: string pub
    27: string in
}

enum Keyword { Self = 0, type = 1, None = 2, Some = 3, Ok = 4, Err = 5 }

struct Impl { 1: optional Keyword let, 2: optional Fields static }

union Loop { 1: i32 while, 2: string for, 3: Keyword self }

exception Trait { 1: string trait }

service Match {
    string match(1: string match, 2: i32 self) throws (1: Trait trait)
    void async()
    oneway void move(1: Loop loop)
    i32 type(1: i32 type)
    i32 encode(1: i32 encoder, 2: i32 decoder, 3: i32 reader, 4: i32 writer, 5: i32 value, 6: i32 buf)
}
