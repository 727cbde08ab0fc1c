namespace rs merged

include "shared_b.thrift"

// This file and the one it includes are one Rust module.

struct Outer { 1: shared_b.Inner inner, 2: list<shared_b.Kind> kinds }
service Whole extends shared_b.Half { Outer whole(1: shared_b.Inner inner) }
