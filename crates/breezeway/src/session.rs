//! A session that threads and tasks share.

mod backlog;
mod calling;
mod driver;
mod ending;
mod handle;
mod leadership;
mod opening;
mod outgoing;
mod owned_call;
mod owned_space;
mod pacing;
mod parker;
mod pending_call;
mod receiving;
mod requests;
mod reserving;
mod sending;
mod server_session;
mod shared;
mod sleeping;
mod stand_in;
mod state;
mod stream;
mod stream_opener;
mod stream_waiters;
mod streams;
mod waiters;
mod worker_driver;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use breezeway_os::{Deadline, Peer, TrustedPeer};
use breezeway_proto::time_left;
use breezeway_shm::statistics::Record;

use crate::address::{Address, AddressError, Place};
use crate::carrier::Carrier;
use crate::carrier::tls::SESSION;
use crate::carrier::wire::Wire;
use crate::connect;
use crate::error::{CallError, ConnectError, HandshakeError};
use crate::handshake;
use crate::message::Message;
use crate::options::SessionOptions;
use crate::presence::SessionId;
use crate::request::Request;
use crate::spans::{CallOf, CallSpan};
use crate::try_send::TrySendError;

pub(crate) use driver::Counted;
pub use driver::{Driver, Next};
pub(crate) use ending::LINGER;
pub(crate) use leadership::Driving;
pub use owned_call::OwnedCall;
pub use owned_space::OwnedSpace;
pub use pending_call::PendingCall;
pub use server_session::{Incoming, ServerSession};
pub(crate) use state::Turn;
pub use stream::{ReceiveHalf, SendHalf, Stream};
pub use stream_opener::StreamOpener;
pub(crate) use worker_driver::WorkerDriver;

use handle::Handle;
pub(crate) use outgoing::Outgoing;
use shared::Shared;
use state::State;
use waiters::NOBODY;

/// A session to a server that threads and tasks share, with any number of calls and streams at a
/// time.
///
/// A session is cheap to clone; the session closes when the last clone and the last stream of it
/// are dropped. Threads that wait take turns: one of them receives for all. (The fastest way for
/// one thread that makes one call after the other is an
/// [`ExclusiveSession`](crate::ExclusiveSession), which needs no lock.)
///
/// **Order.** The messages of one stream arrive in the order in which they were sent, in each
/// direction. Calls and one-way messages of one thread reach the server in the order in which they
/// were made; the server may serve them at the same time and reply in any order. Between streams,
/// and between threads, there is no order.
///
/// **Room.** A message that finds no room waits: for the server to take entries, to release memory,
/// or to read the stream. A stream without a reader stops only itself. One-way messages that a
/// server has not served stop further ones, and no stream, once there are 1,024 of them, or as many
/// bytes as the cap. They do not stop calls of up to 104 bytes; larger calls share their memory.
///
/// **End.** Messages sent before the last clone is dropped, or the session is
/// [closed](Self::close), are still sent: on a socket that does not take them at once, the drop or
/// close waits for up to a second. The end of a [`ServerSession`] whose replies find no room waits
/// in the same way. Messages left after that are lost, and logged as a warning. If a [`Driver`]
/// takes the turns, only the driver waits.
///
/// ```
/// use breezeway::{Session, SessionOptions};
///
/// const ECHO: u32 = 0;
///
/// let (session, server) = Session::pair(&SessionOptions::new())?;
/// let serving = std::thread::spawn(move || server.serve(|call| call.echo()));
/// let callers: Vec<_> = (0..4u8)
///     .map(|number| {
///         let session = session.clone();
///         std::thread::spawn(move || session.call(ECHO, &[number]).unwrap().to_vec())
///     })
///     .collect();
/// for (number, caller) in callers.into_iter().enumerate() {
///     assert_eq!(caller.join().unwrap(), [number as u8]);
/// }
/// drop(session);
/// serving.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Session {
    handle: Arc<Handle>,
}

impl Session {
    /// Connects with default options.
    pub fn connect(
        address: impl TryInto<Address, Error: Into<AddressError>>,
    ) -> Result<Self, ConnectError> {
        Self::connect_with(address, &SessionOptions::new())
    }

    /// Connects to the first of the address's places that works, like
    /// [`ExclusiveSession::connect_with`](crate::ExclusiveSession::connect_with).
    pub fn connect_with(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        options.validate()?;
        connect::first_place(&Address::of(address)?, |place| {
            Self::connect_to(place, options, Driving::ByCallers)
        })
    }

    /// Connects for a driver that runs elsewhere, such as a task. The session receives nothing
    /// unless that [`Driver`] is run.
    pub fn connect_driven(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: &SessionOptions,
    ) -> Result<(Self, Driver), ConnectError> {
        options.validate()?;
        let session = connect::first_place(&Address::of(address)?, |place| {
            Self::connect_to(place, options, Driving::Elsewhere)
        })?;
        let driver = Driver::new(Arc::clone(&session.handle.shared))?;
        Ok((session, driver))
    }

    fn connect_to(
        place: &Place,
        options: &SessionOptions,
        driving: Driving,
    ) -> Result<Self, ConnectError> {
        let (wire, peer) = connect::connect(place, options, SESSION)?;
        Self::negotiate(wire, peer, place.carrier(), options, driving)
    }

    /// Opens a session in shared memory over a connected unix stream socket, like
    /// [`ExclusiveSession::from_socket`](crate::ExclusiveSession::from_socket).
    pub fn from_socket(socket: OwnedFd, options: &SessionOptions) -> Result<Self, ConnectError> {
        options.validate()?;
        let peer = Peer::of(&socket).map_err(HandshakeError::from)?;
        Self::negotiate(socket, peer, Carrier::Shm, options, Driving::ByCallers)
    }

    /// Opens a session like [`Self::from_socket`], for a driver that runs elsewhere.
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
        options.validate()?;
        let peer = Peer::of(&socket).map_err(HandshakeError::from)?;
        let session = Self::negotiate(socket, peer, carrier, options, Driving::Elsewhere)?;
        let driver = Driver::new(Arc::clone(&session.handle.shared))?;
        Ok((session, driver))
    }

    fn negotiate(
        wire: impl Into<Wire>,
        peer: Peer,
        carrier: Carrier,
        options: &SessionOptions,
        driving: Driving,
    ) -> Result<Self, ConnectError> {
        let agreed = handshake::connect(wire, carrier, options)?;
        let trusted = options.trust.ask(&peer);
        let shared = Shared::new(
            SessionId::next(),
            agreed,
            peer,
            true,
            options.waiting(),
            driving.leadership(),
        );
        let handle = Arc::new(Handle { shared, call_timeout: options.call_timeout });
        Ok(match trusted {
            Some(proof) => Self { handle }.trusting(proof),
            None => Self { handle },
        })
    }

    /// Returns both ends of a session in shared memory within this process. The handshake may take
    /// an hour here, whatever the options are.
    pub fn pair(options: &SessionOptions) -> Result<(Self, ServerSession), ConnectError> {
        let (one, other) = UnixStream::pair().map_err(HandshakeError::from)?;
        let options = options.for_own_ends()?;
        let server_options = options.clone();
        let server =
            std::thread::spawn(move || ServerSession::from_socket(other.into(), &server_options));
        let client = Self::from_socket(one.into(), &options)?;
        let server = server.join().expect("the handshake does not panic")?;
        Ok((client, server))
    }

    /// Returns received messages as slices, without a copy, from now on.
    pub fn trusting(self, proof: TrustedPeer) -> Self {
        self.handle.shared.with(|state| state.link.trust(proof));
        self
    }

    /// Returns the carrier: shared memory, unix socket, TCP or TLS.
    pub fn carrier(&self) -> Carrier {
        self.handle.shared.carrier
    }

    /// Returns the credentials of the peer, the process that listens.
    pub fn peer(&self) -> &Peer {
        &self.handle.shared.peer
    }

    /// Returns the service number of the peer's hello: see [`SessionOptions::service`].
    pub fn service(&self) -> u16 {
        self.handle.shared.service
    }

    /// Returns the numbers counted so far and the session's current state, as tools read them.
    pub fn stats(&self) -> Record {
        self.handle.shared.with(|state| state.link.meter().record())
    }

    /// Returns the size of the largest message in bytes: the smaller cap of both sides.
    pub fn cap(&self) -> usize {
        self.handle.shared.cap
    }

    /// Returns the limit of calls in flight. Further calls wait.
    pub fn max_in_flight(&self) -> usize {
        self.handle.shared.max_in_flight
    }

    /// Returns the timeout of calls without a deadline of their own, or None if they have none.
    pub fn call_timeout(&self) -> Option<Duration> {
        self.handle.call_timeout
    }

    /// Returns true if the session is over.
    pub fn is_ended(&self) -> bool {
        self.handle.shared.with(|state| state.is_ended())
    }

    /// Returns true if new calls and streams need another session: this one is over, or its server
    /// has announced its end ([`CallError::GoingAway`]). Calls and streams in flight continue, and
    /// the session closes when its last clone and its last stream are dropped.
    pub fn is_going_away(&self) -> bool {
        self.handle.shared.glance(|state| state.may_begin().is_err())
    }

    /// Closes the session for all its clones and streams, as the drop of the last of them does. Any
    /// thread may call it, to end the waits of others: they fail with an error that wraps
    /// [`CallError::ClosedHere`], once the messages sent before are out. If the session is over
    /// already, nothing happens.
    ///
    /// Without a [`Driver`], this call waits while a socket does not take the messages sent before,
    /// for a second at most. Other uses of the session wait as long.
    ///
    /// ```
    /// use breezeway::{Session, SessionOptions};
    ///
    /// const WAIT: u32 = 0;
    ///
    /// let (session, _server) = Session::pair(&SessionOptions::new())?;
    /// let waiting = session.clone();
    /// let waiting = std::thread::spawn(move || waiting.call(WAIT, b"is never served"));
    /// session.close();
    /// assert!(waiting.join().unwrap().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) {
        self.handle.shared.with(State::close);
    }

    fn deadline(&self) -> Deadline {
        Deadline::from(self.handle.call_timeout)
    }

    /// Calls `method` with a copy of `request` and waits for the reply.
    pub fn call(&self, method: u32, request: &[u8]) -> Result<Message, CallError> {
        self.call_within(method, Outgoing::message(request), self.deadline())
    }

    /// Begins a request with a deadline or metadata.
    pub fn request(&self, method: u32) -> Request<'_, Self> {
        Request::new(self, method)
    }

    pub(crate) fn call_within(
        &self,
        method: u32,
        outgoing: Outgoing<'_>,
        deadline: Deadline,
    ) -> Result<Message, CallError> {
        self.span(method).of(|| self.exchange(method, outgoing, deadline))
    }

    /// Returns the span of a call that begins.
    #[inline(always)]
    pub(crate) fn span(&self, method: u32) -> CallSpan {
        let shared = &self.handle.shared;
        let of = || CallOf { carrier: shared.carrier, times: shared.handler_times };
        CallSpan::of_client(method, of)
    }

    fn exchange(
        &self,
        method: u32,
        mut outgoing: Outgoing<'_>,
        deadline: Deadline,
    ) -> Result<Message, CallError> {
        let mut call = None;
        let time = time_left::encode(deadline.time_left());
        let outcome = self.handle.shared.wait(deadline, |state, cx| {
            let number = match call {
                Some(number) => number,
                None => match state.poll_call(cx, method, &mut outgoing, time) {
                    Poll::Ready(Ok(number)) => *call.insert(number),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return Poll::Pending,
                },
            };
            state.poll_answer(cx, number)
        });
        match outcome {
            Ok(answer) => answer,
            Err(_) => {
                if let Some(number) = call {
                    self.handle.shared.with(|state| state.cancel_call(number));
                }
                Err(CallError::DeadlinePassed)
            }
        }
    }

    /// Sends a request if there is room for it, and returns the pending call that is polled for the
    /// reply. The request carries `time`, after which this side no longer waits; the caller
    /// enforces it.
    pub fn poll_start_call(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        metadata: Option<&[u8]>,
        request: &[u8],
        time: Option<Duration>,
    ) -> Poll<Result<PendingCall, CallError>> {
        let mut outgoing = Outgoing::new(Some(request), metadata);
        let time = time_left::encode(time);
        let sent =
            self.handle.shared.with(|state| state.poll_call(cx, method, &mut outgoing, time));
        sent.map_ok(|number| PendingCall::new(Arc::clone(&self.handle), number))
    }

    /// Sends a one-way message: no reply comes, not even an error. Waits for room.
    ///
    /// `Ok` means that the message was published, not that it will be served.
    pub fn post(&self, method: u32, message: &[u8]) -> Result<(), CallError> {
        self.post_within(method, Outgoing::message(message), self.deadline())
    }

    pub(crate) fn post_within(
        &self,
        method: u32,
        mut outgoing: Outgoing<'_>,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        if !outgoing.is_space() {
            self.handle.shared.hold_back(outgoing.message_len(), deadline);
        }
        let shared = &self.handle.shared;
        let outcome = shared.wait(deadline, |state, cx| state.poll_post(cx, method, &mut outgoing));
        outcome.unwrap_or(Err(CallError::DeadlinePassed))
    }

    /// Sends a one-way message like [`Self::post`] if there is room for it now. Never waits.
    pub fn try_post<T: AsRef<[u8]>>(&self, method: u32, message: T) -> Result<(), TrySendError<T>> {
        let mut outgoing = Outgoing::message(message.as_ref());
        let cx = Context::from_waker(NOBODY);
        let sent = self.handle.shared.glance(|state| state.poll_post(&cx, method, &mut outgoing));
        TrySendError::result(message, at_once(sent))
    }

    /// Sends a one-way message like [`Self::post`] if there is room for it now. Otherwise wakes
    /// `cx` when there may be.
    pub fn poll_post(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        metadata: Option<&[u8]>,
        message: &[u8],
    ) -> Poll<Result<(), CallError>> {
        let mut outgoing = Outgoing::new(Some(message), metadata);
        self.handle.shared.with(|state| state.poll_post(cx, method, &mut outgoing))
    }
}

/// Converts the result of a send for a caller that does not wait: true if the message was sent.
fn at_once<E>(sent: Poll<Result<(), E>>) -> Result<bool, E> {
    match sent {
        Poll::Ready(sent) => sent.map(|()| true),
        Poll::Pending => Ok(false),
    }
}
