//! A server of Thrift clients whose connections are streams of shmipc, with blocking handlers.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use breezeway::Peer;
use breezeway_os::shortage;
use breezeway_shmipc::{Session, Stopper, StreamError};

use super::connections::Connections;
use super::shmipc::Stream;
use crate::registry::Collision;
use crate::server::{Service, Services};

/// Peer of a session over TCP, where shmipc does not identify the client.
pub(crate) const UNKNOWN: Peer =
    Peer { pid: None, uid: None, gid: None, remote: None, identity: None };

/// Maximum number of concurrent connections, over all sessions: the default maximum of Breezeway's
/// sessions. A connection counts until its handler has returned, even after its session is over.
pub(crate) const MOST_CONNECTIONS: usize = 4096;

/// Serves any number of services to clients whose connections are streams of shmipc, like those of
/// Volo, and of Kitex with a dialer: framed, unframed or in TTHeader, distinguished by their first
/// bytes.
///
/// Each session has a thread, and so has each of its streams, up to 4,096 in all; streams in
/// TTHeader have up to 128 of each client process for their requests. The server's options set the
/// trust in clients, the maximum number of sessions, and of streams of each. Before its first
/// message is complete, a stream without further bytes for `handshake_timeout` is closed. shmipc
/// ends both directions of a stream together: the replies to a client that has ended its stream
/// cannot be written.
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
    most_connections: usize,
}

impl ShmipcServer {
    /// Serves the clients of this server, which already listens: another owner of it can announce a
    /// hot restart, and read its counters.
    pub fn new(server: impl Into<Arc<breezeway_shmipc::Server>>) -> Self {
        let (server, services) = (server.into(), Services::default());
        Self { server, services, most_connections: MOST_CONNECTIONS }
    }

    /// Adds this service.
    pub fn add_service(mut self, service: impl Service) -> Result<Self, Collision> {
        self.services.add(service)?;
        Ok(self)
    }

    /// Returns a handle that stops it from another thread: nothing more is accepted, and received
    /// requests are answered. A client that takes more than a second to read its replies is cut
    /// off; running handlers are awaited.
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Serves until it is stopped, then ends all sessions.
    pub fn serve(self) {
        let connections = Arc::new(Connections::at_most(self.most_connections));
        let patience = self.server.handshake_timeout();
        connections.open(&Arc::new(self.services));
        thread::scope(|scope| {
            while let Some(session) = self.server.accept() {
                let connections = &connections;
                let thread = thread::Builder::new().name("thrift session".to_owned());
                let started =
                    thread.spawn_scoped(scope, move || accept(&session, connections, patience));
                if let Err(error) = started.map_err(shortage::no_thread) {
                    tracing::warn!(%error, "no thread for a Thrift client's session of shmipc");
                }
            }
            connections.close();
            self.server.close_sessions();
        });
    }
}

/// Serves the streams of a session until its client closes it or the server stops. `patience`
/// limits the time for the first message of each.
fn accept(session: &Session, connections: &Arc<Connections>, patience: Duration) {
    let end = loop {
        if let Err(end) = accept_one(session, connections, patience) {
            break end;
        }
    };
    let peer = session.peer();
    tracing::debug!(?peer, %end, "a Thrift client's session of shmipc is over");
}

fn accept_one(
    session: &Session,
    connections: &Arc<Connections>,
    patience: Duration,
) -> Result<(), StreamError> {
    match Stream::try_from(session.accept()?) {
        Ok(stream) => {
            let peer = session.peer().unwrap_or(UNKNOWN);
            connections.serve((Arc::new(stream.with_patience(patience)), peer));
        }
        Err(error) => tracing::warn!(%error, "a stream of shmipc cannot be served"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use breezeway_shmipc::{Address, Client, ClientOptions, Server, ServerOptions, Trust};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// Returns true if a call of an unknown method is answered with that error.
    fn is_served(client: &Client) -> bool {
        let mut stream = client.open().unwrap();
        stream.set_read_timeout(Some(PATIENCE));
        stream.write_all(b"\x80\x01\0\x01\0\0\0\x04none\0\0\0\x09\0").unwrap();
        let mut first = [0; 4];
        match stream.read(&mut first) {
            Ok(0) => false,
            read => {
                assert_eq!((read.unwrap(), first), (4, *b"\x80\x01\0\x03"));
                true
            }
        }
    }

    #[test]
    fn a_connection_too_many_is_closed_and_one_that_ends_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("shmipc.sock"));
        let session = breezeway_shmipc::SessionOptions::new().handshake_timeout(PATIENCE);
        let options = ServerOptions::new(Trust::SameUser).session(session.clone());
        let server = ShmipcServer::new(Server::bind(&address, options).unwrap());
        let server = ShmipcServer { most_connections: 2, ..server };
        let stopper = server.stopper();
        thread::scope(|scope| {
            scope.spawn(|| server.serve());
            let options = ClientOptions::new(Trust::SameUser).session(session);
            let client = Client::connect(&address, options).unwrap();
            let open = || {
                let mut stream = client.open().unwrap();
                stream.write_all(&[0]).unwrap();
                stream
            };
            let kept = [open(), open()];
            assert!(!is_served(&client));
            drop(kept);
            let until = std::time::Instant::now() + PATIENCE;
            while !is_served(&client) {
                assert!(std::time::Instant::now() < until, "room stays lacking");
            }
            stopper.stop();
        });
    }

    #[test]
    fn concurrent_opens_stay_within_stream_limit() {
        const SESSIONS: usize = 8;
        const MOST: usize = 4;
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("shmipc.sock"));
        let session = breezeway_shmipc::SessionOptions::new().handshake_timeout(PATIENCE);
        let options = ServerOptions::new(Trust::SameUser).session(session.clone());
        let server = Server::bind(&address, options).unwrap();
        let options = ClientOptions::new(Trust::SameUser).session(session);
        let pairs: Vec<_> = (0..SESSIONS)
            .map(|_| {
                (Client::connect(&address, options.clone()).unwrap(), server.accept().unwrap())
            })
            .collect();
        for _ in 0..50 {
            let streams: Vec<_> = pairs
                .iter()
                .flat_map(|(client, _)| (0..MOST).map(|_| client.open().unwrap()))
                .map(|mut stream| stream.write_all(&[0]).map(|()| stream).unwrap())
                .collect();
            let connections = Arc::new(Connections::at_most(MOST));
            connections.open(&Arc::default());
            let start = std::sync::Barrier::new(SESSIONS);
            thread::scope(|scope| {
                for (_, session) in &pairs {
                    scope.spawn(|| {
                        start.wait();
                        for _ in 0..MOST {
                            accept_one(session, &connections, PATIENCE).unwrap();
                        }
                    });
                }
            });
            assert_eq!(connections.count(), MOST);
            drop(streams);
            connections.close();
        }
    }
}
