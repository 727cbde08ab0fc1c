//! Combinations of Kitex and this crate in each framing on each socket (docs/from-kitex.md), as far
//! as other cases do not cover them.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use breezeway::CallError;
use breezeway_rpc::{
    AsyncChannel, AsyncServer, AsyncThriftClient, CallOptions, Error, Method, ReplyMetadata,
    Server, ThriftClient, ThriftFraming,
};
use tokio::sync::mpsc::unbounded_channel;

use super::{FRAMINGS, Peer, kitex_tries, tea};
use crate::shop::{
    AsyncHealthClient, AsyncShopClient, AsyncShopServer, Corner, Health, HealthClient,
    HealthReadyArgs, HealthServer, ShopBuyError, ShopClient, ShopServer, ShopStockError,
};

const OURS: [ThriftFraming; 3] =
    [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed];

/// A place of this carrier, and what holds it.
fn place(carrier: &str) -> (breezeway::Address, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let place = match carrier {
        "tcp" => "tcp:127.0.0.1:0".to_owned(),
        file => format!("{file}:{}/shop.sock", folder.path().display()),
    };
    (place.parse().unwrap(), folder)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn awaiting_client_calls_kitex_server_in_every_framing() {
    for carrier in ["unix", "tcp"] {
        for framing in OURS {
            let mut kitex = Peer::serve(carrier);
            let client = || AsyncThriftClient::with_framing(kitex.address.clone(), framing);
            let shop = AsyncShopClient::new(client());
            assert_eq!(shop.buy(tea(2), None).await.unwrap(), tea(2));
            let thrown = shop.buy(tea(2), None).await;
            assert!(matches!(&thrown, Err(ShopBuyError::Empty(empty)) if empty.left == 1));
            let shut = shop.stock(Vec::new()).await;
            assert!(matches!(shut, Err(ShopStockError::Shut(_))), "{shut:?}");
            shop.stock(vec![tea(1)]).await.unwrap();
            shop.check(1).await.unwrap();
            for size in [0, 65_536, 16 << 20] {
                let text = "x".repeat(size);
                assert!(shop.echo(text.clone()).await.unwrap() == text, "{size}");
            }
            let unknown = Method { name: "unknown", ..Method::of::<HealthReadyArgs>("Shop") };
            let failed = client().call(&unknown, &HealthReadyArgs {}, &CallOptions::new()).await;
            let Err(error @ Error::Application(_)) = failed else { panic!("{framing:?}") };
            assert!(!error.may_have_run(), "{error}");
            shop.look("Ada".to_owned()).await.unwrap();
            assert_eq!(kitex.told(), "Ada");
            match framing {
                ThriftFraming::TtHeader => what_ttheader_carries(&shop).await,
                _ => what_other_framings_do_not_carry(&shop).await,
            }
        }
    }
}

async fn what_ttheader_carries(shop: &AsyncShopClient<AsyncThriftClient>) {
    let refused = shop.buy(tea(1), Some("expired".to_owned())).await;
    let Err(ShopBuyError::Rpc(Error::Business(error))) = refused else { panic!("{refused:?}") };
    let told = (error.status, &*error.message, &*error.extra["since"]);
    assert_eq!(told, (410, "too late", "\"May\""));
    let reply = ReplyMetadata::new();
    let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
    shop.with(options).echo("x".to_owned()).await.unwrap();
    assert_eq!(reply.get("greeting").unwrap(), b"hello Ada");
    let within = CallOptions::new().timeout(Duration::from_secs(60));
    let left = shop.with(within).count().await.unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
}

async fn what_other_framings_do_not_carry(shop: &AsyncShopClient<AsyncThriftClient>) {
    let refused = shop.buy(tea(1), Some("expired".to_owned())).await;
    assert!(matches!(refused, Err(ShopBuyError::Rpc(Error::MissingResult))), "{refused:?}");
    let named = CallOptions::new().metadata("name", "Ada");
    let failed = shop.with(named).echo("x".to_owned()).await;
    assert!(matches!(failed, Err(Error::NoMetadata)), "{failed:?}");
    let reply = ReplyMetadata::new();
    shop.with(CallOptions::new().receive_metadata(&reply)).echo("x".to_owned()).await.unwrap();
    assert_eq!(reply.get("greeting"), None);
    let within = CallOptions::new().timeout(Duration::from_secs(60));
    assert_eq!(shop.with(within).count().await.unwrap(), -1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn five_hundred_tasks_call_kitex_server_at_once() {
    for carrier in ["unix", "tcp"] {
        for framing in OURS {
            let kitex = Peer::serve(carrier);
            let client = AsyncThriftClient::with_framing(kitex.address.clone(), framing);
            let shop = Arc::new(AsyncShopClient::new(client));
            let call = |number: usize| {
                let shop = Arc::clone(&shop);
                tokio::spawn(async move {
                    let text = format!("{number}").repeat(number);
                    assert_eq!(shop.echo(text.clone()).await.unwrap(), text);
                })
            };
            let calls: Vec<_> = (0..500).map(call).collect();
            for call in calls {
                call.await.unwrap();
            }
        }
    }
}

#[test]
#[ignore = "needs Go"]
fn five_hundred_threads_call_kitex_server_at_once() {
    for carrier in ["unix", "tcp"] {
        for framing in OURS {
            let kitex = Peer::serve(carrier);
            let client = ThriftClient::with_framing(kitex.address.clone(), framing);
            let shop = ShopClient::new(client.connect_timeout(Duration::from_secs(20)));
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
        }
    }
}

#[test]
#[ignore = "needs Go"]
fn unanswered_call_to_kitex_ends_at_its_deadline() {
    for carrier in ["unix", "tcp"] {
        for framing in OURS {
            let kitex = Peer::serve(carrier);
            let late = || CallOptions::new().timeout(Duration::from_millis(100));
            let client = ThriftClient::with_framing(kitex.address.clone(), framing);
            let shop = ShopClient::new(client);
            let failed = shop.with(late()).echo("never".to_owned());
            let by = |error: &Error| {
                // The server knows the deadline from TTHeader and may be the first to give up.
                matches!(error, Error::Call(CallError::DeadlinePassed))
                    || framing == ThriftFraming::TtHeader && matches!(error, Error::Application(_))
            };
            assert!(failed.as_ref().is_err_and(by), "{failed:?}");
            assert!(shop.ready().unwrap());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let client = AsyncThriftClient::with_framing(kitex.address.clone(), framing);
                let shop = AsyncShopClient::new(client);
                let failed = shop.with(late()).echo("never".to_owned()).await;
                assert!(failed.as_ref().is_err_and(by), "{failed:?}");
                assert!(shop.ready().await.unwrap());
            });
        }
    }
}

#[test]
#[ignore = "needs Go"]
fn kitex_call_to_blocking_handler_ends_at_deadline() {
    for carrier in ["unix", "tcp"] {
        for framing in FRAMINGS {
            let (place, _folder) = place(carrier);
            let (tell, _looks) = unbounded_channel();
            let corner = Corner::new(tell);
            let handler = Arc::clone(&corner.slow);
            let server = Server::bind(&place).unwrap().with_thrift_clients();
            let server = server.add_service(ShopServer(corner)).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = std::thread::spawn(move || server.serve());
            kitex_tries("call-late", &address, &[framing]);
            handler.notify_one();
            stopper.stop();
            serving.join().unwrap().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn kitex_call_to_awaiting_handler_ends_at_deadline() {
    for carrier in ["unix", "tcp"] {
        for framing in FRAMINGS {
            let (place, _folder) = place(carrier);
            let (tell, _looks) = unbounded_channel();
            let server = AsyncServer::bind(&place).unwrap().with_thrift_clients();
            let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = tokio::spawn(server.serve());
            let called = move || kitex_tries("call-late", &address, &[framing]);
            tokio::task::spawn_blocking(called).await.unwrap();
            stopper.stop();
            serving.await.unwrap().unwrap();
        }
    }
}

/// Never ready.
struct Shut;

impl Health for Shut {
    fn ready(&self, _: &breezeway_rpc::Context) -> Result<bool, Error> {
        Ok(false)
    }

    fn check(&self, _: &breezeway_rpc::Context, _: i32) -> Result<(), Error> {
        Ok(())
    }
}

/// Both have methods `ready` and `check`: framings without a service's name need to be assigned
/// one.
#[test]
#[ignore = "needs Go"]
fn kitex_client_calls_two_services_by_name() {
    for carrier in ["unix", "tcp"] {
        for framing in FRAMINGS {
            let (place, _folder) = place(carrier);
            let (tell, _looks) = unbounded_channel();
            let server = Server::bind(&place).unwrap().with_thrift_clients();
            let server = server.add_service(ShopServer(Corner::new(tell))).unwrap();
            let server = server.add_service(HealthServer(Shut)).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = std::thread::spawn(move || server.serve());
            kitex_tries("call-both", &address, &[framing]);
            stopper.stop();
            serving.join().unwrap().unwrap();
        }
    }
}

#[test]
#[ignore = "needs Go"]
fn two_services_of_kitex_server_are_called_by_name() {
    for carrier in ["unix", "tcp"] {
        let kitex = Peer::serve_what("serve-both", carrier);
        let client = |framing| ThriftClient::with_framing(kitex.address.clone(), framing);
        let in_header = ThriftFraming::TtHeader;
        assert!(ShopClient::new(client(in_header)).ready().unwrap());
        assert!(!HealthClient::new(client(in_header)).ready().unwrap());
        // Other framings name no service: Kitex uses its configured fallback.
        for framing in [ThriftFraming::Framed, ThriftFraming::Unframed] {
            assert!(HealthClient::new(client(framing)).ready().unwrap());
            assert_eq!(ShopClient::new(client(framing)).buy(tea(1), None).unwrap(), tea(1));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let client = || AsyncThriftClient::new(kitex.address.clone());
            assert!(AsyncShopClient::new(client()).ready().await.unwrap());
            assert!(!AsyncHealthClient::new(client()).ready().await.unwrap());
        });
    }
}
