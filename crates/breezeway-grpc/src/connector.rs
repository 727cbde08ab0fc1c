//! Connecting to the first place of an address that works, in either gear.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use breezeway::unstable;
use breezeway::{
    Address, Carrier, ConnectError, HandshakeError, HelloError, Place, SessionOptions, TlsError,
};
use breezeway_tokio::unstable::on_a_thread;
use breezeway_tokio::{ForeignStream, Session};
use http::Uri;
use hyper_util::rt::TokioIo;
use tower_service::Service;

use crate::connect_info::{ConnectInfo, Gear};
use crate::connection::Connection;
use crate::http2::Opened;
use crate::listening::{CONNECTION, GRPC, session};

/// Maximum number of resends of a call that was never sent, because each server was about to end.
pub(crate) const RESENDS: u32 = 16;

/// TLS protocol name (ALPN).
const HTTP2: &[u8] = b"h2";

/// Result of connecting in the native gear.
pub(crate) enum Connected {
    Session(Session, ConnectInfo),
    /// The server supports only HTTP/2.
    Http2,
}

/// Connects in the native gear to the first place that works.
pub(crate) async fn native(
    address: &Address,
    options: &SessionOptions,
) -> Result<Connected, ConnectError> {
    let options = &session(options.clone(), GRPC);
    let mut failures = Vec::new();
    for place in address.places() {
        match Session::connect_with(place.clone(), options).await {
            Ok(channel) if channel.service() == GRPC => {
                let (peer, carrier) = (channel.peer().clone(), channel.carrier());
                let info = ConnectInfo { peer, carrier, gear: Gear::Native };
                return Ok(Connected::Session(channel, info));
            }
            Ok(_) => return Ok(Connected::Http2),
            Err(error) if place.carrier() != Carrier::Shm && is_another_protocol(&error) => {
                return Ok(Connected::Http2);
            }
            Err(error) => failures.push((place.clone(), error)),
        }
    }
    Err(no_place(failures))
}

/// Returns true if the answer to the hello shows a peer that does not know it: other bytes, or
/// none. Over TLS the handshake may show it.
fn is_another_protocol(error: &ConnectError) -> bool {
    use HandshakeError::{Closed, Hello, Tls};
    let ConnectError::Handshake(error) = error else { return false };
    matches!(error, Closed | Hello(HelloError::Magic(_)) | Tls(TlsError::OtherProtocol))
}

/// Returns the error of an address without a working place.
fn no_place(mut failures: Vec<(Place, ConnectError)>) -> ConnectError {
    match failures.len() {
        1 => failures.remove(0).1,
        _ => ConnectError::NoPlace(failures),
    }
}

/// Connects for HTTP/2: in a stream of a session where there is shared memory, else on the socket
/// itself, as with any other gRPC server.
#[derive(Clone)]
pub(crate) struct Connector {
    address: Address,
    options: SessionOptions,
    /// Info of the newest connection.
    info: Arc<Mutex<Option<ConnectInfo>>>,
}

impl Connector {
    pub(crate) fn new(address: Address, options: SessionOptions) -> Self {
        Self { address, options: session(options, 0), info: Arc::default() }
    }

    pub(crate) fn info(&self) -> Option<ConnectInfo> {
        self.info.lock().expect("no panic under the lock").clone()
    }

    async fn connect(self) -> Result<TokioIo<Opened>, ConnectError> {
        let mut failures = Vec::new();
        for place in self.address.places() {
            match self.open(place).await {
                Ok((opened, info)) => {
                    *self.info.lock().expect("no panic under the lock") = Some(info);
                    return Ok(TokioIo::new(opened));
                }
                Err(error) => failures.push((place.clone(), error)),
            }
        }
        Err(no_place(failures))
    }

    async fn open(&self, place: &Place) -> Result<(Opened, ConnectInfo), ConnectError> {
        let connection = self.connect_to(place).await?;
        let info = connection.info();
        let (time, _) = unstable::timeouts(&self.options);
        let opened = Opened::open(connection, time).await;
        Ok((opened.map_err(|error| failed(place, error))?, info))
    }

    async fn connect_to(&self, place: &Place) -> Result<Connection, ConnectError> {
        let Place::Shm(_) = place else {
            return connect_socket(place.clone(), self.options.clone()).await;
        };
        let mut tries = 0;
        loop {
            let channel = Session::connect_with(place.clone(), &self.options).await?;
            match channel.open(CONNECTION).await {
                Ok(stream) => {
                    let (time, _) = unstable::timeouts(&self.options);
                    return Ok(Connection::of_session(stream, time).0);
                }
                // The server has a successor by now.
                Err(_) if channel.is_going_away() && tries < RESENDS => tries += 1,
                Err(error) => return Err(failed(place, error.into())),
            }
        }
    }
}

/// Connects on a thread: it blocks, also while the server's backlog is full, and keeps the
/// handshake timeout itself.
async fn connect_socket(place: Place, options: SessionOptions) -> Result<Connection, ConnectError> {
    let at = place.clone();
    let connecting = on_a_thread(move || unstable::connect_foreign(&at, &options, HTTP2));
    let connection = connecting.await.map_err(ConnectError::Thread)??;
    let stream = ForeignStream::new(connection).map_err(|error| failed(&place, error))?;
    let info = ConnectInfo::of_foreign(&stream);
    Ok(Connection::new(stream, info))
}

fn failed(place: &Place, source: io::Error) -> ConnectError {
    ConnectError::Io { place: place.clone(), source }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Opened>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        Box::pin(self.clone().connect())
    }
}
