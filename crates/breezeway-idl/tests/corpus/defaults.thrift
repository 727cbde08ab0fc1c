namespace rs defaults

enum Mode { OFF = 0, ON = 1, AUTO = 2 }
struct Inner { 1: i32 a = 1, 2: string b = "two", 3: optional double c = 3.5 }

const i32 LIMIT = 1000

/** A default for every type, neither required nor optional. */
struct Defaults {
    1: bool flag = true
    2: i8 tiny = -8
    3: i16 short_ = 16
    4: i32 medium = LIMIT
    5: i64 large = 64
    6: double ratio = 0.25
    7: string name = "nobody"
    8: binary blob = "\\bytes"
    9: uuid id = "00010203-0405-0607-0809-0a0b0c0d0e0f"
    10: Mode mode = Mode.AUTO
    11: Inner inner = {"a": 5}
    12: list<i32> numbers = [1, 2, 3]
    13: set<string> words = ["x", "y"]
    14: map<string, i32> ages = {"ann": 30}
    15: list<Inner> inners = [{"b": "one"}, {}]
}

struct OptionalDefaults {
    1: optional bool flag = true
    2: optional i32 medium = LIMIT
    3: optional string name = "nobody"
    4: optional Mode mode = Mode.ON
    5: optional list<string> words = ["x"]
    6: optional Inner inner = {}
    7: optional i64 none
    8: optional double infinite = 1e308
}

struct RequiredDefaults {
    1: required bool flag = false
    2: required i32 medium = 3
    3: required string name = "somebody"
    4: required map<string, list<i32>> lists = {"a": [1]}
}

service Defaulted { i32 call(1: i32 a = 5, 2: string b = "b", 3: optional Mode mode = Mode.AUTO) }
