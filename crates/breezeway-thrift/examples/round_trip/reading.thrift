/** What a sensor saw. */
struct Reading {
    1: required string name
    2: i64 time
    3: list<double> values
}
