namespace rs enums

enum Negative { MINUS_TWO = -2, MINUS_ONE = -1, ZERO = 0, MAX = 2147483647, MIN = -2147483648 }
enum Gapped { A = 1, B = 10, C, D = 5, E }
enum Unordered { THREE = 3, ONE = 1, TWO = 2 }
/** Names that are one after conversion. */
enum Clashing { FOO_BAR = 1, FooBar = 2, fooBar = 3, foo_bar = 4 }
enum Mixed { lower = 0, Upper = 1, SCREAMING_CASE = 2, camelCase = 3, HTTPServer = 4, V2_1 = 5, _leading = 6, X = 7 }
enum Prefixed { PREFIXED_ONE = 1, PREFIXED_TWO = 2 }
enum One { ONLY = 42 }
enum NotZero { FIRST = 7 }
enum Empty {}
enum lower_case { a, b }
enum Hex { LOW = 0x10, HIGH = 0xFF } (go.type = "uint8")

struct Enums {
    1: Negative negative
    2: required Gapped gapped
    3: optional Clashing clashing
    4: list<Mixed> mixed
    5: map<One, NotZero> ones
    6: Empty empty
    7: set<lower_case> lower
    8: NotZero not_zero
}
