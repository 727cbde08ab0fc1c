//! Servers of this process, which end with the test.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway::{Address, Stopper};
use breezeway_rpc::{AsyncServer, AsyncServices, Server, ThriftFraming};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle as Task;
use tokio::time::timeout;
use volo::net::incoming::DefaultIncoming;
use volo_interop::ours::{AsyncShopServer, ShopServer};
use volo_interop::volo as volos;
use volo_thrift::codec::default::DefaultMakeCodec;

use crate::shops::Corner;

const PATIENCE: Duration = Duration::from_secs(60);

/// Address of a server.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl Place {
    pub(crate) fn ours(&self) -> Address {
        match self {
            Self::Unix(path) => Address::unix(path),
            Self::Tcp(address) => breezeway::Place::from(*address).into(),
        }
    }

    pub(crate) fn volos(&self) -> volo::net::Address {
        match self {
            Self::Unix(path) => {
                let address = std::os::unix::net::SocketAddr::from_pathname(path);
                volo::net::Address::Unix(address.unwrap())
            }
            Self::Tcp(address) => volo::net::Address::Ip(*address),
        }
    }
}

pub(crate) struct Served {
    pub(crate) place: Place,
    looks: UnboundedReceiver<String>,
    ending: Ending,
    _folder: TempDir,
}

enum Ending {
    Thread(Stopper, Option<JoinHandle<()>>),
    Task(Task<()>),
}

fn place_of(address: &Address) -> Place {
    match &address.places()[0] {
        breezeway::Place::Tcp { host, port } => {
            Place::Tcp(SocketAddr::new(host.parse().unwrap(), *port))
        }
        place => Place::Unix(place.path().unwrap().to_owned()),
    }
}

/// Room for both ends of 500 connections of several tests, which are more files than the 1,024 that
/// a process may usually have: as many as this one is allowed to ask for.
fn many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

/// Returns the address for a server.
fn address(carrier: &str, folder: &TempDir) -> Address {
    match carrier {
        "tcp" => "tcp:127.0.0.1:0".parse().unwrap(),
        _ => Address::unix(folder.path().join("shop.sock")),
    }
}

impl Served {
    pub(crate) fn blocking(carrier: &str) -> Self {
        let (tell, looks) = unbounded_channel();
        Self::of(carrier, looks, |server| {
            server.add_service(ShopServer(Corner::new(tell))).unwrap()
        })
    }

    /// Starts like [`Self::blocking`]; handlers do not answer while the returned lock is held.
    pub(crate) fn slow(carrier: &str) -> (Self, Arc<Mutex<()>>) {
        let (tell, looks) = unbounded_channel();
        let corner = Corner::new(tell);
        let slow = Arc::clone(&corner.slow);
        let add = |server: Server| server.add_service(ShopServer(corner)).unwrap();
        (Self::of(carrier, looks, add), slow)
    }

    /// Starts a server without a shop.
    pub(crate) fn of_nothing(carrier: &str) -> Self {
        let (_, looks) = unbounded_channel();
        Self::of(carrier, looks, |server| server)
    }

    /// Starts a server without a shop, with handlers that are awaited.
    pub(crate) fn of_nothing_awaiting(carrier: &str) -> Self {
        let (_, looks) = unbounded_channel();
        Self::of_awaiting(carrier, looks, |server| server)
    }

    fn of(
        carrier: &str,
        looks: UnboundedReceiver<String>,
        add: impl FnOnce(Server) -> Server,
    ) -> Self {
        many_files();
        let folder = tempfile::tempdir().unwrap();
        let server = add(Server::bind(&address(carrier, &folder)).unwrap().with_thrift_clients());
        let (place, stopper) = (place_of(&server.address()), server.stopper());
        let serving = std::thread::spawn(move || server.serve().unwrap());
        let ending = Ending::Thread(stopper, Some(serving));
        Self { place, looks, ending, _folder: folder }
    }

    pub(crate) fn awaiting(carrier: &str) -> Self {
        let (tell, looks) = unbounded_channel();
        Self::of_awaiting(carrier, looks, |server| {
            server.add_service(AsyncShopServer(Corner::new(tell))).unwrap()
        })
    }

    fn of_awaiting<S: AsyncServices>(
        carrier: &str,
        looks: UnboundedReceiver<String>,
        add: impl FnOnce(AsyncServer) -> AsyncServer<S>,
    ) -> Self {
        many_files();
        let folder = tempfile::tempdir().unwrap();
        let server = AsyncServer::bind(&address(carrier, &folder)).unwrap().with_thrift_clients();
        let server = add(server);
        let place = place_of(&server.address());
        let ending = Ending::Task(tokio::spawn(async move { server.serve().await.unwrap() }));
        Self { place, looks, ending, _folder: folder }
    }

    pub(crate) async fn volos(carrier: &str, framing: ThriftFraming) -> Self {
        many_files();
        let folder = tempfile::tempdir().unwrap();
        let (tell, looks) = unbounded_channel();
        let (place, incoming) = match carrier {
            "tcp" => {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let place = Place::Tcp(listener.local_addr().unwrap());
                (place, DefaultIncoming::from(listener))
            }
            _ => {
                let path = folder.path().join("shop.sock");
                let listener = UnixListener::bind(&path).unwrap();
                (Place::Unix(path), DefaultIncoming::from(listener))
            }
        };
        let server = volos::ShopServer::new(Corner::new(tell));
        let ending = Ending::Task(tokio::spawn(async move {
            let served = match framing {
                ThriftFraming::TtHeader => server.run(incoming).await,
                ThriftFraming::Framed => {
                    server.make_codec(DefaultMakeCodec::framed()).run(incoming).await
                }
                ThriftFraming::Unframed => {
                    server.make_codec(DefaultMakeCodec::buffered()).run(incoming).await
                }
            };
            served.unwrap();
        }));
        Self { place, looks, ending, _folder: folder }
    }

    /// Returns the name of the next caller that has looked in.
    pub(crate) async fn told(&mut self) -> String {
        timeout(PATIENCE, self.looks.recv()).await.expect("a look").expect("a server")
    }
}

impl Drop for Served {
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
