namespace rs containers

enum Colour { RED, GREEN, BLUE }
struct Item { 1: i32 id, 2: string name }
struct Weight { 1: double kilograms }

struct Lists {
    1: list<bool> bools
    2: list<i8> bytes
    3: list<i16> shorts
    4: list<i32> ints
    5: list<i64> longs
    6: list<double> doubles
    7: list<string> strings
    8: list<binary> binaries
    9: list<uuid> uuids
    10: list<Colour> colours
    11: list<Item> items
    12: list<list<i32>> nested
    13: list<set<string>> sets
    14: list<map<string, i32>> maps
}

struct Sets {
    1: set<bool> bools
    2: set<i8> bytes
    3: set<i16> shorts
    4: set<i32> ints
    5: set<i64> longs
    6: set<double> doubles
    7: set<string> strings
    8: set<binary> binaries
    9: set<uuid> uuids
    10: set<Colour> colours
    11: set<Item> items
    12: set<list<i32>> nested
    13: set<Weight> weights
    14: set<set<double>> more
}

struct Maps {
    1: map<bool, bool> bools
    2: map<i8, i16> bytes
    3: map<i32, i64> ints
    4: map<double, double> doubles
    5: map<string, binary> strings
    6: map<uuid, uuid> uuids
    7: map<Colour, Item> colours
    8: map<Item, Colour> items
    9: map<Weight, i32> weights
    10: map<list<i32>, set<string>> odd
    11: map<map<i32, i32>, map<string, list<map<i8, set<i64>>>>> deep
}

struct OptionalContainers {
    1: optional list<i64> longs
    2: optional set<string> strings
    3: optional map<string, list<Item>> items
    4: required list<double> doubles
    5: required map<i32, Weight> weights
}

union OneContainer {
    1: list<i64> longs
    2: set<Colour> colours
    3: map<string, Item> items
    4: list<list<list<double>>> cube
}

service Containers {
    list<i64> longs(1: list<i64> longs)
    map<string, list<Item>> items(1: map<string, list<Item>> items, 2: set<Weight> weights)
}
