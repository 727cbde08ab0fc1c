//! Calls and streams that a server accepts on a shared session.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, Peer, TrustedPeer, Waiting, clock};
use breezeway_proto::connection::Lack;
use breezeway_proto::ending::Ending;
use breezeway_proto::validate::Request;
use breezeway_proto::{ErrorCode, Head};

use super::driver::Driver;
use super::handle::Handle;
use super::leadership::Driving;
use super::owned_call::OwnedCall;
use super::receiving::Arrival;
use super::shared::Shared;
use super::state::State;
use super::stream::Stream;
use crate::carrier::Carrier;
use crate::error::{CallError, ConnectError, HandshakeError, SessionError, StreamError};
use crate::handshake::{self, Agreed};
use crate::link::OwnedBody;
use crate::message::Message;
use crate::options::{ServerOptions, SessionOptions};
use crate::presence::SessionId;
use crate::request;
use crate::time::to_deadline;
use crate::unserved::Unserved;

/// The serving end of a session that threads and tasks share: it accepts calls and streams, serves
/// them at the same time, and replies in any order.
#[derive(Clone)]
pub struct ServerSession {
    pub(super) handle: Arc<Handle>,
}

/// A request of a client: a call or a stream.
pub enum Incoming {
    /// A call, or a one-way message.
    Call(OwnedCall),
    /// A stream, with its method.
    Stream(u32, Stream),
}

impl ServerSession {
    /// Accepts the session of a client that asks for shared memory on a connected unix stream
    /// socket.
    pub fn from_socket(socket: OwnedFd, options: &SessionOptions) -> Result<Self, ConnectError> {
        Self::over_socket(socket, Carrier::Shm, options, Driving::ByCallers)
    }

    /// Accepts a session like [`Self::from_socket`], for a driver that runs elsewhere.
    pub fn from_socket_driven(
        socket: OwnedFd,
        options: &SessionOptions,
    ) -> Result<(Self, Driver), ConnectError> {
        Self::over_socket_driven(socket, Carrier::Shm, options)
    }

    pub(crate) fn over_socket_driven(
        socket: OwnedFd,
        carrier: Carrier,
        options: &SessionOptions,
    ) -> Result<(Self, Driver), ConnectError> {
        let session = Self::over_socket(socket, carrier, options, Driving::Elsewhere)?;
        let driver = Driver::new(Arc::clone(&session.handle.shared))?;
        Ok((session, driver))
    }

    fn over_socket(
        socket: OwnedFd,
        carrier: Carrier,
        options: &SessionOptions,
        driving: Driving,
    ) -> Result<Self, ConnectError> {
        options.validate()?;
        let peer = Peer::of(&socket).map_err(HandshakeError::from)?;
        let agreed = handshake::accept(socket, carrier, options)?;
        let session = Self::new(agreed, peer.clone(), options, driving);
        Ok(match options.trust.ask(&peer) {
            Some(proof) => session.trusting(proof),
            None => session,
        })
    }

    /// Creates the serving end of a client's connection, for a driver that runs elsewhere.
    pub(crate) fn accepted(
        agreed: Agreed,
        peer: Peer,
        options: &ServerOptions,
    ) -> Result<(Self, Driver), HandshakeError> {
        let session = Self::new(agreed, peer, &options.session, Driving::Elsewhere);
        let session = session.reply_timeout(options.reply_timeout);
        let driver = Driver::new(Arc::clone(&session.handle.shared))?;
        Ok((session, driver))
    }

    pub(super) fn new(
        agreed: Agreed,
        peer: Peer,
        options: &SessionOptions,
        driving: Driving,
    ) -> Self {
        Self::known_as(SessionId::next(), agreed, peer, options.waiting(), driving)
    }

    /// Creates the serving end of the session with this id.
    pub(crate) fn known_as(
        id: SessionId,
        agreed: Agreed,
        peer: Peer,
        waiting: Waiting,
        driving: Driving,
    ) -> Self {
        let shared = Shared::new(id, agreed, peer, false, waiting, driving.leadership());
        if matches!(driving, Driving::Elsewhere) {
            shared.with(|state| state.has_driver = true);
        }
        Self { handle: Arc::new(Handle { shared, call_timeout: None }) }
    }

    /// Continues the session that one thread has served alone, from this stage of its end. Calls
    /// are served in order as before: no further call is served while a handler's own reply waits.
    pub(crate) fn in_order(self, ending: Ending<Arc<CallError>>) -> Self {
        self.handle.shared.with(|state| {
            state.connection.ending = ending;
            state.connection.backlog.set_in_order();
        });
        self
    }

    /// Serves a call that was received before the session was shared.
    pub(crate) fn adopt(
        &self,
        request: Request,
        message: Message,
        deadline: Deadline,
    ) -> OwnedCall {
        let (shared, len) = (&self.handle.shared, message.len());
        shared.with(|state| state.connection.adopt(request, len));
        OwnedCall::new(shared, request, message, deadline)
    }

    /// Keeps a handler's reply that lacks memory until there is some, or its time has passed.
    pub(crate) fn keep_reply(&self, request: Request, body: OwnedBody, deadline: Deadline) {
        let head = Head::of_reply(request.stream);
        self.handle.shared.with(|state| {
            state.keep(head, body, Lack::Memory, deadline);
            state.connection.backlog.hold_calls(0);
        });
    }

    /// Returns received messages as slices, without a copy, from now on.
    pub fn trusting(self, proof: TrustedPeer) -> Self {
        self.handle.shared.with(|state| state.link.trust(proof));
        self
    }

    /// Sets the time for which a reply waits for payload memory before its call fails, but no
    /// longer than the client itself waits: see [`ServerOptions::reply_timeout`]. Default 1 s.
    pub fn reply_timeout(self, timeout: Duration) -> Self {
        self.handle
            .shared
            .with(|state| state.connection.backlog.set_patience(clock::ticks_in(timeout)));
        self
    }

    /// Returns the id of this session within this process, which a listener's
    /// [hooks](crate::ServerOptions::on_session_start) receive as well.
    pub fn session(&self) -> SessionId {
        self.handle.shared.id
    }

    /// Returns the credentials of the client.
    pub fn peer(&self) -> &Peer {
        &self.handle.shared.peer
    }

    /// Returns the carrier: shared memory, unix socket, TCP or TLS.
    pub fn carrier(&self) -> Carrier {
        self.handle.shared.carrier
    }

    /// Returns the service number of the client's hello: see [`SessionOptions::service`].
    pub fn service(&self) -> u16 {
        self.handle.shared.service
    }

    /// Returns the size of the largest message in bytes: the smaller cap of both sides.
    pub fn cap(&self) -> usize {
        self.handle.shared.cap
    }

    /// Returns the limit of streams that the client may have open at a time.
    pub fn max_streams(&self) -> usize {
        self.handle.shared.max_streams
    }

    /// Waits for the client's next call or stream. Returns `None` once the client or [this
    /// side](Self::close) has closed the session, or the session has [drained](Self::drain). Calls
    /// that were accepted before the client closed are still replied to, also when this session is
    /// dropped. Without a [`Driver`](super::Driver), that drop waits for a client that has no room
    /// for the replies: until it has taken nothing for 1 s, and for 5 s at most.
    pub fn accept(&self) -> Result<Option<Incoming>, SessionError> {
        self.accept_by(Deadline::NEVER)
    }

    /// Waits like [`Self::accept`], but fails at `deadline`.
    pub fn accept_until(&self, deadline: Instant) -> Result<Option<Incoming>, SessionError> {
        self.accept_by(Deadline::at(deadline))
    }

    fn accept_by(&self, deadline: Deadline) -> Result<Option<Incoming>, SessionError> {
        let arrival = self.handle.shared.wait(deadline, |state, cx| state.poll_request(cx));
        arrival.map_or(Err(SessionError::DeadlinePassed), |arrival| self.taken(arrival))
    }

    /// Returns the next call or stream like [`Self::accept`] if it is there. Otherwise wakes `cx`
    /// when it may be, and at the end of a drain, as long as a [`Driver`](super::Driver) or a
    /// waiting thread takes turns.
    pub fn poll_accept(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Incoming>, SessionError>> {
        let arrival = self.handle.shared.with(|state| state.poll_request(cx));
        arrival.map(|arrival| self.taken(arrival))
    }

    /// Returns the client's next call or stream, if it is there. The driver of the session polls so
    /// after each turn, and when it is woken: a task may have taken a turn since
    /// ([`Driver::alarm`](super::Driver::alarm)).
    pub fn try_accept(&self) -> Option<Incoming> {
        let arrival = self.handle.shared.with(State::arrival);
        arrival.map(|arrival| self.incoming(arrival))
    }

    /// Returns true once the session has [drained](Self::drain).
    pub(crate) fn has_drained(&self) -> bool {
        self.handle.shared.with(|state| {
            state.step_drain();
            state.connection.ending.has_drained()
        })
    }

    fn taken(
        &self,
        arrival: Result<Option<Arrival>, CallError>,
    ) -> Result<Option<Incoming>, SessionError> {
        match arrival {
            Ok(arrival) => Ok(arrival.map(|arrival| self.incoming(arrival))),
            Err(error) => match SessionError::of_call(error) {
                Some(error) => Err(error),
                None => Ok(None),
            },
        }
    }

    pub(super) fn incoming(&self, arrival: Arrival) -> Incoming {
        let shared = &self.handle.shared;
        match arrival {
            Arrival::Call(request, message, deadline) => {
                let (message, deadline) = (message.into_message(), to_deadline(deadline));
                Incoming::Call(OwnedCall::new(shared, request, message, deadline))
            }
            Arrival::Stream { key, method, deadline } => {
                Incoming::Stream(method, Stream::new(shared, key, None, to_deadline(deadline)))
            }
        }
    }

    /// Asks the client to open nothing new on this session (`docs/abi.md`, section 1.2). The
    /// session is served until the client closes it.
    ///
    /// This is for a server with a successor. A server that ends for good [drains](Self::drain).
    pub fn go_away(&self) {
        self.handle.shared.with(State::go_away);
    }

    /// Begins the session's end: a go-away entry asks the client to open nothing new. Requests that
    /// the client has committed by then are still accepted and served, for `timeout` at most. Then,
    /// or once nothing is left, [`Self::accept`] returns `None`, and the caller drops this end.
    /// Calls that were not accepted fail at their callers with [`ErrorCode::Refused`], which means
    /// that they never ran; one-way messages that were not accepted are lost, and counted
    /// ([`Self::unserved`]).
    ///
    /// Nothing is left once all requests that came were accepted and replied to, streams are over,
    /// and the client, or the socket, has taken all replies. Requests that still come until this
    /// end is dropped never run either. Calls and streams in progress when it is dropped end with
    /// the session.
    ///
    /// Returns at once. A second call can only shorten the time.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use breezeway::{Session, Incoming, SessionOptions};
    ///
    /// const LAST: u32 = 0;
    ///
    /// let (session, server) = Session::pair(&SessionOptions::new())?;
    /// let calling = std::thread::spawn(move || session.call(LAST, b"last"));
    /// let Some(Incoming::Call(last)) = server.accept()? else { panic!("no call") };
    /// server.drain(Duration::from_secs(5));
    /// let _ = last.echo();
    /// while let Some(incoming) = server.accept()? {
    ///     // As before.
    ///     # drop(incoming);
    /// }
    /// assert_eq!(server.unserved().calls_refused, 0);
    /// drop(server);
    /// assert_eq!(calling.join().unwrap()?.to_vec(), b"last");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drain(&self, timeout: Duration) {
        self.handle.shared.with(|state| state.drain(Deadline::after(timeout)));
    }

    /// Closes the session for all its clones and streams, as the drop of the last clone does:
    /// replies sent before still go out, and waits on this side end. [`Self::accept`] returns
    /// `None`, streams fail with [`CallError::ClosedHere`], and calls in progress fail at their
    /// callers. If the session is over already, nothing happens.
    pub fn close(&self) {
        self.handle.shared.with(State::close);
    }

    /// Returns the requests that a [draining](Self::drain) session has left undone so far;
    /// `calls_cut` counts the calls and streams in progress, which would end with the session.
    /// [`Driver::unserved`](super::Driver::unserved) includes those that it refuses while it
    /// closes.
    pub fn unserved(&self) -> Unserved {
        self.handle.shared.with(|state| state.unserved())
    }

    /// Opens a stream to the client, which [accepts](super::Session::accept) it. Waits while there
    /// is no room.
    pub fn open(&self, method: u32) -> Result<Stream, StreamError> {
        self.request(method).open()
    }

    /// Begins a stream with a deadline or metadata.
    pub fn request(&self, method: u32) -> request::Request<'_, Self> {
        request::Request::new(self, method)
    }

    /// Opens a stream like [`Self::open`] if there is room for it now. Otherwise wakes `cx` when
    /// there may be.
    pub fn poll_open(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        metadata: Option<&[u8]>,
    ) -> Poll<Result<Stream, StreamError>> {
        self.handle.shared.poll_open(cx, method, metadata)
    }

    /// Serves calls on this thread, one after the other, until the client closes the session.
    /// Streams are refused. The handler's result is dropped.
    pub fn serve<R>(self, handler: impl Fn(OwnedCall) -> R) -> Result<(), SessionError> {
        while let Some(incoming) = self.accept()? {
            match incoming {
                Incoming::Call(call) => drop(handler(call)),
                Incoming::Stream(_, stream) => stream.reset(ErrorCode::Refused),
            }
        }
        Ok(())
    }
}

/// Streams that a server opens.
impl request::Request<'_, ServerSession> {
    /// Opens a stream like [`ServerSession::open`]. After the deadline, which is not sent to the
    /// client, nothing was sent.
    pub fn open(self) -> Result<Stream, StreamError> {
        let deadline = self.deadline.unwrap_or(Deadline::NEVER);
        self.to.handle.shared.open(self.method, Some(self.metadata), deadline)
    }
}
