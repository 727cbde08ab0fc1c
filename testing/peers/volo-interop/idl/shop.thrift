namespace rs shop

// As crates/breezeway-rpc/tests/idl/shop.thrift, without names that Volo's generator cannot take.
struct Item { 1: required string name, 2: required i32 count, 3: optional binary picture }
exception OutOfStock { 1: string message, 2: i32 left }
exception Closed { 1: string message }

service Shop {
    void check(1: i32 depth)
    Item buy(1: Item wanted, 2: optional string coupon) throws (1: OutOfStock empty, 2: Closed shut)
    i64 count()
    string echo(1: string text)
    oneway void look(1: string who)
}
