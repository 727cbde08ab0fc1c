namespace rs empty

struct Nothing {}
exception Failed {}
union Never {}
service Idle {}
service Busy extends Idle { Nothing nothing(1: Nothing nothing) throws (1: Failed failed) }
struct Holder { 1: Nothing nothing, 2: optional Nothing maybe, 3: list<Nothing> many, 4: map<string, Nothing> named, 5: optional Never never }
