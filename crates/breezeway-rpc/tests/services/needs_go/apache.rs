//! Ours with Apache's library for Go, both ways, framed and buffered. It knows no deadlines, no
//! metadata and no business errors, and makes a call at a time on a connection.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use breezeway::Address;
use breezeway_rpc::thrift::{ApplicationException, ExceptionKind};
use breezeway_rpc::{
    AsyncServer, AsyncThriftClient, CallOptions, Channel, Error, Method, ThriftClient,
    ThriftFraming,
};
use tokio::sync::mpsc::unbounded_channel;

use super::{Peer, all_right, built, line, tea};
use crate::shop::{
    AsyncShopClient, AsyncShopServer, Corner, HealthReadyArgs, ShopBuyError, ShopClient,
    ShopStockError,
};
use crate::thrift::Running;
use crate::thrift_awaited::five_hundred_echoes_at_a_time;

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("apache-go", &[]))
}

const FRAMINGS: [(&str, ThriftFraming); 2] =
    [("framed", ThriftFraming::Framed), ("buffered", ThriftFraming::Unframed)];

/// Apache's client tries every kind of method on the shop that is served there.
fn apache_calls(address: &Address, framing: &str) {
    let place = address.to_string().replace("shm:", "unix:");
    all_right(Command::new(program()).args(["call", &place, framing]));
}

#[test]
#[ignore = "needs Go"]
fn apache_client_calls_blocking_server() {
    for carrier in ["unix", "tcp", "shm"] {
        for (framing, _) in FRAMINGS {
            let mut running = Running::new(carrier);
            apache_calls(&running.address, framing);
            assert_eq!(running.looks.blocking_recv().unwrap(), "Apache");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn apache_client_calls_awaiting_server() {
    for place in ["unix", "tcp"] {
        for (framing, _) in FRAMINGS {
            let folder = tempfile::tempdir().unwrap();
            let place = match place {
                "tcp" => "tcp:127.0.0.1:0".to_owned(),
                file => format!("{file}:{}/shop.sock", folder.path().display()),
            };
            let (tell, mut looks) = unbounded_channel();
            let server = AsyncServer::bind(&place).unwrap().with_thrift_clients();
            let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = tokio::spawn(server.serve());
            let called = tokio::task::spawn_blocking(move || apache_calls(&address, framing));
            called.await.unwrap();
            assert_eq!(looks.recv().await.unwrap(), "Apache");
            stopper.stop();
            serving.await.unwrap().unwrap();
        }
    }
}

fn serve(carrier: &str, framing: &str) -> Peer {
    Peer::serve_by(program(), "serve", carrier, &[framing])
}

#[test]
#[ignore = "needs Go"]
fn blocking_client_calls_apache_server() {
    for carrier in ["unix", "tcp"] {
        for (name, framing) in FRAMINGS {
            let mut apache = serve(carrier, name);
            let client = || ThriftClient::with_framing(apache.address.clone(), framing);
            every_kind_of_method(&ShopClient::new(client()));
            unknown_method(&client());
            assert_eq!(line(&mut apache.lines), "Ada");
        }
    }
}

fn every_kind_of_method(shop: &ShopClient<ThriftClient>) {
    assert_eq!(shop.buy(tea(2), None).unwrap(), tea(2));
    let failed = shop.buy(tea(2), None);
    let Err(ShopBuyError::Empty(empty)) = failed else { panic!("{failed:?}") };
    assert_eq!((empty.left, &*empty.message), (1, "not so many"));
    assert!(matches!(shop.stock(Vec::new()), Err(ShopStockError::Shut(_))));
    shop.stock(vec![tea(1)]).unwrap();
    assert!(shop.ready().unwrap());
    shop.check(1).unwrap();
    assert_eq!(shop.count().unwrap(), -1);
    for size in [0, 1, 65_536, 16 << 20] {
        let text = "x".repeat(size);
        assert!(shop.echo(text.clone()).unwrap() == text, "{size}");
    }
    let failed = shop.buy(tea(1), Some("forged".to_owned()));
    let Err(ShopBuyError::Rpc(Error::Application(error))) = failed else { panic!("{failed:?}") };
    assert!(error.message.contains("no such coupon"), "{error}");
    shop.look("Ada".to_owned()).unwrap();
}

fn unknown_method(client: &ThriftClient) {
    let unknown = Method { name: "unknown", ..Method::of::<HealthReadyArgs>("Shop") };
    let failed = client.call(&unknown, &HealthReadyArgs {}, &CallOptions::new());
    let Err(Error::Application(error)) = failed else { panic!("it has no such method") };
    let ApplicationException { kind, .. } = error;
    assert_eq!(kind, ExceptionKind::UNKNOWN_METHOD);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn five_hundred_tasks_call_apaches_server_at_a_time() {
    for (name, framing) in FRAMINGS {
        let apache = serve("unix", name);
        let client = AsyncThriftClient::with_framing(apache.address.clone(), framing);
        let shop = Arc::new(AsyncShopClient::new(client));
        five_hundred_echoes_at_a_time(&shop).await;
    }
}
