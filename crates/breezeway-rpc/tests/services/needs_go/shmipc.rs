//! Kitex over streams of shmipc-go. It publishes no such transport, but takes a dialer and a
//! listener, whose connections are streams.

use std::sync::Arc;

use breezeway_rpc::{AsyncShmipcServer, AsyncThriftClient, ShmipcServer};
use breezeway_shmipc::{
    Address, Client, ClientOptions, Server, ServerOptions, SessionOptions, Trust, asynchronous,
};

use super::*;
use crate::shop::{AsyncShopClient, ShopServer};
use crate::thrift_awaited::five_hundred_echoes_at_a_time;

fn address(folder: &tempfile::TempDir) -> (Address, breezeway::Address) {
    let path = folder.path().join("shmipc.sock");
    (Address::Unix(path.clone()), breezeway::Address::unix(path))
}

fn trusting() -> ServerOptions {
    ServerOptions::new(Trust::SameUser)
}

#[test]
#[ignore = "needs Go"]
fn kitex_client_calls_blocking_server() {
    for framing in FRAMINGS {
        let folder = tempfile::tempdir().unwrap();
        let (address, place) = address(&folder);
        let (tell, mut looks) = unbounded_channel();
        let server = ShmipcServer::new(Server::bind(&address, trusting()).unwrap());
        let server = server.add_service(ShopServer(Corner::new(tell))).unwrap();
        let stopper = server.stopper();
        let serving = std::thread::spawn(move || server.serve());
        kitex_tries("call-shmipc", &place, &[framing]);
        assert_eq!(looks.blocking_recv().unwrap(), "Kitex");
        stopper.stop();
        serving.join().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn kitex_client_calls_awaiting_server() {
    for framing in FRAMINGS {
        let folder = tempfile::tempdir().unwrap();
        let (address, place) = address(&folder);
        let (tell, mut looks) = unbounded_channel();
        let server = asynchronous::Server::bind(&address, trusting()).unwrap();
        let server = AsyncShmipcServer::new(server);
        let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
        let stopper = server.stopper();
        let serving = tokio::spawn(server.serve());
        let trying = move || kitex_tries("call-shmipc", &place, &[framing]);
        tokio::task::spawn_blocking(trying).await.unwrap();
        assert_eq!(looks.recv().await.unwrap(), "Kitex");
        stopper.stop();
        serving.await.unwrap();
    }
}

const OURS: [ThriftFraming; 3] =
    [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed];

/// Returns options with room for the longest message and its echo. Larger ones use the socket,
/// whose bytes are queued up to this limit.
fn options() -> ClientOptions {
    let session = SessionOptions::new().fallback_limit(64 << 20);
    let session = session.handshake_timeout(Duration::from_secs(60));
    ClientOptions::new(Trust::SameUser).buffer_size(128 << 20).session(session)
}

/// Kitex's server, where clients of shmipc reach it.
fn kitexs_server() -> (Peer, Address) {
    let kitex = Peer::serve_what("serve-shmipc", "unix");
    let path = kitex.address.places()[0].path().unwrap().into();
    (kitex, Address::Unix(path))
}

#[test]
#[ignore = "needs Go"]
fn blocking_client_calls_kitex_server() {
    for framing in OURS {
        let (mut kitex, address) = kitexs_server();
        let client = || {
            let client = Client::connect(&address, options()).unwrap();
            ThriftClient::over_shmipc(client, framing)
        };
        let shop = ShopClient::new(client());
        every_kind_of_method(&shop);
        match framing {
            ThriftFraming::TtHeader => what_ttheader_carries(&shop),
            _ => what_other_framings_do_not_carry(&shop),
        }
        unknown_method(&client());
        shop.look("Ada".to_owned()).unwrap();
        assert_eq!(kitex.told(), "Ada");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Go"]
async fn awaiting_client_calls_kitex_server() {
    for framing in OURS {
        let (mut kitex, address) = kitexs_server();
        let client = asynchronous::Client::connect(&address, options()).await.unwrap();
        let shop = Arc::new(AsyncShopClient::new(AsyncThriftClient::over_shmipc(client, framing)));
        assert_eq!(shop.buy(tea(2), None).await.unwrap(), tea(2));
        assert!(matches!(shop.buy(tea(2), None).await, Err(ShopBuyError::Empty(_))));
        shop.check(1).await.unwrap();
        for size in [0, 65_536, 16 << 20] {
            let text = "x".repeat(size);
            assert!(shop.echo(text.clone()).await.unwrap() == text, "{framing:?} {size}");
        }
        let late = CallOptions::new().timeout(Duration::from_millis(100));
        let failed = shop.with(late).echo("never".to_owned()).await;
        let is_late = matches!(failed, Err(Error::Call(breezeway::CallError::DeadlinePassed)));
        assert!(is_late, "{framing:?}: {failed:?}");
        five_hundred_echoes_at_a_time(&shop).await;
        shop.look("Ada".to_owned()).await.unwrap();
        assert_eq!(kitex.told(), "Ada");
    }
}

#[test]
#[ignore = "needs Go"]
fn killed_kitex_server_fails_calls_in_flight() {
    for framing in OURS {
        let (kitex, address) = kitexs_server();
        let connecting = options().connect_timeout(Duration::from_millis(200));
        let client = Client::connect(&address, connecting).unwrap();
        let shop = ShopClient::new(ThriftClient::over_shmipc(client, framing));
        shop.check(1).unwrap();
        std::thread::scope(|scope| {
            let calls = [(); 8].map(|()| scope.spawn(|| shop.echo("never".to_owned())));
            shop.check(1).unwrap();
            drop(kitex);
            for call in calls {
                let failed = call.join().unwrap().unwrap_err();
                assert!(matches!(failed, Error::Io(_) | Error::Shmipc(_)), "{failed}");
            }
        });
        let failed = shop.check(1).unwrap_err();
        assert!(matches!(failed, Error::Shmipc(_)), "{failed}");
    }
}
