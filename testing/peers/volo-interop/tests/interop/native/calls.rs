//! Every kind of method, from Volo's client and to Volo's service.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use breezeway::{Pool, Session};
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{CallOptions, Error, ReplyMetadata, ThriftFraming};
use breezeway_tokio::Client;
use metainfo::{Backward, Forward, METAINFO, MetaInfo};
use pilota::FastStr;
use tokio::task::spawn_blocking;
use volo_interop::ours::{AsyncShopClient, ShopBuyError, ShopClient};
use volo_interop::volo::{ShopBuyException, ShopClient as VolosClient};
use volo_thrift::{ApplicationExceptionKind, ClientError, MaybeException};

use super::shop::{KINDS, Kind, PATIENCE, Running};
use crate::{SIZES, tea, volos_tea};

const CARRIERS: [&str; 2] = ["shm", "unix"];

/// Volo's client tries every kind of method on a shop with three teas.
async fn volos_client_calls(shop: &VolosClient, kind: Kind) {
    let bought = shop.buy(volos_tea(2), None).await.unwrap();
    assert!(matches!(bought, MaybeException::Ok(item) if item == volos_tea(2)));
    let thrown = shop.buy(volos_tea(2), None).await.unwrap();
    let MaybeException::Exception(ShopBuyException::Empty(empty)) = thrown else {
        panic!("{kind:?}: not what was thrown")
    };
    assert_eq!(empty.left, Some(1));
    shop.check(1).await.unwrap();
    for size in SIZES {
        let text = FastStr::from("x".repeat(size));
        assert!(shop.echo(text.clone()).await.unwrap() == text, "{size}");
    }
    let failed = shop.buy(volos_tea(1), Some("forged".into())).await;
    let Err(ClientError::Application(error)) = failed else { panic!("{kind:?}: no error") };
    assert_eq!(error.kind(), ApplicationExceptionKind::from(77), "{error}");
    assert!(error.message().contains("no such coupon"), "{error}");
    let failed = shop.buy(volos_tea(1), Some("expired".into())).await;
    let Err(ClientError::Biz(error)) = failed else { panic!("{kind:?}: no error") };
    assert_eq!((error.status_code, &*error.status_message), (410, "too late"));
    assert!(error.extra.is_none(), "{kind:?}");
    if kind != Kind::Volo {
        let left = shop.count().await.unwrap();
        // The time on the wire is rounded up.
        assert!((30_000..=61_000).contains(&left), "{left}");
    }
    let at_once: Vec<_> = (0..500)
        .map(|number: usize| {
            let shop = shop.clone();
            tokio::spawn(async move {
                let text = FastStr::from(format!("{number}").repeat(number));
                assert_eq!(shop.echo(text.clone()).await.unwrap(), text);
            })
        })
        .collect();
    for call in at_once {
        call.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volo_client_calls_every_kind_of_server() {
    for carrier in CARRIERS {
        for kind in KINDS {
            let mut running = Running::new(kind, carrier);
            let shop = running.client(PATIENCE).await;
            volos_client_calls(&shop, kind).await;
            shop.look("Volo".into()).await.unwrap();
            assert_eq!(running.told().await, "Volo");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metainfo_travels_both_ways() {
    for kind in [Kind::Volo, Kind::Awaiting] {
        let mut running = Running::new(kind, "shm");
        let shop = running.client(PATIENCE).await;
        for persistent in [false, true] {
            let named = async {
                METAINFO.with(|values| {
                    let mut values = values.borrow_mut();
                    // Volo's handlers see a transient value as one of the upstream.
                    match persistent && kind == Kind::Awaiting {
                        true => values.set_persistent("name", "Ada"),
                        false => values.set_transient("name", "Ada"),
                    }
                });
                shop.echo("x".into()).await.unwrap();
                // A one-way message carries no metadata, and a call does.
                shop.look("Ada".into()).await.unwrap();
                METAINFO.with(|values| values.borrow().get_backward_downstream("greeting"))
            };
            let greeting = METAINFO.scope(RefCell::new(MetaInfo::new()), named).await;
            assert_eq!(greeting.as_deref(), Some("hello Ada"), "{kind:?}");
            assert_eq!(running.told().await, "Ada");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn awaited_client_calls_volo_service() {
    for carrier in CARRIERS {
        let mut running = Running::new(Kind::Volo, carrier);
        let client = Client::connect(&running.address).await.unwrap();
        let shop = Arc::new(AsyncShopClient::new(client));
        assert_eq!(shop.buy(tea(2), None).await.unwrap(), tea(2));
        let thrown = shop.buy(tea(2), None).await;
        assert!(matches!(&thrown, Err(ShopBuyError::Empty(empty)) if empty.left == 1));
        shop.check(1).await.unwrap();
        for size in SIZES {
            let text = "x".repeat(size);
            assert!(shop.echo(text.clone()).await.unwrap() == text, "{size}");
        }
        let failed = shop.buy(tea(1), Some("forged".to_owned())).await;
        let Err(ShopBuyError::Rpc(Error::Application(error))) = failed else {
            panic!("{failed:?}")
        };
        assert_eq!((error.kind, &*error.message), (ExceptionKind(77), "no such coupon"));
        let failed = shop.buy(tea(1), Some("expired".to_owned())).await;
        let Err(ShopBuyError::Rpc(Error::Business(error))) = failed else { panic!("{failed:?}") };
        assert_eq!((error.status, &*error.message), (410, "too late"));
        let reply = ReplyMetadata::new();
        let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
        shop.with(options).echo("x".to_owned()).await.unwrap();
        assert_eq!(reply.get("greeting").as_deref(), Some(&b"hello Ada"[..]));
        let late = CallOptions::new().timeout(Duration::from_millis(100));
        let failed = shop.with(late).echo("never".to_owned()).await;
        assert!(matches!(failed, Err(Error::Call(_))), "{failed:?}");
        let call = |number: usize| {
            let shop = Arc::clone(&shop);
            tokio::spawn(async move {
                let text = format!("{number}").repeat(number);
                assert_eq!(shop.echo(text.clone()).await.unwrap(), text);
            })
        };
        for call in (0..500).map(call).collect::<Vec<_>>() {
            call.await.unwrap();
        }
        shop.look("Ada".to_owned()).await.unwrap();
        assert_eq!(running.told().await, "Ada");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_clients_call_volo_service() {
    for carrier in CARRIERS {
        let mut running = Running::new(Kind::Volo, carrier);
        let address = running.address.clone();
        let calling = move || {
            let shared = ShopClient::new(Session::connect(&address).unwrap());
            assert_eq!(shared.buy(tea(2), None).unwrap(), tea(2));
            let pool = ShopClient::new(Pool::connect(&address).unwrap());
            let thrown = pool.buy(tea(2), None);
            assert!(matches!(&thrown, Err(ShopBuyError::Empty(empty)) if empty.left == 1));
            for size in SIZES {
                let text = "x".repeat(size);
                assert!(pool.echo(text.clone()).unwrap() == text, "{size}");
                assert!(shared.echo(text.clone()).unwrap() == text, "{size}");
            }
            shared.check(1).unwrap();
            pool.look("Ada".to_owned()).unwrap();
        };
        spawn_blocking(calling).await.unwrap();
        assert_eq!(running.told().await, "Ada");
    }
}

/// Volo's client without sessions calls a Volo service behind our server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volo_service_takes_thrift_clients_on_its_sockets() {
    let mut running = Running::new(Kind::Volo, "unix");
    for framing in [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed] {
        let shop = crate::client(&running.socket(), framing, PATIENCE);
        let text = FastStr::from("x".repeat(65_536));
        assert!(shop.echo(text.clone()).await.unwrap() == text, "{framing:?}");
        shop.check(1).await.unwrap();
        shop.look("Volo".into()).await.unwrap();
        assert_eq!(running.told().await, "Volo");
    }
}
