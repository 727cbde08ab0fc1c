//! What a server is asked for on a shared session.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, Peer, TrustedPeer, Waiting, clock};
use breezeway_proto::connection::Lack;
use breezeway_proto::validate::Request;
use breezeway_proto::{ErrorCode, Head};

use super::driver::Driver;
use super::owned_call::OwnedCall;
use super::receiving::Arrival;
use super::shared::Shared;
use super::state::State;
use super::stream::{Stream, StreamError};
use super::{Driving, Handle};
use crate::carrier::Carrier;
use crate::error::{CallError, ConnectError, SessionError};
use crate::handshake::{self, Agreed, HandshakeError};
use crate::link::OwnedBody;
use crate::message::Message;
use crate::options::{ServerOptions, SessionOptions};
use crate::presence::SessionId;
use crate::server::Unserved;
use crate::time::to_deadline;

/// The serving end of a session that threads and tasks share: calls and streams come in, are served
/// at the same time, and are answered in any order.
#[derive(Clone)]
pub struct ServerChannel {
    pub(super) handle: Arc<Handle>,
}

/// What a client asks for.
pub enum Incoming {
    /// A call, or a one-way message.
    Call(OwnedCall),
    /// A stream, with its method.
    Stream(u32, Stream),
}

impl ServerChannel {
    /// Answers the hello of a client that wants shared memory on a connected unix stream socket.
    pub fn from_socket(socket: OwnedFd, options: &SessionOptions) -> Result<Self, ConnectError> {
        Self::over_socket(socket, Carrier::Shm, options, Driving::ByCallers)
    }

    /// As [`Self::from_socket`], for a driver that runs elsewhere.
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
        let channel = Self::over_socket(socket, carrier, options, Driving::Elsewhere)?;
        let driver = Driver::new(Arc::clone(&channel.handle.shared))?;
        Ok((channel, driver))
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
        let channel = Self::new(agreed, peer.clone(), options, driving);
        Ok(match options.trust.ask(&peer) {
            Some(proof) => channel.trusting(proof),
            None => channel,
        })
    }

    /// A session of a client that has connected, for a driver that runs elsewhere.
    pub(crate) fn accepted(
        agreed: Agreed,
        peer: Peer,
        options: &ServerOptions,
    ) -> Result<(Self, Driver), HandshakeError> {
        let channel = Self::new(agreed, peer, &options.session, Driving::Elsewhere);
        let channel = channel.reply_timeout(options.reply_timeout);
        let driver = Driver::new(Arc::clone(&channel.handle.shared))?;
        Ok((channel, driver))
    }

    pub(super) fn new(
        agreed: Agreed,
        peer: Peer,
        options: &SessionOptions,
        driving: Driving,
    ) -> Self {
        Self::known_as(SessionId::next(), agreed, peer, options.waiting(), driving)
    }

    /// The serving end of the session with this id.
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

    /// Serves the calls of a session that one thread served alone, in order: no further one while
    /// a handler's own reply waits.
    pub(crate) fn in_order(self) -> Self {
        self.handle.shared.with(|state| state.connection.backlog.set_in_order());
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

    /// From now on messages are given as slices, without a copy.
    pub fn trusting(self, proof: TrustedPeer) -> Self {
        self.handle.shared.with(|state| state.link.trust(proof));
        self
    }

    /// From now on a reply waits for so long for payload memory before its call fails, and no
    /// longer than the client itself: see [`ServerOptions::reply_timeout`]. Default 1 s.
    pub fn reply_timeout(self, timeout: Duration) -> Self {
        self.handle
            .shared
            .with(|state| state.connection.backlog.set_patience(clock::ticks_in(timeout)));
        self
    }

    /// Which session of this process it is: in a listener's
    /// [hooks](crate::ServerOptions::on_session_start) as well.
    pub fn session(&self) -> SessionId {
        self.handle.shared.id
    }

    /// Who calls.
    pub fn peer(&self) -> &Peer {
        &self.handle.shared.peer
    }

    /// What its messages travel by.
    pub fn carrier(&self) -> Carrier {
        self.handle.shared.carrier
    }

    /// What the other side's messages mean, as its hello says it: see
    /// [`SessionOptions::service`].
    pub fn service(&self) -> u16 {
        self.handle.shared.service
    }

    /// The largest message, in bytes: the smaller cap of both sides.
    pub fn cap(&self) -> usize {
        self.handle.shared.cap
    }

    /// The most streams that the client may have open at one time.
    pub fn max_streams(&self) -> usize {
        self.handle.shared.max_streams
    }

    /// Waits for what the client asks for next; `None` once it or [this side](Self::close) has
    /// closed the session, or that has [drained](Self::drain). Calls that were accepted before the
    /// client closed are replied to as ever, also when this channel is dropped.
    pub fn accept(&self) -> Result<Option<Incoming>, SessionError> {
        self.accept_by(Deadline::NEVER)
    }

    /// As [`Self::accept`], giving up at `deadline`.
    pub fn accept_until(&self, deadline: Instant) -> Result<Option<Incoming>, SessionError> {
        self.accept_by(Deadline::at(deadline))
    }

    fn accept_by(&self, deadline: Deadline) -> Result<Option<Incoming>, SessionError> {
        let arrival = self.handle.shared.wait(deadline, |state, cx| state.poll_request(cx));
        arrival.map_or(Err(SessionError::DeadlinePassed), |arrival| self.taken(arrival))
    }

    /// As [`Self::accept`], if something is there. Wakes `cx` when that may be so, and at the end
    /// of a drain, as long as a [`Driver`](super::Driver) or a thread that waits takes turns.
    pub fn poll_accept(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Incoming>, SessionError>> {
        let arrival = self.handle.shared.with(|state| state.poll_request(cx));
        arrival.map(|arrival| self.taken(arrival))
    }

    /// What the client asks for next, if it is there. Whoever drives the session polls so, after
    /// each turn, and when it is woken: a task may have taken a turn meanwhile
    /// ([`Driver::alarm`](super::Driver::alarm)).
    pub fn try_accept(&self) -> Option<Incoming> {
        let arrival = self.handle.shared.with(State::arrival);
        arrival.map(|arrival| self.incoming(arrival))
    }

    /// Returns true once the session has [drained](Self::drain).
    #[doc(hidden)]
    pub fn has_drained(&self) -> bool {
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

    /// Tells the client to open nothing new on this session (`docs/abi.md`, section 1.2). It is to
    /// be served until it closes the session.
    ///
    /// For a server with a successor. One that ends for good [drains](Self::drain).
    pub fn go_away(&self) {
        self.handle.shared.with(State::go_away);
    }

    /// Begins the session's end: the client is told to open nothing new, and what it has committed
    /// by then is to be accepted and served as ever, for `timeout` at most. Then, or once nothing
    /// is left, [`Self::accept`] gives `None`, and this end is to be dropped. Calls that were not
    /// accepted fail at their callers by [`ErrorCode::Refused`], which says that they never ran;
    /// one-way messages that were not are lost, and counted ([`Self::unserved`]).
    ///
    /// Nothing is left once all that came was taken and replied to, streams are over, and the
    /// client has taken all replies, or the socket has. What still comes until this end is dropped
    /// never runs either. Calls and streams that go on when it is dropped end with the session.
    ///
    /// Returns at once. A second call can only shorten the time.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use breezeway::{Channel, Incoming, SessionOptions};
    ///
    /// let (channel, server) = Channel::pair(&SessionOptions::new())?;
    /// let calling = std::thread::spawn(move || channel.call(0, b"last"));
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

    /// Closes the session for all its clones and streams, as the drop of the last clone does: what
    /// was replied is still sent, and what waits here ends. [`Self::accept`] gives `None`, streams
    /// fail by [`CallError::ClosedHere`], and calls that go on fail at their callers. Nothing
    /// happens to a session that is over.
    pub fn close(&self) {
        self.handle.shared.with(State::close);
    }

    /// What a session that [drains](Self::drain) has left undone so far; `calls_cut` are calls and
    /// streams that go on, and would end with the session. What it refuses while it closes tells
    /// [`Driver::unserved`](super::Driver::unserved).
    pub fn unserved(&self) -> Unserved {
        self.handle.shared.with(|state| state.unserved())
    }

    /// Opens a stream to the client, which [accepts](super::Channel::accept) it. Waits while there
    /// is no room.
    pub fn open(&self, method: u32, metadata: Option<&[u8]>) -> Result<Stream, StreamError> {
        self.handle.shared.open(method, metadata, Deadline::NEVER)
    }

    /// As [`Self::open`], giving up at `deadline`: then nothing was sent.
    pub fn open_until(
        &self,
        method: u32,
        metadata: Option<&[u8]>,
        deadline: Instant,
    ) -> Result<Stream, StreamError> {
        self.handle.shared.open(method, metadata, Deadline::at(deadline))
    }

    /// As [`Self::open`], if there is room for it now. Wakes `cx` when there may be.
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
