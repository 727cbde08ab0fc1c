//! Volo 0.12 and ours, both ways, on unix sockets and TCP: in TTHeader with frames, framed and
//! buffered.

mod native;
mod servers;
mod shops;

use std::cell::RefCell;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{
    AsyncChannel, AsyncThriftClient, CallOptions, Channel, Error, Method, ReplyMetadata,
    ThriftClient, ThriftFraming,
};
use metainfo::{Backward, Forward, METAINFO, MetaInfo};
use pilota::FastStr;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use volo_interop::ours::{AsyncShopClient, Item, ShopBuyError, ShopClient, ShopCountArgs};
use volo_interop::volo::{self, ShopBuyException, ShopClientBuilder};
use volo_thrift::codec::default::DefaultMakeCodec;
use volo_thrift::{ClientError, MaybeException};

use servers::{Place, Served};

const PATIENCE: Duration = Duration::from_secs(60);
const CARRIERS: [&str; 2] = ["unix", "tcp"];
const FRAMINGS: [ThriftFraming; 3] =
    [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed];
/// Volo's frames have up to 16 MiB.
const SIZES: [usize; 4] = [0, 1, 65_536, (16 << 20) - 100];

fn volos_tea(count: i32) -> volo::Item {
    volo::Item { name: "tea".into(), count, picture: None }
}

fn tea(count: i32) -> Item {
    Item { name: "tea".to_owned(), count, picture: None }
}

/// Volo's client, with messages that are wrapped so.
fn client(place: &Place, framing: ThriftFraming, time: Duration) -> volo::ShopClient {
    let builder = ShopClientBuilder::new("Shop").address(place.volos()).rpc_timeout(Some(time));
    match framing {
        ThriftFraming::TtHeader => builder.build(),
        ThriftFraming::Framed => builder.make_codec(DefaultMakeCodec::framed()).build(),
        ThriftFraming::Unframed => builder.make_codec(DefaultMakeCodec::buffered()).build(),
    }
}

/// Volo's client tries every kind of method on a shop of ours with three teas.
async fn volos_client_calls(served: &mut Served, framing: ThriftFraming) {
    let shop = client(&served.place, framing, PATIENCE);
    let bought = shop.buy(volos_tea(2), None).await.unwrap();
    assert!(matches!(bought, MaybeException::Ok(item) if item == volos_tea(2)));
    let thrown = shop.buy(volos_tea(2), None).await.unwrap();
    let MaybeException::Exception(ShopBuyException::Empty(empty)) = thrown else {
        panic!("{framing:?}: not what was thrown")
    };
    assert_eq!(empty.left, Some(1));
    shop.check(1).await.unwrap();
    let left = shop.count().await.unwrap();
    match framing {
        ThriftFraming::TtHeader => assert!((30_000..=60_000).contains(&left), "{left}"),
        _ => assert_eq!(left, -1),
    }
    for size in SIZES {
        let text = FastStr::from("x".repeat(size));
        assert!(shop.echo(text.clone()).await.unwrap() == text, "{size}");
    }
    let failed = shop.buy(volos_tea(1), Some("forged".into())).await;
    let Err(ClientError::Application(error)) = failed else { panic!("{framing:?}: no error") };
    assert!(error.to_string().contains("no such coupon"), "{error}");
    let failed = shop.buy(volos_tea(1), Some("expired".into())).await.map(drop);
    match (framing, failed) {
        (ThriftFraming::TtHeader, Err(ClientError::Biz(error))) => {
            assert_eq!((error.status_code, &*error.status_message), (410, "too late"));
            let extra = error.extra.expect("it has some");
            assert_eq!(extra.get("since").map(|since| &**since), Some("May"));
        }
        (ThriftFraming::Framed | ThriftFraming::Unframed, Err(ClientError::Application(error))) => {
            assert!(error.to_string().contains("too late"), "{error}");
        }
        (_, other) => panic!("{other:?}"),
    }
    shop.look("Volo".into()).await.unwrap();
    assert_eq!(served.told().await, "Volo");
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
    if framing == ThriftFraming::TtHeader {
        let named = async {
            METAINFO.with(|values| values.borrow_mut().set_transient("name", "Ada"));
            shop.echo("x".into()).await.unwrap();
            METAINFO.with(|values| values.borrow().get_backward_downstream("greeting"))
        };
        let greeting = METAINFO.scope(RefCell::new(MetaInfo::new()), named).await;
        assert_eq!(greeting.as_deref(), Some("hello Ada"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volo_client_calls_both_server_kinds_in_every_framing() {
    for carrier in CARRIERS {
        for framing in FRAMINGS {
            volos_client_calls(&mut Served::blocking(carrier), framing).await;
            volos_client_calls(&mut Served::awaiting(carrier), framing).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unanswered_call_ends_at_volo_clients_deadline() {
    for carrier in CARRIERS {
        for framing in FRAMINGS {
            let served = Served::awaiting(carrier);
            let shop = client(&served.place, framing, Duration::from_millis(100));
            let failed = shop.echo("never".into()).await.unwrap_err();
            // With the deadline in TTHeader, the server may be the first to give up.
            let words = failed.to_string();
            let told = framing == ThriftFraming::TtHeader && words.contains("deadline passed");
            assert!(told || words.contains("timeout"), "{words}");
            shop.check(1).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocked_call_ends_at_volo_clients_deadline() {
    for carrier in CARRIERS {
        for framing in FRAMINGS {
            let (served, slow) = Served::slow(carrier);
            let held = slow.lock().await;
            let late = client(&served.place, framing, Duration::from_millis(100));
            let failed = late.echo("never".into()).await;
            let words = failed.unwrap_err().to_string();
            assert!(words.contains("timeout"), "{words}");
            drop(held);
            client(&served.place, framing, PATIENCE).check(1).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volo_client_gets_unknown_method_or_service() {
    for carrier in CARRIERS {
        for framing in FRAMINGS {
            for served in [Served::of_nothing(carrier), Served::of_nothing_awaiting(carrier)] {
                let failed = client(&served.place, framing, PATIENCE).check(1).await;
                let Err(ClientError::Application(error)) = failed else { panic!("{failed:?}") };
                assert!(error.to_string().contains("unknown"), "{error}");
            }
        }
    }
}

/// A client of ours tries every kind of method on a shop of Volo's with three teas.
fn our_client_calls(place: &Place, framing: ThriftFraming) {
    let client = || ThriftClient::with_framing(place.ours(), framing);
    let shop = ShopClient::new(client());
    assert_eq!(shop.buy(tea(2), None).unwrap(), tea(2));
    let thrown = shop.buy(tea(2), None);
    assert!(matches!(&thrown, Err(ShopBuyError::Empty(empty)) if empty.left == 1), "{thrown:?}");
    shop.check(1).unwrap();
    for size in SIZES {
        let text = "x".repeat(size);
        assert!(shop.echo(text.clone()).unwrap() == text, "{size}");
    }
    let failed = shop.buy(tea(1), Some("forged".to_owned()));
    let Err(ShopBuyError::Rpc(Error::Application(error))) = failed else { panic!("{failed:?}") };
    assert!(error.message.contains("no such coupon"), "{error}");
    let failed = shop.buy(tea(1), Some("expired".to_owned()));
    // Volo's server sends those as exceptions, in TTHeader too.
    let Err(ShopBuyError::Rpc(Error::Application(error))) = failed else { panic!("{failed:?}") };
    assert!(error.message.contains("410") && error.message.contains("too late"), "{error}");
    shop.look("Ada".to_owned()).unwrap();
    let unknown = Method { name: "unknown", ..Method::of::<ShopCountArgs>("Shop") };
    let failed = client().call(&unknown, &ShopCountArgs {}, &CallOptions::new());
    let Err(Error::Application(error)) = failed else { panic!("it has no such method") };
    assert_ne!(error.kind, ExceptionKind(77), "{error}");
    let late = CallOptions::new().timeout(Duration::from_millis(100));
    let failed = shop.with(late).echo("never".to_owned());
    assert!(matches!(failed, Err(Error::Call(_))), "{failed:?}");
    if framing == ThriftFraming::TtHeader {
        let reply = ReplyMetadata::new();
        let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
        shop.with(options).echo("x".to_owned()).unwrap();
        assert_eq!(reply.get("greeting").as_deref(), Some(&b"hello Ada"[..]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_blocks_calls_volos_server_in_every_framing() {
    for carrier in CARRIERS {
        for framing in FRAMINGS {
            let mut served = Served::volos(carrier, framing).await;
            let place = served.place.clone();
            spawn_blocking(move || our_client_calls(&place, framing)).await.unwrap();
            assert_eq!(served.told().await, "Ada");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_threads_call_volos_server_in_every_framing() {
    for carrier in CARRIERS {
        for framing in FRAMINGS {
            let served = Served::volos(carrier, framing).await;
            let client = ThriftClient::with_framing(served.place.ours(), framing);
            let shop = ShopClient::new(client.connect_timeout(PATIENCE));
            let calling = move || {
                let begin = Barrier::new(500);
                std::thread::scope(|scope| {
                    for number in 0..500 {
                        let (shop, begin) = (&shop, &begin);
                        scope.spawn(move || {
                            let text = format!("{number}").repeat(number);
                            begin.wait();
                            assert_eq!(shop.echo(text.clone()).unwrap(), text);
                        });
                    }
                });
            };
            spawn_blocking(calling).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_awaits_calls_volos_server_in_every_framing() {
    for carrier in CARRIERS {
        for framing in FRAMINGS {
            let mut served = Served::volos(carrier, framing).await;
            // 500 connect at once: a listener with no room lets some wait for a second or more.
            let client = || {
                AsyncThriftClient::with_framing(served.place.ours(), framing)
                    .connect_timeout(PATIENCE)
            };
            let shop = Arc::new(AsyncShopClient::new(client()));
            assert_eq!(shop.buy(tea(2), None).await.unwrap(), tea(2));
            let thrown = shop.buy(tea(2), None).await;
            assert!(matches!(&thrown, Err(ShopBuyError::Empty(empty)) if empty.left == 1));
            shop.check(1).await.unwrap();
            for size in SIZES {
                let text = "x".repeat(size);
                assert!(shop.echo(text.clone()).await.unwrap() == text, "{size}");
            }
            for (coupon, words) in [("forged", "no such coupon"), ("expired", "too late")] {
                let failed = shop.buy(tea(1), Some(coupon.to_owned())).await;
                let Err(ShopBuyError::Rpc(Error::Application(error))) = failed else {
                    panic!("{failed:?}")
                };
                assert!(error.message.contains(words), "{error}");
            }
            let reply = ReplyMetadata::new();
            let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
            let named = shop.with(options).echo("x".to_owned()).await;
            if framing == ThriftFraming::TtHeader {
                named.unwrap();
                assert_eq!(reply.get("greeting").as_deref(), Some(&b"hello Ada"[..]));
            } else {
                assert!(matches!(named, Err(Error::NoMetadata)), "{named:?}");
            }
            let unknown = Method { name: "unknown", ..Method::of::<ShopCountArgs>("Shop") };
            let failed = client().call(&unknown, &ShopCountArgs {}, &CallOptions::new()).await;
            assert!(matches!(failed, Err(Error::Application(_))));
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
            let calls: Vec<_> = (0..500).map(call).collect();
            for call in calls {
                timeout(PATIENCE, call).await.unwrap().unwrap();
            }
            shop.look("Ada".to_owned()).await.unwrap();
            assert_eq!(served.told().await, "Ada");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_beyond_volos_limit_fails_with_its_reason() {
    const LARGE: usize = 16 << 20;
    for carrier in CARRIERS {
        let served = Served::volos(carrier, ThriftFraming::Framed).await;
        let address = served.place.ours();
        let client = ThriftClient::with_framing(address.clone(), ThriftFraming::Framed);
        let blocking = move || ShopClient::new(client).echo("x".repeat(LARGE));
        let client = AsyncThriftClient::with_framing(address, ThriftFraming::Framed);
        let awaited = AsyncShopClient::new(client).echo("x".repeat(LARGE)).await;
        for failed in [spawn_blocking(blocking).await.unwrap(), awaited] {
            let Err(Error::Application(error)) = failed else {
                panic!("{carrier}: {:?}", failed.map(|text| text.len()))
            };
            assert!(error.message.contains("exceeds"), "{carrier}: {error}");
        }
    }
}
