namespace rs benchmark

struct Ano { 1: i64 Num }

struct MyTest { 1: i64 Num, 2: Ano Ano, 3: list<i64> Nums }

/** The struct by which generated lines are counted. */
struct Five {
    1: required i64 id
    2: required string name
    3: optional double score
    4: bool active
    5: list<i64> values
}
