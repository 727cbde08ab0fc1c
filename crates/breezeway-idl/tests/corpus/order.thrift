namespace rs acme.order

include "common.thrift"
include "money.thrift"
include "user.thrift"

enum OrderState {
    CREATED = 1,
    PAID = 2,
    SHIPPED = 3,
    DELIVERED = 4,
    CANCELLED = -1,
    REFUNDED = -2,
}

struct LineItem {
    1: required string sku,
    2: required i32 quantity = 1,
    3: required money.Amount price,
    4: optional map<string, string> options,
}

struct Address {
    1: string street, 2: string city, 3: string zip, 4: string country = "DE",
}

union PaymentMethod {
    1: Card card,
    2: string invoice_to,
    3: bool cash,
    4: money.Amount credit,
}

struct Card {
    1: required string holder
    2: required string number_masked
    3: i16 expires_month
    4: i16 expires_year
}

struct Order {
    1: required i64 id
    2: required user.User buyer
    3: list<LineItem> items
    4: OrderState state = OrderState.CREATED
    5: optional PaymentMethod payment
    6: optional Address ship_to
    7: optional Address bill_to
    8: common.Timestamp placed_at
    9: map<OrderState, common.Timestamp> history
}

exception PaymentRefused {
    1: required string code
    2: optional string message
    3: optional PaymentMethod method
}

exception OutOfStock { 1: list<string> skus }

service OrderService {
    Order place(1: Order order) throws (1: PaymentRefused refused, 2: OutOfStock out_of_stock)
    OrderState state(1: i64 id)
    list<Order> history(1: common.UserId user, 2: common.Page page)
    void cancel(1: i64 id, 2: string reason)
}

service AdminOrderService extends OrderService {
    i64 purge(1: common.Timestamp before)
}
