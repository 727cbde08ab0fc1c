//! Calls behind oneway calls whose handlers are slow: every client, server and framing.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway::{Address, ServerOptions};
use breezeway_rpc::{AsyncServer, AsyncThriftClient, Server, ThriftClient};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::shop::{AsyncShopClient, AsyncShopServer, Corner, ShopClient, ShopServer};
use crate::thrift::FRAMINGS;

/// Time limit of a call that must not wait for another handler.
const PATIENCE: Duration = Duration::from_secs(30);

/// A shop in this process, whose handler of a slow visitor runs until it is released.
struct Shop {
    address: Address,
    looks: UnboundedReceiver<String>,
    slow: Arc<Notify>,
    stop: Option<Box<dyn FnOnce()>>,
    serving: Option<JoinHandle<()>>,
    _folder: TempDir,
}

/// The address of a server, its end, and its thread.
type Served = (Address, Box<dyn FnOnce()>, JoinHandle<()>);

const CARRIERS: [&str; 3] = ["shm", "unix", "tcp"];

impl Shop {
    fn new(carrier: &str, serve: impl FnOnce(&Address, Corner) -> Served) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            file => format!("{file}:{}/shop.sock", folder.path().display()),
        };
        let (tell, looks) = unbounded_channel();
        let corner = Corner::new(tell);
        let slow = Arc::clone(&corner.slow);
        let (address, stop, serving) = serve(&place.parse().unwrap(), corner);
        let (stop, serving) = (Some(stop), Some(serving));
        Self { address, looks, slow, stop, serving, _folder: folder }
    }

    fn blocking(carrier: &str, options: ServerOptions) -> Self {
        Self::new(carrier, |address, corner| {
            let server = Server::bind_with(address, options).unwrap().with_thrift_clients();
            let server = server.add_service(ShopServer(corner)).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = std::thread::spawn(move || server.serve().unwrap());
            (address, Box::new(move || stopper.stop()), serving)
        })
    }

    fn awaited(carrier: &str) -> Self {
        Self::new(carrier, |address, corner| {
            let (tell, told) = channel();
            let address = address.clone();
            let serving = std::thread::spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    let server = AsyncServer::bind(&address).unwrap().with_thrift_clients();
                    let server = server.add_service(AsyncShopServer(corner)).unwrap();
                    tell.send((server.address(), server.stopper())).unwrap();
                    server.serve().await.unwrap();
                });
            });
            let (address, stopper) = told.recv().unwrap();
            (address, Box::new(move || stopper.stop()), serving)
        })
    }

    /// Releases the handler of the slow visitor, which must not have returned before.
    fn release(&mut self) {
        assert!(self.looks.try_recv().is_err(), "the handler returned by itself");
        self.slow.notify_one();
        assert_eq!(self.looks.blocking_recv().unwrap(), "slow");
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        // For a handler that still runs after a failed test.
        self.slow.notify_one();
        self.stop.take().unwrap()();
        self.serving.take().unwrap().join().unwrap();
    }
}

/// Makes a oneway call whose handler runs until it is released, and a call behind it.
fn call_behind_oneway<C>(shop: &mut Shop, client: C, describe: &str)
where
    C: breezeway_rpc::Channel + Send + 'static,
{
    let client = ShopClient::new(client);
    // A connection that was used for a call before.
    client.check(1).unwrap();
    client.look("slow".to_owned()).unwrap();
    let (tell, told) = channel();
    let calling = std::thread::spawn(move || tell.send(client.check(1)));
    let outcome = told.recv_timeout(PATIENCE);
    shop.release();
    outcome.unwrap_or_else(|_| panic!("{describe}: the call waited for the handler")).unwrap();
    calling.join().unwrap().unwrap();
}

/// Makes a call like [`call_behind_oneway`], for tasks.
fn await_call_behind_oneway<C: breezeway_rpc::AsyncChannel>(
    shop: &mut Shop,
    connect: impl AsyncFnOnce() -> C,
    describe: &str,
) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let client = AsyncShopClient::new(connect().await);
        client.check(1).await.unwrap();
        client.look("slow".to_owned()).await.unwrap();
        tokio::time::timeout(PATIENCE, client.check(1)).await
    });
    shop.release();
    outcome.unwrap_or_else(|_| panic!("{describe}: the call waited for the handler")).unwrap();
}

#[test]
fn call_behind_a_slow_oneway_does_not_wait_in_any_framing() {
    for carrier in CARRIERS {
        let servers = ["blocking", "awaited"].into_iter();
        let pairs = servers.flat_map(|serve| FRAMINGS.map(|framing| (serve, framing)));
        for (serve, framing) in pairs {
            let mut shop = match serve {
                "blocking" => Shop::blocking(carrier, ServerOptions::new()),
                _ => Shop::awaited(carrier),
            };
            let describe = format!("{carrier}, {framing:?}, {serve} server");
            let address = shop.address.clone();
            let client = ThriftClient::with_framing(address.clone(), framing);
            call_behind_oneway(&mut shop, client, &format!("blocking client, {describe}"));
            let connect = async || AsyncThriftClient::with_framing(address, framing);
            await_call_behind_oneway(&mut shop, connect, &format!("awaited client, {describe}"));
        }
    }
}

#[test]
fn call_behind_a_slow_oneway_does_not_wait_on_native_sessions() {
    for carrier in CARRIERS {
        for serve in ["offloading", "awaited"] {
            let mut shop = match serve {
                "offloading" => Shop::blocking(carrier, ServerOptions::new().offload(2)),
                _ => Shop::awaited(carrier),
            };
            let address = shop.address.clone();
            let describe = format!("{carrier}, {serve} server");
            let pool = breezeway::Pool::connect(&address).unwrap();
            call_behind_oneway(&mut shop, pool, &format!("pool, {describe}"));
            let shared = breezeway::Session::connect(&address).unwrap();
            call_behind_oneway(&mut shop, shared, &format!("shared session, {describe}"));
            let replaced = breezeway::Client::connect(&address).unwrap();
            call_behind_oneway(&mut shop, replaced, &format!("replaced session, {describe}"));
            let connect = async || breezeway_tokio::Client::connect(&address).await.unwrap();
            await_call_behind_oneway(&mut shop, connect, &format!("tokio client, {describe}"));
        }
    }
}
