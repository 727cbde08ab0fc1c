//! The server's end of a shared session.

use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::time::Duration;

use breezeway::{
    Carrier, ConnectError, OwnedCall, Peer, SessionError, SessionId, SessionOptions, StreamError,
    TrustedPeer, Unserved,
};

use crate::drive::spawn_driver;
use crate::request::Request;
use crate::stream::Stream;
use crate::threads::start;

/// Serving end of a session that tasks share. A [`Server`](crate::Server) serves many sessions.
#[derive(Clone)]
pub struct ServerSession {
    pub(crate) session: breezeway::ServerSession,
}

/// Request of a client.
pub enum Incoming {
    /// A call, or a one-way message.
    Call(OwnedCall),
    /// A stream, with its method.
    Stream(u32, Stream),
}

impl ServerSession {
    /// Answers the hello of a client that wants shared memory on a connected unix stream socket.
    pub async fn from_socket(
        socket: OwnedFd,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        let options = options.clone();
        // This accept takes no place among the connecting threads: the threads that hold the places
        // may wait for this side.
        let accepting =
            start(None, move || breezeway::ServerSession::from_socket_driven(socket, &options));
        let (session, driver) = accepting.await.map_err(ConnectError::Thread)??;
        spawn_driver(driver, session.carrier())?;
        Ok(Self { session })
    }

    /// Returns messages as slices, without a copy, from now on.
    pub fn trusting(self, proof: TrustedPeer) -> Self {
        Self { session: self.session.trusting(proof) }
    }

    /// Returns the session's identifier within this process.
    pub fn session(&self) -> SessionId {
        self.session.session()
    }

    /// Returns the credentials of the client.
    pub fn peer(&self) -> &Peer {
        self.session.peer()
    }

    /// Returns the carrier: shared memory, unix socket, TCP or TLS.
    pub fn carrier(&self) -> Carrier {
        self.session.carrier()
    }

    /// Waits for the client's next request. Returns `None` once the client or [this
    /// side](Self::close) has closed the session, or the session has [drained](Self::drain).
    pub async fn accept(&self) -> Result<Option<Incoming>, SessionError> {
        let incoming = poll_fn(|cx| self.session.poll_accept(cx)).await?;
        Ok(incoming.map(Incoming::from))
    }

    /// Asks the client to open nothing new on this session, which is served until the client closes
    /// it. This is for a server with a successor; a server that ends for good
    /// [drains](Self::drain).
    pub fn go_away(&self) {
        self.session.go_away();
    }

    /// Begins the session's end, as [`breezeway::ServerSession::drain`] does: for at most
    /// `timeout`, [`Self::accept`] returns the requests that were sent before, and then `None`.
    pub fn drain(&self, timeout: Duration) {
        self.session.drain(timeout);
    }

    /// Closes the session for all its clones and streams, as [`breezeway::ServerSession::close`]
    /// does.
    pub fn close(&self) {
        self.session.close();
    }

    /// Returns the numbers of requests that the draining session has not served so far.
    pub fn unserved(&self) -> Unserved {
        self.session.unserved()
    }

    /// Opens a stream to the client, which [accepts](crate::Session::accept) it. Waits while there
    /// is no room.
    pub async fn open(&self, method: u32) -> Result<Stream, StreamError> {
        self.request(method).open().await
    }

    /// Begins a stream with a deadline or metadata.
    pub fn request(&self, method: u32) -> Request<'_, Self> {
        Request::new(self, method)
    }
}

impl From<breezeway::Incoming> for Incoming {
    fn from(incoming: breezeway::Incoming) -> Self {
        match incoming {
            breezeway::Incoming::Call(call) => Self::Call(call),
            breezeway::Incoming::Stream(method, stream) => {
                Self::Stream(method, Stream::new(stream))
            }
        }
    }
}

/// Waits until the client has cancelled the call or is gone.
pub async fn cancelled(call: &OwnedCall) {
    poll_fn(|cx| call.poll_cancelled(cx)).await;
}
