namespace rs clashes

// Names that are different here and one in Rust.

struct user_id { 1: i32 id }
struct UserId { 1: i32 id }
struct userId { 1: i32 id }
struct Value { 1: i32 value }
struct ValueView { 1: i32 value }
struct ValueWriter { 1: i32 value }
struct ValueRef { 1: i32 value }
enum value_kind { A }
typedef i32 ValueKind
const i32 some_value = 1
const i32 SOME_VALUE = 2
const i32 SomeValue = 3

struct Fields {
    1: i32 fooBar
    2: i32 foo_bar
    3: i32 FooBar
    4: i32 FOO_BAR
    5: i32 foo_bar_
    6: string URL
    7: string url
    8: i32 x1
    9: i32 x_1
    10: i32 _
    11: i32 _private
    12: i32 __
}

union Fruit { 1: i32 apple, 2: i32 Apple, 3: i32 APPLE, 4: i32 unknown, 5: i32 Unknown }

service Clashes {
    i32 getUser(1: i32 userId, 2: i32 user_id)
    i32 get_user()
    i32 GetUser()
}

service ClashesArgs { void call() }
struct ClashesGetUserArgs { 1: i32 x }
struct GetUserArgs { 1: i32 x }
struct ClashesGetUserResult { 1: i32 x }
struct GetUserResult { 1: i32 x }
