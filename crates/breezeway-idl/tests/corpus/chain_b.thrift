namespace rs chain.second.v1
include "chain_a.thrift"
struct Second { 1: chain_a.First first, 2: chain_a.Colour colour = chain_a.Colour.GREEN }
service B extends chain_a.A { Second second() }
