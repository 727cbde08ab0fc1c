//! The service that the tests serve and call.

use std::sync::{Arc, Mutex};

use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{BusinessError, Context, Error};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/shop.rs"));
pub(crate) use shop::*;

/// A shop with some items, which reports its visitors.
pub(crate) struct Corner {
    pub(crate) stock: Mutex<Vec<Item>>,
    pub(crate) looks: UnboundedSender<String>,
    pub(crate) slow: Arc<Notify>,
}

impl Corner {
    pub(crate) fn new(looks: UnboundedSender<String>) -> Self {
        let tea = Item { name: "tea".to_owned(), count: 3, picture: None };
        Self { stock: Mutex::new(vec![tea]), looks, slow: Arc::default() }
    }

    /// Blocks until the tests release it.
    fn wait(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.slow.notified());
    }

    pub(crate) fn take(&self, wanted: &Item, coupon: Option<&str>) -> Result<Item, ShopBuyError> {
        if coupon == Some("forged") {
            return Err(Error::new(ExceptionKind(77), "no such coupon").into());
        }
        if coupon == Some("expired") {
            let extra = [("since".to_owned(), "\"May\"".to_owned())].into();
            let error = BusinessError { status: 410, message: "too late".to_owned(), extra };
            return Err(Error::from(error).into());
        }
        if coupon == Some("crowded") {
            // A call of its own was shed, after it had done something.
            return Err(Error::Overloaded.into());
        }
        if coupon == Some("nought") {
            return Err(Error::from(BusinessError::new(0, "all is well")).into());
        }
        let mut stock = self.stock.lock().unwrap();
        let found = stock.iter_mut().find(|item| item.name == wanted.name);
        let Some(found) = found else {
            return Err(Closed { message: "never had it".to_owned() }.into());
        };
        if found.count < wanted.count {
            let message = "not so many".to_owned();
            return Err(OutOfStock { message, left: found.count }.into());
        }
        found.count -= wanted.count;
        Ok(Item { count: wanted.count, ..found.clone() })
    }
}

impl Health for Corner {
    fn ready(&self, _: &Context) -> Result<bool, Error> {
        Ok(true)
    }

    fn check(&self, _: &Context, depth: i32) -> Result<(), Error> {
        match depth {
            0.. => Ok(()),
            _ => panic!("deeper than the ground"),
        }
    }
}

impl Shop for Corner {
    fn buy(&self, _: &Context, wanted: Item, coupon: Option<String>) -> Result<Item, ShopBuyError> {
        self.take(&wanted, coupon.as_deref())
    }

    fn stock(&self, _: &Context, items: Vec<Item>) -> Result<(), ShopStockError> {
        if items.is_empty() {
            return Err(Closed { message: "nothing to put there".to_owned() }.into());
        }
        self.stock.lock().unwrap().extend(items);
        Ok(())
    }

    fn count(&self, cx: &Context) -> Result<i64, Error> {
        Ok(cx.time_left().map_or(-1, |left| left.as_millis() as i64))
    }

    /// The text "never" is not echoed before the test allows it.
    fn echo(&self, cx: &Context, text: String) -> Result<String, Error> {
        greet(cx);
        if text == "never" {
            self.wait();
        }
        Ok(text)
    }

    /// The visitor "slow" is seen only when the test allows it.
    fn look(&self, _: &Context, who: String) {
        if who == "slow" {
            self.wait();
        }
        self.looks.send(who).unwrap();
    }

    fn r#type(&self, _: &Context, cx: i32, r#match: i32) -> Result<i32, ShopTypeError> {
        Ok(cx - r#match)
    }

    fn new(&self, _: &Context, value: i32) -> Result<i32, Error> {
        Ok(value)
    }

    fn self_(&self, _: &Context) -> Result<(), Error> {
        Err(Error::new(ExceptionKind::UNKNOWN, "nobody's self"))
    }
}

impl AsyncHealth for Corner {
    async fn ready(&self, cx: &Context) -> Result<bool, Error> {
        Health::ready(self, cx)
    }

    async fn check(&self, cx: &Context, depth: i32) -> Result<(), Error> {
        tokio::task::yield_now().await;
        Health::check(self, cx, depth)
    }
}

impl AsyncShop for Corner {
    async fn buy(
        &self,
        _: &Context,
        wanted: Item,
        coupon: Option<String>,
    ) -> Result<Item, ShopBuyError> {
        tokio::task::yield_now().await;
        self.take(&wanted, coupon.as_deref())
    }

    async fn stock(&self, cx: &Context, items: Vec<Item>) -> Result<(), ShopStockError> {
        Shop::stock(self, cx, items)
    }

    async fn count(&self, cx: &Context) -> Result<i64, Error> {
        Shop::count(self, cx)
    }

    /// The text "never" is never echoed.
    async fn echo(&self, cx: &Context, text: String) -> Result<String, Error> {
        greet(cx);
        if text == "never" {
            let _told = Told(self.looks.clone());
            std::future::pending::<()>().await;
        }
        Ok(text)
    }

    /// The visitor "slow" is seen only when the test allows it.
    async fn look(&self, _: &Context, who: String) {
        if who == "slow" {
            self.slow.notified().await;
        }
        self.looks.send(who).unwrap();
    }

    async fn r#type(&self, cx: &Context, one: i32, other: i32) -> Result<i32, ShopTypeError> {
        Shop::r#type(self, cx, one, other)
    }

    async fn new(&self, cx: &Context, value: i32) -> Result<i32, Error> {
        Shop::new(self, cx, value)
    }

    async fn self_(&self, cx: &Context) -> Result<(), Error> {
        Shop::self_(self, cx)
    }
}

/// Answers metadata with metadata: a giant with more than travels.
fn greet(cx: &Context) {
    if cx.metadata("name") == Some(b"Goliath") {
        cx.set_reply_metadata("greeting", vec![b'!'; 70_000]);
    } else if let Some(name) = cx.metadata("name") {
        cx.set_reply_metadata("greeting", [b"hello ", name].concat());
    }
}

/// Reports that it was dropped.
struct Told(UnboundedSender<String>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.send("dropped".to_owned()).unwrap();
    }
}
