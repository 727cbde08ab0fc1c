namespace rs chain.third.v1
include "chain_b.thrift"
include "chain_a.thrift"
struct Third { 1: chain_b.Second second, 2: chain_a.First first, 3: map<chain_a.Key, chain_b.Second> all }
const chain_a.Key KEY = chain_a.KEY
service C extends chain_b.B { Third third() throws (1: chain_a.Broken broken) }
