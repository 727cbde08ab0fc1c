namespace rs prelude

// Types that go by the names of what every Rust file uses.

struct String { 1: string string, 2: optional String next }
struct Vec { 1: list<string> items, 2: binary bytes }
struct Option { 1: optional Vec some, 2: optional Box boxed }
struct Result { 1: optional Ok ok, 2: optional Error err }
struct Box { 1: optional Box inner, 2: optional Option option }
struct Ok { 1: bool ok }
struct Some { 1: i32 some }
struct None {}
struct Default { 1: i32 default = 5 }
struct Clone { 1: i32 clone }
struct Debug { 1: i32 debug }
struct PartialEq { 1: double x }
struct Copy { 1: i32 x }
struct Iterator { 1: list<i32> next }
struct Into { 1: i32 into }
struct From { 1: i32 from }
struct Encode { 1: i32 encode, 2: i32 decode, 3: i32 encoded_len }
struct Decode { 1: i32 new, 2: i32 clone, 3: i32 default, 4: i32 fmt }
struct View { 1: list<i32> view, 2: i32 finish, 3: i32 as_bytes }
struct Writer { 1: string writer, 2: i32 len, 3: i32 buf }
struct Reader { 1: string reader, 2: i32 read, 3: i32 field }
struct BTreeMap { 1: map<string, i32> map }
struct BTreeSet { 1: set<string> set }
struct HashMap { 1: map<i32, Vec> map }
struct Uuid { 1: uuid id }
struct Bytes { 1: binary bytes }
struct List { 1: list<i64> list, 2: list<String> strings }
struct Map { 1: map<i64, i64> map }
struct Struct { 1: i32 struct_ }
exception Error { 1: string error, 2: optional Result result }
enum Message { Message = 1 }
union Union { 1: String String, 2: Vec Vec, 3: Option Option }
struct str { 1: string str }
struct u8 { 1: byte u8 }
struct bool_ { 1: bool bool_ }

service Service {
    Result result(1: String string, 2: Option option) throws (1: Error error)
    Vec vec(1: Vec vec)
    void unit()
}
