// The shop of crates/breezeway-rpc/tests/idl, without the methods whose names Apache's compiler refuses.
namespace rs shop

struct Item { 1: required string name, 2: required i32 count, 3: optional binary picture }
exception OutOfStock { 1: string message, 2: i32 left }
exception Closed { 1: string message }

service Health {
    bool ready()
    void check(1: i32 depth)
}

service Shop extends Health {
    // Takes an item out of the shop.
    Item buy(1: Item wanted, 2: optional string coupon) throws (1: OutOfStock empty, 2: Closed shut)
    void stock(1: list<Item> items) throws (1: Closed shut)
    i64 count()
    string echo(1: string text)
    oneway void look(1: string who)
}
