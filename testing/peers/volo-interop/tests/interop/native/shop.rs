//! Servers of a shop, which end with the test, and Volo's client of them.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway::{Address, Stopper};
use breezeway_rpc::{AsyncServer, AsyncServices, Server};
use breezeway_tokio::Client;
use breezeway_volo::{CallOver, Methods, VoloService, methods};
use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle as Task;
use tokio::time::timeout;
use volo_interop::ours::{AsyncShopServer, ShopServer};
use volo_interop::volo::{self, ShopClientBuilder, ShopRequestRecv};

use crate::shops::Corner;

pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) const SHOP: Methods = methods!(Shop: check, buy, count, echo; oneway: look);

/// Implementations of the shop's server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Volo's dispatcher and handlers.
    Volo,
    /// `breezeway_rpc::AsyncServer`.
    Awaiting,
    /// `breezeway_rpc::Server`.
    Blocking,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Volo, Kind::Awaiting, Kind::Blocking];

pub(super) struct Running {
    pub(super) address: Address,
    looks: UnboundedReceiver<String>,
    /// Lock that keeps a handler that blocks from answering.
    pub(super) slow: Arc<Mutex<()>>,
    ending: Ending,
    folder: TempDir,
}

enum Ending {
    Thread(Stopper, Option<JoinHandle<()>>),
    Task(Task<()>),
}

/// Returns Volo's service of a shop.
pub(super) fn service(corner: Corner) -> VoloService<volo::ShopServer<Corner>, ShopRequestRecv> {
    VoloService::new(volo::ShopServer::from_handler(corner), SHOP).unwrap()
}

impl Running {
    /// Starts a server of this kind at a place of `carrier`.
    pub(super) fn new(kind: Kind, carrier: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address: Address =
            format!("{carrier}:{}", folder.path().join("shop.sock").display()).parse().unwrap();
        let (tell, looks) = unbounded_channel();
        let corner = Corner::new(tell);
        let slow = Arc::clone(&corner.slow);
        let ending = match kind {
            Kind::Volo => awaiting(server(&address).add_service(service(corner)).unwrap()),
            Kind::Awaiting => {
                awaiting(server(&address).add_service(AsyncShopServer(corner)).unwrap())
            }
            Kind::Blocking => {
                let server = Server::bind(&address).unwrap().with_thrift_clients();
                let server = server.add_service(ShopServer(corner)).unwrap();
                let stopper = server.stopper();
                let serving = std::thread::spawn(move || server.serve().unwrap());
                Ending::Thread(stopper, Some(serving))
            }
        };
        Self { address, looks, slow, ending, folder }
    }

    /// Returns Volo's client, whose calls take at most `time`.
    pub(super) async fn client(&self, time: Duration) -> volo::ShopClient {
        client(&self.address, time).await
    }

    /// Returns the address at which Thrift clients without sessions connect.
    pub(super) fn socket(&self) -> crate::servers::Place {
        crate::servers::Place::Unix(self.folder.path().join("shop.sock"))
    }

    /// Returns the name of the next caller that has looked in.
    pub(super) async fn told(&mut self) -> String {
        timeout(PATIENCE, self.looks.recv()).await.expect("a look").expect("a server")
    }
}

fn server(address: &Address) -> AsyncServer {
    AsyncServer::bind(address).unwrap().with_thrift_clients()
}

fn awaiting<S: AsyncServices>(server: AsyncServer<S>) -> Ending {
    Ending::Task(tokio::spawn(async move { server.serve().await.unwrap() }))
}

/// Returns Volo's client of a server at `address`, whose calls take at most `time`.
pub(super) async fn client(address: &Address, time: Duration) -> volo::ShopClient {
    let client = Client::connect(address).await.unwrap();
    ShopClientBuilder::new("shops").rpc_timeout(Some(time)).call_over(client).build()
}

impl Drop for Running {
    fn drop(&mut self) {
        match &mut self.ending {
            Ending::Thread(stopper, serving) => {
                stopper.stop();
                let ended = serving.take().is_none_or(|serving| serving.join().is_ok());
                assert!(ended || std::thread::panicking());
            }
            Ending::Task(task) => task.abort(),
        }
    }
}
