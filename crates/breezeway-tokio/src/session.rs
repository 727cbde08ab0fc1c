//! Sessions that tasks share.

use std::future::{Future, poll_fn};
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};
use std::time::Duration;

#[cfg(feature = "spans")]
use breezeway::unstable::call_span;
use breezeway::{
    Address, AddressError, CallError, Carrier, ConnectError, Driver, Message, Peer, SessionOptions,
    StreamError, TrustedPeer, TrySendError,
};

use crate::drive::{failed, spawn_driver};
use crate::request::Request;
use crate::server_session::ServerSession;
use crate::stream::Stream;
use crate::threads::blocking;

/// A shared session to a server, for tasks: any number of calls and streams at the same time.
///
/// A session is cheap to clone; the session closes when the last clone and the last stream of it
/// are dropped. The rules of [`breezeway::Session`] about order and room apply.
#[derive(Clone)]
pub struct Session {
    pub(crate) session: breezeway::Session,
}

impl Session {
    /// Connects with default options.
    pub async fn connect(
        address: impl TryInto<Address, Error: Into<AddressError>>,
    ) -> Result<Self, ConnectError> {
        Self::connect_with(address, &SessionOptions::new()).await
    }

    /// Connects to the first of the address's places that works. The handshake, which waits for the
    /// server, runs on a thread for blocking work.
    pub async fn connect_with(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        let address = address.try_into().map_err(Into::<AddressError>::into)?;
        let options = options.clone();
        let connected =
            blocking(move || breezeway::Session::connect_driven(&address, &options)).await?;
        Self::driven(connected)
    }

    /// Opens a session in shared memory over a connected unix stream socket.
    pub async fn from_socket(
        socket: OwnedFd,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        let options = options.clone();
        let connected =
            blocking(move || breezeway::Session::from_socket_driven(socket, &options)).await?;
        Self::driven(connected)
    }

    fn driven((session, driver): (breezeway::Session, Driver)) -> Result<Self, ConnectError> {
        spawn_driver(driver, session.carrier())?;
        Ok(Self { session })
    }

    /// Creates both ends of a session in shared memory within this process. The handshake may take
    /// an hour here, regardless of the options.
    pub async fn pair(options: &SessionOptions) -> Result<(Self, ServerSession), ConnectError> {
        let (one, other) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
        options.validate()?;
        let options = &options.clone().handshake_timeout(Duration::from_secs(3600));
        let server = tokio::spawn({
            let options = options.clone();
            async move { ServerSession::from_socket(other.into(), &options).await }
        });
        let client = Self::from_socket(one.into(), options).await?;
        let server = server.await.map_err(|error| failed(error.into()))??;
        Ok((client, server))
    }

    /// Returns messages as slices, without a copy, from now on.
    pub fn trusting(self, proof: TrustedPeer) -> Self {
        Self { session: self.session.trusting(proof) }
    }

    /// Returns the carrier: shared memory, unix socket, TCP or TLS.
    pub fn carrier(&self) -> Carrier {
        self.session.carrier()
    }

    /// Returns the credentials of the process that listens.
    pub fn peer(&self) -> &Peer {
        self.session.peer()
    }

    /// Returns the service number of the peer's hello, which defines the meaning of its messages.
    pub fn service(&self) -> u16 {
        self.session.service()
    }

    /// Returns the size of the largest message in bytes: the smaller cap of both sides.
    pub fn cap(&self) -> usize {
        self.session.cap()
    }

    /// Returns the maximum number of calls in flight. Further ones wait.
    pub fn max_in_flight(&self) -> usize {
        self.session.max_in_flight()
    }

    /// Returns true if the session is over.
    pub fn is_ended(&self) -> bool {
        self.session.is_ended()
    }

    /// Returns true if new calls and streams must use another session: this one is over, or its
    /// server has announced its end. Calls and streams in flight continue.
    pub fn is_going_away(&self) -> bool {
        self.session.is_going_away()
    }

    /// Closes the session for all its clones and streams, as [`breezeway::Session::close`] does.
    /// Pending operations end, and the session's task sends the entries that are pending.
    pub fn close(&self) {
        self.session.close();
    }

    /// Calls `method` with a copy of `request`, and returns the reply. Dropping the future before
    /// cancels the call.
    pub async fn call(&self, method: u32, request: &[u8]) -> Result<Message, CallError> {
        self.request(method).send(request).await
    }

    /// Sends a one-way message. `Ok` means that it was published. Waits until there is room, at
    /// most for the call timeout.
    pub async fn post(&self, method: u32, message: &[u8]) -> Result<(), CallError> {
        self.request(method).post(message).await
    }

    /// Opens a stream. Waits until there is room.
    pub async fn open(&self, method: u32) -> Result<Stream, StreamError> {
        self.request(method).open().await
    }

    /// Begins a request with a deadline or metadata.
    pub fn request(&self, method: u32) -> Request<'_, Self> {
        Request::new(self, method)
    }

    /// Runs a call in a span from its beginning to its end.
    #[cfg(feature = "spans")]
    pub(crate) async fn spanned<T>(
        &self,
        method: u32,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let span = call_span(&self.session, method);
        let mut call = std::pin::pin!(call);
        let outcome = poll_fn(|cx| span.enter(|| call.as_mut().poll(cx))).await;
        span.end(&outcome);
        outcome
    }

    #[cfg(not(feature = "spans"))]
    pub(crate) fn spanned<F: Future>(&self, _method: u32, call: F) -> F {
        call
    }

    /// Sends a one-way message like [`Self::post`] if there is room for it now.
    pub fn try_post<T: AsRef<[u8]>>(&self, method: u32, message: T) -> Result<(), TrySendError<T>> {
        self.session.try_post(method, message)
    }

    /// Opens a stream with its first entry: metadata, a message, both or neither. The entry may be
    /// this side's last. Wakes `cx` when a pending open may proceed.
    pub fn poll_open_with(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        metadata: Option<&[u8]>,
        message: Option<&[u8]>,
        last: bool,
        time: Option<Duration>,
    ) -> Poll<Result<Stream, StreamError>> {
        let opened = self.session.poll_open_with(cx, method, metadata, message, last, time);
        opened.map_ok(Stream::new)
    }

    /// Waits for a stream that the server opens, and returns it with its method.
    pub async fn accept(&self) -> Result<(u32, Stream), CallError> {
        let (method, stream) = poll_fn(|cx| self.session.poll_accept(cx)).await?;
        Ok((method, Stream::new(stream)))
    }
}
