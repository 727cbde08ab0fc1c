namespace rs merged

include "shared_b.thrift"

// It has names of its own that the other files of the module have too.

enum Kind { OTHER = 5 }
struct Inner { 1: Kind kind = Kind.OTHER, 2: shared_b.Inner inner }
struct InnerView { 1: string text }
service Half extends shared_b.Half { Inner other(1: shared_b.Kind kind) }
