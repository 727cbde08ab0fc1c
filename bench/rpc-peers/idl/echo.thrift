namespace rs echo
namespace go echo

// A small message: each field of fixed size.
struct Five {
    1: required i64 id
    2: required i32 count
    3: required double price
    4: required bool open
    5: required i64 changed
}

// Of a list, which takes 14 KB with 100 of them.
struct Row {
    1: required i64 id
    2: required string name
    3: required string street
    4: required i32 count
    5: required double price
    6: required bool open
}

service Echo {
    Five five(1: Five five)
    list<Row> rows(1: list<Row> rows)
}
