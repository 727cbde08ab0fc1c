namespace rs config

/** One setting's value. */
union Value {
    1: bool flag
    2: i64 integer
    3: double number
    4: string text
    5: list<Value> values
    6: map<string, Value> table
}

struct Setting {
    1: required string name
    2: required Value value
    3: optional string comment
    4: i64 version
}

struct Snapshot {
    1: i64 version
    2: map<string, Setting> settings
    3: optional Snapshot previous
}

struct Watch { 1: string prefix, 2: optional i64 since }

exception Stale { 1: i64 current_version }

service Config {
    Snapshot load()
    Setting get(1: string name)
    i64 put(1: Setting setting, 2: optional i64 expected_version) throws (1: Stale stale)
    list<Setting> watch(1: Watch watch)
}
