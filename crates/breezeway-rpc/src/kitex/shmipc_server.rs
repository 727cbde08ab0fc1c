//! A server of Thrift clients whose connections are streams of shmipc, with handlers that block.

use std::sync::Arc;
use std::thread;

use breezeway::Peer;
use breezeway_os::shortage;
use breezeway_shmipc::{Session, Stopper};

use super::connections::Connections;
use super::shmipc::Stream;
use crate::registry::Collision;
use crate::server::{Service, Services};

/// Over TCP shmipc does not say who connects.
pub(crate) const UNKNOWN: Peer =
    Peer { pid: None, uid: None, gid: None, remote: None, identity: None };

/// Connections that a server serves at one time, over all sessions: as many as Breezeway's sessions
/// by default. One counts until its handler has returned, also where its session is over.
pub(crate) const MOST_CONNECTIONS: usize = 4096;

/// Serves any number of services to clients whose connections are streams of shmipc, as those of
/// Volo are, and of Kitex with a dialer: framed, unframed or in TTHeader, told apart by their first
/// bytes.
///
/// Each session has a thread, and so has each of its streams, up to 4,096 in all. Whom the server
/// trusts, how many sessions there may be, and streams of each, its options say. shmipc has one end
/// of a stream, for both directions: the replies to a client that has ended its stream cannot be
/// written.
///
/// ```
/// use breezeway_rpc::{Context, Error, ShmipcServer, ThriftClient, ThriftFraming};
/// use breezeway_shmipc::{Address, Client, ClientOptions, Server, ServerOptions, Trust};
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/users.rs"));
/// use users::{Users, UsersAgeError, UsersClient, UsersServer};
///
/// struct Table;
///
/// impl Users for Table {
///     fn age(&self, _: &Context, name: String) -> Result<i64, UsersAgeError> {
///         Ok(name.len() as i64)
///     }
///
///     fn seen(&self, _: &Context, name: String) {
///         println!("{name} was here");
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("users.sock").display().to_string();
/// let address: Address = format!("shmipc:{path}").parse()?;
/// let server = Server::bind(&address, ServerOptions::new(Trust::SameUser))?;
/// let server = ShmipcServer::new(server).add_service(UsersServer(Table))?;
/// let stopper = server.stopper();
/// let serving = std::thread::spawn(move || server.serve());
///
/// let client = Client::connect(&address, ClientOptions::new(Trust::SameUser))?;
/// let client = ThriftClient::over_shmipc(client, ThriftFraming::TtHeader);
/// assert_eq!(UsersClient::new(client).age("Ada".to_owned())?, 3);
///
/// stopper.stop();
/// serving.join().unwrap();
/// # Ok(())
/// # }
/// ```
pub struct ShmipcServer {
    server: Arc<breezeway_shmipc::Server>,
    services: Services,
}

impl ShmipcServer {
    /// Serves the clients of this server, which listens already: whoever shares it can announce a
    /// hot restart, and count.
    pub fn new(server: impl Into<Arc<breezeway_shmipc::Server>>) -> Self {
        Self { server: server.into(), services: Services::default() }
    }

    /// Serves this service too.
    pub fn add_service(mut self, service: impl Service) -> Result<Self, Collision> {
        self.services.add(service)?;
        Ok(self)
    }

    /// Stops it from another thread: nothing more is accepted, and what was received is answered.
    /// Who takes more than a second to read that is cut off; handlers that run are waited for.
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Serves until it is stopped, then ends all sessions.
    pub fn serve(self) {
        let connections: Arc<Connections> = Arc::default();
        connections.open(&Arc::new(self.services));
        thread::scope(|scope| {
            while let Some(session) = self.server.accept() {
                let connections = &connections;
                let thread = thread::Builder::new().name("thrift session".to_owned());
                let started = thread.spawn_scoped(scope, move || accept(&session, connections));
                if let Err(error) = started.map_err(shortage::no_thread) {
                    tracing::warn!(%error, "no thread for a Thrift client's session of shmipc");
                }
            }
            connections.close();
            self.server.close_sessions();
        });
    }
}

/// Serves the streams of a session until its client closes it or the server stops.
fn accept(session: &Session, connections: &Arc<Connections>) {
    let peer = session.peer().unwrap_or(UNKNOWN);
    loop {
        match session.accept().map(Stream::try_from) {
            Ok(Ok(_)) if connections.count() >= MOST_CONNECTIONS => {
                tracing::debug!(?peer, "a connection too many: {MOST_CONNECTIONS} are served");
            }
            Ok(Ok(stream)) => connections.serve((Arc::new(stream), peer.clone())),
            Ok(Err(error)) => tracing::warn!(%error, "a stream of shmipc cannot be served"),
            Err(end) => {
                tracing::debug!(?peer, %end, "a Thrift client's session of shmipc is over");
                return;
            }
        }
    }
}
