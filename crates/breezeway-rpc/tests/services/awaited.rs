//! Handlers and callers that are awaited.

use std::sync::Arc;
use std::time::Duration;

use breezeway::{Address, CallError, SessionOptions};
use breezeway_rpc::thrift::{ApplicationException, ExceptionKind};
use breezeway_rpc::{AsyncServer, CallOptions, Error, ReplyMetadata};
use breezeway_tokio::{Session, Stopper};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::shop::{AsyncShopClient, AsyncShopServer, Corner, Item, ShopBuyError};

struct Running {
    address: Address,
    looks: UnboundedReceiver<String>,
    slow: Arc<Notify>,
    stopper: Stopper,
    serving: JoinHandle<()>,
    _folder: TempDir,
}

impl Running {
    fn new(carrier: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            file => format!("{file}:{}/shop.sock", folder.path().display()),
        };
        let (tell, looks) = unbounded_channel();
        let server = AsyncServer::bind(&place).unwrap();
        let shop = Corner::new(tell);
        let slow = Arc::clone(&shop.slow);
        let server = server.add_service(AsyncShopServer(shop)).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(async move { server.serve().await.unwrap() });
        Self { address, looks, slow, stopper, serving, _folder: folder }
    }

    async fn client(&self) -> AsyncShopClient<Session> {
        AsyncShopClient::new(Session::connect(&self.address).await.unwrap())
    }

    async fn end(self) {
        self.stopper.stop();
        self.serving.await.unwrap();
    }

    /// Returns the next report of the shop's handlers.
    async fn told(&mut self) -> String {
        timeout(Duration::from_secs(10), self.looks.recv()).await.unwrap().unwrap()
    }
}

fn tea(count: i32) -> Item {
    Item { name: "tea".to_owned(), count, picture: None }
}

#[tokio::test]
async fn every_kind_of_method_travels_over_every_carrier() {
    for carrier in ["shm", "unix", "tcp"] {
        let mut running = Running::new(carrier);
        let shop = running.client().await;
        assert_eq!(shop.buy(tea(2), None).await.unwrap(), tea(2));
        assert!(matches!(shop.buy(tea(2), None).await, Err(ShopBuyError::Empty(_))));
        shop.look("Ada".to_owned()).await.unwrap();
        assert_eq!(running.told().await, "Ada");
        assert!(shop.ready().await.unwrap(), "inherited");
        shop.check(1).await.unwrap();
        drop(shop);
        running.end().await;
    }
}

#[tokio::test]
async fn undeclared_error_arrives_with_kind_and_message() {
    let running = Running::new("shm");
    let shop = running.client().await;
    match shop.buy(tea(1), Some("forged".to_owned())).await {
        Err(ShopBuyError::Rpc(Error::Application(ApplicationException { kind, message }))) => {
            assert_eq!((kind, &*message), (ExceptionKind(77), "no such coupon"));
        }
        other => panic!("{other:?}"),
    }
    match shop.check(-1).await {
        Err(Error::Application(exception)) => {
            assert_eq!(exception.kind, ExceptionKind::INTERNAL_ERROR)
        }
        other => panic!("{other:?}"),
    }
    shop.check(1).await.unwrap();
    drop(shop);
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_calls_at_a_time_get_their_own_replies() {
    let running = Running::new("shm");
    let shop = running.client().await;
    let calls: Vec<_> = (0..500)
        .map(|number| {
            let shop = shop.clone();
            tokio::spawn(async move {
                let text = format!("{number}").repeat(number);
                assert_eq!(shop.echo(text.clone()).await.unwrap(), text);
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    drop(shop);
    running.end().await;
}

#[tokio::test]
async fn a_handler_is_dropped_at_the_clients_deadline() {
    let mut running = Running::new("shm");
    let shop = running.client().await;
    let options = CallOptions::new().timeout(Duration::from_millis(50));
    let failed = shop.with(options).echo("never".to_owned()).await;
    assert!(matches!(failed, Err(Error::Call(breezeway::CallError::DeadlinePassed))), "{failed:?}");
    assert_eq!(running.told().await, "dropped");
    assert_eq!(shop.echo("and on".to_owned()).await.unwrap(), "and on");
    drop(shop);
    running.end().await;
}

#[tokio::test]
async fn a_handler_is_dropped_when_its_client_drops_the_call() {
    let mut running = Running::new("shm");
    let shop = running.client().await;
    let call = timeout(Duration::from_millis(50), shop.echo("never".to_owned()));
    assert!(call.await.is_err());
    assert_eq!(running.told().await, "dropped");
    drop(shop);
    running.end().await;
}

#[tokio::test]
async fn a_oneway_call_is_finished_after_its_client_is_gone() {
    let mut running = Running::new("shm");
    let shop = running.client().await;
    shop.look("slow".to_owned()).await.unwrap();
    shop.look("first".to_owned()).await.unwrap();
    assert_eq!(running.told().await, "first", "so the slow one has begun");
    drop(shop);
    // The next session is served after the end of the first was seen.
    running.client().await.ready().await.unwrap();
    running.slow.notify_one();
    assert_eq!(running.told().await, "slow");
    running.end().await;
}

#[tokio::test]
async fn metadata_travels_both_ways() {
    for carrier in ["shm", "unix", "tcp"] {
        let running = Running::new(carrier);
        let shop = running.client().await;
        let reply = ReplyMetadata::new();
        for name in ["name", "other"] {
            let options = CallOptions::new().metadata(name, "Ada").receive_metadata(&reply);
            shop.with(options).echo("x".to_owned()).await.unwrap();
            let greeting = (name == "name").then(|| b"hello Ada".to_vec());
            assert_eq!(reply.get("greeting"), greeting);
        }
        let options = CallOptions::new().persistent_metadata("name", "Bob");
        let options = options.receive_metadata(&reply).timeout(Duration::from_secs(10));
        shop.with(options).echo("x".to_owned()).await.unwrap();
        assert_eq!(reply.get("greeting").unwrap(), b"hello Bob");
        drop(shop);
        running.end().await;
    }
}

#[tokio::test]
async fn a_business_error_has_its_status_and_its_words() {
    let running = Running::new("shm");
    let shop = running.client().await;
    match shop.buy(tea(1), Some("expired".to_owned())).await {
        Err(ShopBuyError::Rpc(Error::Business(error))) => {
            assert_eq!((error.status, &*error.message), (410, "too late"));
        }
        other => panic!("{other:?}"),
    }
    drop(shop);
    running.end().await;
}

#[tokio::test]
async fn a_blocking_client_calls_an_awaited_service() {
    let running = Running::new("shm");
    let address = running.address.clone();
    let count = tokio::task::spawn_blocking(move || {
        let shop = crate::shop::ShopClient::new(breezeway::Pool::connect(&address).unwrap());
        shop.buy(tea(1), None).unwrap().count
    });
    assert_eq!(count.await.unwrap(), 1);
    running.end().await;
}

#[tokio::test]
async fn oneway_call_without_room_ends_at_its_deadline() {
    const LONG: Duration = Duration::from_secs(20);
    let (channel, _server) = Session::pair(&SessionOptions::new()).await.unwrap();
    let shop = AsyncShopClient::new(channel);
    let within = || CallOptions::new().timeout(Duration::from_millis(20));
    let failing = async {
        loop {
            if let Err(error) = shop.with(within()).look("Ada".to_owned()).await {
                break error;
            }
        }
    };
    let failed = timeout(LONG, failing).await.expect("it waits for ever");
    assert!(matches!(failed, Error::Call(CallError::DeadlinePassed)), "{failed}");
}

#[tokio::test]
async fn server_names_its_service() {
    for carrier in ["shm", "unix", "tcp"] {
        let running = Running::new(carrier);
        let channel = Session::connect(&running.address).await.unwrap();
        assert_eq!(channel.service(), breezeway_rpc::RPC, "{carrier}");
        let other = SessionOptions::new().service(2);
        let error = Session::connect_with(&running.address, &other).await.map(drop).unwrap_err();
        assert!(error.to_string().contains("serves Breezeway RPC"), "{error}");
        drop(channel);
        running.end().await;
    }
}
