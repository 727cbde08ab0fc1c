/** A colour, which later versions may have more of. */
enum Color {
    RED = 1,
    GREEN = 2,
}

/** The other one. */
struct Ano {
    1: i64 a
}

/** Small fields of many kinds. */
struct Mixed {
    1: bool flag
    2: i32 count
    3: i64 stamp
    4: double ratio
    5: string name
    6: list<i64> numbers
}

struct MyTest {
    1: i64 Num
    2: Ano Ano
    3: list<i64> Nums
}

union Shape {
    1: i64 side
    2: string name
    3: Ano ano
}

exception NotFound {
    1: required string message
    2: optional Color color = Color.RED
}

/** Every way to nest. */
struct Node {
    1: required i64 value
    2: optional Node next_node
    3: list<Node> children
    4: map<string, list<i32>> table
    5: set<i64> set_of_numbers
    6: binary blob
    7: list<Mixed> mixed
    8: optional Shape shape
    10: list<Color> colors
    11: optional i32 limit
    12: set<string> tags
    13: map<double, Ano> by_number
}
