//! Listening for sessions with streams as calls or connections, and for sockets with HTTP/2.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use breezeway::unstable;
use breezeway::{Address, ForeignConnection, ServeError, ServerOptions, SessionOptions};
use breezeway_tokio::{ErrorCode, ForeignStream, Server, Stopper, Stream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::connect_info::ConnectInfo;
use crate::connection::Connection;
use crate::http2::Limits;
use crate::native::block;

/// Method number of a stream of bytes for HTTP/2.
pub(crate) const CONNECTION: u32 = 0;
/// Method number of a stream that is a call.
pub(crate) const CALL: u32 = 1;
/// Number of gRPC in the hello of a session (`docs/abi.md`, section 2).
pub(crate) const GRPC: u16 = 2;
/// Maximum number of connections that were not taken yet. Further ones are refused.
const BACKLOG: usize = 128;

/// Sets the session options that this crate requires.
pub(crate) fn session(options: SessionOptions, service: u16) -> SessionOptions {
    options.service(service).max_metadata(block::LONGEST as u32)
}

/// A server's sockets, whose sessions a task serves until this is dropped.
pub(crate) struct Listening {
    pub(crate) address: Address,
    pub(crate) stopper: Stopper,
    pub(crate) serving: JoinHandle<Result<(), ServeError>>,
    pub(crate) limits: Limits,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

/// Listens at all places of the address, and announces the service in the hello. Calls are passed
/// to `call`; connections are returned.
pub(crate) fn listen<C, F>(
    address: &Address,
    options: ServerOptions,
    service: u16,
    call: C,
) -> Result<(Listening, mpsc::Receiver<Connection>), ServeError>
where
    C: Fn(Stream) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, connections) = mpsc::channel(BACKLOG);
    let foreign = sender.clone();
    let session = session(options.session_options().clone(), service);
    let options = options.session(session).on_foreign_connection(move |connection| {
        if let Err(error) = take_over(&foreign, connection) {
            tracing::warn!(%error, "a connection is refused");
        }
    });
    let max_streams = unstable::max_streams(options.session_options());
    let limits = Limits { max_streams, drain_timeout: unstable::drain_timeout(&options) };
    let server = Server::bind_with(address, options)?;
    let (address, stopper) = (server.address(), server.stopper());
    let call = Arc::new(call);
    let stream = move |method, stream: Stream| {
        let (sender, call) = (sender.clone(), Arc::clone(&call));
        async move {
            match method {
                CALL => call(stream).await,
                CONNECTION => connect(&sender, stream, limits.drain_timeout).await,
                _ => stream.reset(ErrorCode::NoSuchMethod),
            }
        }
    };
    let refuse = |call: breezeway::OwnedCall| {
        std::future::ready(call.fail(ErrorCode::Refused, "only gRPC is served here, by streams"))
    };
    let serving = tokio::spawn(server.serve_streams(refuse, stream));
    Ok((Listening { address, stopper, serving, limits }, connections))
}

/// Serves a client that uses HTTP/2 in a stream of a session. Returns at the end of the connection.
async fn connect(sender: &mpsc::Sender<Connection>, stream: Stream, time: Duration) {
    let (connection, end) = Connection::of_session(stream, time);
    if sender.try_send(connection.served()).is_err() {
        tracing::warn!("a connection is refused: too many wait to be served");
    }
    // Its sender is dropped without sending.
    let _ = end.await;
}

/// Takes over the connection of a client that uses HTTP/2 on the socket itself.
fn take_over(sender: &mpsc::Sender<Connection>, connection: ForeignConnection) -> io::Result<()> {
    let stream = ForeignStream::new(connection)?;
    let info = ConnectInfo::of_foreign(&stream);
    let connection = Connection::new(stream, info).served();
    sender.try_send(connection).map_err(|_| io::Error::other("too many wait to be served"))
}
