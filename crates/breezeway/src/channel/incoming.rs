//! What a server is asked for on a shared session.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, Peer, TrustedPeer, Waiting, clock};
use breezeway_proto::connection::Lack;
use breezeway_proto::validate::Request;
use breezeway_proto::{ErrorCode, Flags, Head};
use breezeway_shm::ForeignBytes;
use breezeway_shm::statistics::HandlerTimes;

use super::back_channel::BackChannel;
use super::driver::Driver;
use super::outgoing::Outgoing;
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
use crate::short_reason::short_reason;
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
    Call(IncomingCall),
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
    ) -> IncomingCall {
        let (shared, len) = (&self.handle.shared, message.len());
        shared.with(|state| state.connection.adopt(request, len));
        let shared = Arc::clone(shared);
        let (is_deferred, replied) = (true, false);
        IncomingCall { shared, request, len, message, deadline, is_deferred, replied }
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

    /// As [`Self::accept`], if something is there. Wakes `cx` when that may be so.
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
                let message = message.into_message();
                Incoming::Call(IncomingCall {
                    shared: Arc::clone(shared),
                    request,
                    len: message.len(),
                    message,
                    deadline: to_deadline(deadline),
                    is_deferred: false,
                    replied: false,
                })
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
    /// last.echo();
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
    /// Streams are refused.
    pub fn serve(self, handler: impl Fn(IncomingCall)) -> Result<(), SessionError> {
        while let Some(incoming) = self.accept()? {
            match incoming {
                Incoming::Call(call) => handler(call),
                Incoming::Stream(_, stream) => stream.reset(ErrorCode::Refused),
            }
        }
        Ok(())
    }
}

/// A request that owns what it holds: it is replied to from any thread, at any time, in any order.
///
/// One that is dropped without a reply fails the call. A one-way message counts against its
/// client's window, which bounds how many there are, until it is dropped or
/// [taken](Self::into_message).
pub struct IncomingCall {
    pub(super) shared: Arc<Shared>,
    request: Request,
    /// Bytes of the message as it came.
    len: usize,
    message: Message,
    pub(super) deadline: Deadline,
    /// True once its handler has given it up for a reply later.
    is_deferred: bool,
    replied: bool,
}

impl IncomingCall {
    /// The method number.
    pub fn method(&self) -> u32 {
        self.request.method
    }

    /// Whether the client wants no reply. Replying is allowed, and sends nothing.
    pub fn is_one_way(&self) -> bool {
        self.request.one_way
    }

    pub(crate) fn asked(&self) -> &Request {
        &self.request
    }

    /// Returns true if this side has agreed to streams.
    pub(crate) fn takes_streams(&self) -> bool {
        self.shared.max_streams > 0
    }

    /// Notes that the reply comes later, and so in any order.
    pub(crate) fn set_deferred(&mut self) {
        self.is_deferred = true;
    }

    /// Returns false in a forked child of the process that was called.
    pub(crate) fn is_here(&self) -> bool {
        self.shared.origin.is_here()
    }

    /// Where it is noted how long handlers of its session take.
    #[doc(hidden)]
    pub fn handler_times(&self) -> Option<HandlerTimes> {
        self.shared.handler_times
    }

    /// The largest reply.
    pub(crate) fn cap(&self) -> usize {
        self.shared.cap
    }

    /// The request.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The request's bytes.
    pub fn request(&self) -> ForeignBytes<'_> {
        self.message.bytes()
    }

    /// Takes the request where it is lent; it is empty from then on.
    pub(crate) fn lease(&mut self) -> Option<Message> {
        self.message.is_lent().then(|| std::mem::take(&mut self.message))
    }

    /// The request, to be kept: as a one-way message's handler does. A call that wants a reply
    /// fails.
    pub fn into_message(mut self) -> Message {
        std::mem::take(&mut self.message)
    }

    /// The session that the call came by, as [`Call::session`](crate::Call::session) names it.
    pub fn session(&self) -> SessionId {
        self.shared.id
    }

    /// What opens streams to the client, now or later. Its [`open`](BackChannel::open) blocks a
    /// thread: tasks of `breezeway-tokio` have a `BackChannel` of their own, `BackChannel::of`.
    pub fn back_channel(&self) -> BackChannel {
        BackChannel::new(&self.shared)
    }

    /// Who calls.
    pub fn peer(&self) -> &Peer {
        &self.shared.peer
    }

    /// What the call came by, and the reply goes by.
    pub fn carrier(&self) -> Carrier {
        self.shared.carrier
    }

    /// How much longer the client waits for the reply; `None` if it waits for ever.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.time_left()
    }

    /// Whether the client no longer wants the reply: it said so, its time is over, or it is gone.
    pub fn is_cancelled(&self) -> bool {
        if self.deadline.has_passed() || !self.is_here() {
            return true;
        }
        self.shared.with(|state| {
            let number = self.request.stream;
            state.is_ended() || !self.request.one_way && state.is_cancelled(number, None)
        })
    }

    /// Ready once the client no longer wants the reply, or is gone. (Of a one-way message only if
    /// it is gone already.)
    pub fn poll_cancelled(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.shared.with(|state| {
            let number = self.request.stream;
            let waker = Some(cx.waker());
            if state.is_ended() || !self.request.one_way && state.is_cancelled(number, waker) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
    }

    /// Replies with a copy of `bytes`: at once, or as soon as there is room. Never waits.
    pub fn reply(mut self, bytes: &[u8]) {
        self.send(Flags::FIN, 0, Outgoing::message(bytes));
    }

    /// As [`Self::reply`], with a metadata block beside the reply.
    pub fn reply_with_metadata(mut self, metadata: &[u8], bytes: &[u8]) {
        self.send(Flags::FIN, 0, Outgoing::new(Some(bytes), Some(metadata)));
    }

    /// As [`Self::reply`]; whether the session goes on.
    pub(crate) fn try_reply(mut self, bytes: &[u8]) -> bool {
        self.send(Flags::FIN, 0, Outgoing::message(bytes))
    }

    /// Replies with the request's own bytes.
    pub fn echo(self) {
        self.try_echo();
    }

    /// As [`Self::echo`]; whether the session goes on.
    pub(crate) fn try_echo(mut self) -> bool {
        let head = Head::of_reply(self.request.stream);
        self.finish(|state, message, until| state.reply(head, Outgoing::received(message), until))
    }

    /// Fails the call. A long reason is cut.
    pub fn fail(mut self, code: ErrorCode, reason: &str) {
        self.refuse(code, reason);
    }

    /// As [`Self::fail`]; whether the session goes on.
    pub(crate) fn try_fail(mut self, code: ErrorCode, reason: &str) -> bool {
        self.refuse(code, reason)
    }

    pub(super) fn refuse(&mut self, code: ErrorCode, reason: &str) -> bool {
        self.give_back();
        let stream = self.request.stream;
        self.finish(|state, _, until| state.send_failure(stream, code, (reason, reason), until))
    }

    /// Sends the reply; returns false if the session is over.
    pub(super) fn send(&mut self, flags: Flags, tag: u32, outgoing: Outgoing<'_>) -> bool {
        self.give_back();
        let head = Head { flags, tag, ..Head::of_reply(self.request.stream) };
        self.finish(|state, _, until| state.reply(head, outgoing, until))
    }

    /// Releases a lent request first: the client may need that memory for its next one.
    fn give_back(&mut self) {
        if self.message.is_lent() {
            self.message = Message::default();
        }
    }

    /// Ends the call by `reply`, which may take the request's message, if its client wants one.
    /// Returns false if the session is over.
    fn finish(&mut self, reply: impl FnOnce(&mut State, &mut Message, Deadline)) -> bool {
        self.replied = true;
        if !self.is_here() {
            return false;
        }
        let Self { shared, request, message, deadline, is_deferred, .. } = self;
        if request.one_way {
            return true;
        }
        shared.with(|state| {
            let waiter = state.connection.served.end(request.stream);
            state.discarded.extend(waiter);
            let waiting = state.connection.backlog.len();
            reply(state, message, *deadline);
            if !*is_deferred {
                state.connection.backlog.hold_calls(waiting);
            }
            state.flush_reply();
            !state.is_ended()
        })
    }
}

impl Drop for IncomingCall {
    fn drop(&mut self) {
        if !self.is_here() {
            // The lock may have been held when this process was forked.
            return;
        }
        if self.request.one_way {
            self.give_back();
            self.shared.with(|state| state.one_way_ended(self.len));
        } else if !self.replied {
            self.refuse(ErrorCode::Failed, "the server dropped the call without a reply");
        }
    }
}

impl State {
    /// Sends a reply, or fails the call whose reply cannot be sent.
    fn reply(&mut self, head: Head, outgoing: Outgoing<'_>, until: Deadline) {
        let sent = self
            .check_metadata(outgoing.metadata)
            .and_then(|()| self.send_or_keep(head, outgoing, until));
        let Err(error) = sent else { return };
        if !error.session_goes_on() {
            return;
        }
        let reason = error.to_string();
        let (code, short) = match &error {
            CallError::NoMemory { .. } => (ErrorCode::NoMemory, short_reason(None)),
            CallError::Segment(error) => (ErrorCode::NoMemory, short_reason(Some(error))),
            CallError::TooLarge { .. } => (ErrorCode::NoMemory, &*reason),
            _ => (ErrorCode::Failed, &*reason),
        };
        self.send_failure(head.stream, code, (&reason, short), Deadline::NEVER);
    }
}
