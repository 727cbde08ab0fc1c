struct Ano {
    1: required i64 a
}

struct MyTest {
    1: required i64 Num
    2: required Ano Ano
    3: required list<i64> Nums
}

struct Mixed {
    1: required bool flag
    2: required i32 count
    3: required i64 stamp
    4: required double ratio
    5: required string name
    6: required list<i64> numbers
}

struct Batch {
    1: required list<Mixed> items
}
