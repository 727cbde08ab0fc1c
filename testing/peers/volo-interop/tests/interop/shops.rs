//! The shop as each side implements it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{BusinessError, Context, Error};
use metainfo::{Backward, Forward, METAINFO};
use pilota::{AHashMap, FastStr};
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedSender;
use volo_interop::ours::{AsyncShop, Item, OutOfStock, Shop, ShopBuyError};
use volo_interop::volo;
use volo_thrift::{
    ApplicationException, ApplicationExceptionKind, BizError, MaybeException, ServerError,
};

/// Three teas, and the receiver of the names of those that look in.
pub(crate) struct Corner {
    left: AtomicI32,
    looks: UnboundedSender<String>,
    /// Lock that keeps a handler that blocks from answering.
    pub(crate) slow: Arc<Mutex<()>>,
}

impl Corner {
    pub(crate) fn new(looks: UnboundedSender<String>) -> Self {
        Self { left: AtomicI32::new(3), looks, slow: Arc::default() }
    }

    /// Reports its beginning and its end, and does not end by itself.
    async fn wait(&self) {
        struct Ending<'c>(&'c Corner);
        impl Drop for Ending<'_> {
            fn drop(&mut self) {
                // The test may be over.
                let _ = self.0.looks.send("ended".to_owned());
            }
        }
        self.looks.send("begun".to_owned()).unwrap();
        let _ending = Ending(self);
        std::future::pending().await
    }

    /// Takes `count`; otherwise returns how many are left.
    fn take(&self, count: i32) -> Result<(), i32> {
        let less = |left: i32| (left >= count).then(|| left - count);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).map(drop)
    }
}

impl Shop for Corner {
    fn check(&self, _: &Context, _: i32) -> Result<(), Error> {
        Ok(())
    }

    fn buy(&self, _: &Context, wanted: Item, coupon: Option<String>) -> Result<Item, ShopBuyError> {
        match coupon.as_deref() {
            Some("forged") => Err(Error::new(ExceptionKind(77), "no such coupon").into()),
            Some("expired") => {
                let extra = [("since".to_owned(), "May".to_owned())].into();
                let error = BusinessError { status: 410, message: "too late".to_owned(), extra };
                Err(Error::from(error).into())
            }
            _ => match self.take(wanted.count) {
                Ok(()) => Ok(wanted),
                Err(left) => Err(OutOfStock { message: "not so many".to_owned(), left }.into()),
            },
        }
    }

    fn count(&self, cx: &Context) -> Result<i64, Error> {
        Ok(cx.time_left().map_or(-1, |left| left.as_millis() as i64))
    }

    fn echo(&self, cx: &Context, text: String) -> Result<String, Error> {
        if text == "never" {
            drop(self.slow.blocking_lock());
        }
        if let Some(name) = cx.metadata("name") {
            cx.set_reply_metadata("greeting", [b"hello ", name].concat());
        }
        Ok(text)
    }

    fn look(&self, _: &Context, who: String) {
        self.looks.send(who).unwrap();
    }
}

impl AsyncShop for Corner {
    async fn check(&self, cx: &Context, depth: i32) -> Result<(), Error> {
        Shop::check(self, cx, depth)
    }

    async fn buy(
        &self,
        cx: &Context,
        wanted: Item,
        coupon: Option<String>,
    ) -> Result<Item, ShopBuyError> {
        Shop::buy(self, cx, wanted, coupon)
    }

    async fn count(&self, cx: &Context) -> Result<i64, Error> {
        Shop::count(self, cx)
    }

    async fn echo(&self, cx: &Context, text: String) -> Result<String, Error> {
        match &*text {
            "never" => std::future::pending().await,
            "watched" => self.wait().await,
            _ => {}
        }
        Shop::echo(self, cx, text)
    }

    async fn look(&self, cx: &Context, who: String) {
        Shop::look(self, cx, who);
    }
}

impl volo::Shop for Corner {
    async fn check(&self, _: i32) -> Result<(), ServerError> {
        Ok(())
    }

    async fn buy(
        &self,
        wanted: volo::Item,
        coupon: Option<FastStr>,
    ) -> Result<MaybeException<volo::Item, volo::ShopBuyException>, ServerError> {
        match coupon.as_deref() {
            Some("forged") => {
                let kind = ApplicationExceptionKind::from(77);
                Err(ServerError::Application(ApplicationException::new(kind, "no such coupon")))
            }
            Some("expired") => {
                let extra = AHashMap::from_iter([("since".into(), "May".into())]);
                Err(ServerError::Biz(BizError::with_extra(410, "too late".into(), extra)))
            }
            _ => Ok(match self.take(wanted.count) {
                Ok(()) => MaybeException::Ok(wanted),
                Err(left) => {
                    let message = Some("not so many".into());
                    let empty = volo::OutOfStock { message, left: Some(left) };
                    MaybeException::Exception(volo::ShopBuyException::Empty(empty))
                }
            }),
        }
    }

    async fn count(&self) -> Result<i64, ServerError> {
        Ok(-1)
    }

    async fn echo(&self, text: FastStr) -> Result<FastStr, ServerError> {
        match &*text {
            "never" => std::future::pending().await,
            "watched" => self.wait().await,
            _ => {}
        }
        METAINFO.with(|values| {
            let mut values = values.borrow_mut();
            // A value that came as transient is then one of the upstream's.
            if let Some(name) = values.get_upstream("name") {
                values.set_backward_transient("greeting", format!("hello {name}"));
            }
        });
        Ok(text)
    }

    async fn look(&self, who: FastStr) -> Result<(), ServerError> {
        self.looks.send(who.to_string()).unwrap();
        Ok(())
    }
}
