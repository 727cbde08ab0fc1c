namespace rs merged

enum Kind { SMALL, LARGE }
struct Inner { 1: i32 x, 2: Kind kind }
service Half { i32 half(1: i32 of) }
