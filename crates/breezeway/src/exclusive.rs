//! The client's end of a session: calls, one caller at a time.

mod batch;
mod replies;
mod request_space;
mod requests;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use breezeway_os::{Deadline, Peer, TrustedPeer};
use breezeway_proto::Head;
use breezeway_proto::ending::Ending;
use breezeway_proto::in_flight::{CallId, InFlight};
use breezeway_proto::throttle::Throttle;
use breezeway_proto::time_left;
use breezeway_shm::PayloadMemory;
use breezeway_shm::statistics::Record;

use crate::address::{Address, AddressError, Place};
use crate::carrier::tls::SESSION;
use crate::carrier::wire::Wire;
use crate::carrier::{Body, Carrier};
use crate::connect;
use crate::error::{CallError, ConnectError, HandshakeError};
use crate::exclusive_server::ExclusiveServerSession;
use crate::handshake;
use crate::link::{Flush, Link};
use crate::options::SessionOptions;
use crate::session::LINGER;
use crate::spans::{CallOf, CallSpan};
use crate::try_send::TrySendError;

pub use batch::Batch;
pub use replies::Reply;
pub use request_space::RequestSpace;

/// A connection to a server, for calls and one-way messages.
///
/// A session is `Send` and used by one thread at a time (`&mut`): the caller reads its own ring, so
/// a reply wakes no other thread and takes no lock. Calls of one session are served in the order in
/// which they were made. Dropping the session closes it. Messages sent before are still served: on
/// a socket that does not take them at once, dropping waits for up to a second.
///
/// The peer may at any moment die or write garbage into its own segments. Either ends this session
/// with an error and harms nothing else.
///
/// ```no_run
/// use breezeway::ExclusiveSession;
///
/// const GREET: u32 = 0;
///
/// let mut session = ExclusiveSession::connect("shm:/run/hello.sock")?;
/// let reply = session.call(GREET, b"world")?;
/// println!("{}", String::from_utf8_lossy(&reply.to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExclusiveSession {
    link: Link,
    calls: InFlight,
    peer: Peer,
    call_timeout: Option<Duration>,
    /// The call timeout as encoded in requests.
    call_time: u16,
    /// Limit on messages without replies in flight.
    throttle: Throttle,
    ending: Ending<()>,
    /// Mask of the stream numbers on which a one-way message checks the server first: those that
    /// end in these bits, one in a quarter of the ring.
    check_mask: u32,
    /// True while a [`Reply`] is lent to the caller.
    reply_lent: bool,
    /// True if bytes that the socket has not taken are still written when the session is dropped.
    lingers: bool,
}

impl ExclusiveSession {
    /// Connects with default options.
    pub fn connect(
        address: impl TryInto<Address, Error: Into<AddressError>>,
    ) -> Result<Self, ConnectError> {
        Self::connect_with(address, &SessionOptions::new())
    }

    /// Connects to the first of the address's places that works. Takes, for each, at most the
    /// handshake timeout for connecting, and again as long for the hello.
    pub fn connect_with(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        options.validate()?;
        connect::first_place(&Address::of(address)?, |place| Self::connect_to(place, options))
    }

    pub(crate) fn connect_to(
        place: &Place,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        let (wire, peer) = connect::connect(place, options, SESSION)?;
        Self::negotiate(wire, peer, place.carrier(), options)
    }

    /// Opens a session in shared memory over a connected unix stream socket, such as one end of a
    /// pair that a parent handed to its child (see [`breezeway_os::inherited`]). The other end must
    /// be served, for example by [`ExclusiveServerSession::from_socket`].
    pub fn from_socket(socket: OwnedFd, options: &SessionOptions) -> Result<Self, ConnectError> {
        options.validate()?;
        let peer = Peer::of(&socket).map_err(HandshakeError::from)?;
        Self::negotiate(socket, peer, Carrier::Shm, options)
    }

    fn negotiate(
        wire: impl Into<Wire>,
        peer: Peer,
        carrier: Carrier,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        let agreed = handshake::connect(wire, carrier, &options.for_plain_calls())?;
        let session = Self {
            link: agreed.link,
            calls: InFlight::new(agreed.max_in_flight),
            peer,
            call_timeout: options.call_timeout,
            call_time: time_left::encode(options.call_timeout),
            throttle: agreed.throttle,
            ending: Ending::new(false, 0),
            check_mask: agreed.max_in_flight as u32 / 2 - 1,
            reply_lent: false,
            lingers: true,
        };
        Ok(match options.trust.ask(&session.peer) {
            Some(proof) => session.trusting(proof),
            None => session,
        })
    }

    /// Creates both ends of a session in shared memory within this process: for tests, and for
    /// threads that communicate as processes do. The handshake may take an hour here, whatever the
    /// options.
    pub fn pair(options: &SessionOptions) -> Result<(Self, ExclusiveServerSession), ConnectError> {
        let (one, other) = UnixStream::pair().map_err(HandshakeError::from)?;
        let options = options.for_own_ends()?;
        let server_options = options.clone();
        let server = std::thread::spawn(move || {
            ExclusiveServerSession::from_socket(other.into(), &server_options)
        });
        let client = Self::from_socket(one.into(), &options)?;
        let server = server.join().expect("the handshake does not panic")?;
        Ok((client, server))
    }

    /// Makes the session return replies as slices, without a copy, from now on.
    pub fn trusting(mut self, proof: TrustedPeer) -> Self {
        self.link.trust(proof);
        self
    }

    /// Returns the carrier: shared memory, unix socket, TCP or TLS.
    pub fn carrier(&self) -> Carrier {
        self.link.carrier
    }

    /// Returns the credentials of the process that listens.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Returns the size of the largest message, in bytes: the smaller cap of both sides.
    pub fn cap(&self) -> usize {
        self.link.cap
    }

    /// Returns the present payload memory of the session: none over a socket, which has no
    /// segments.
    pub fn payload_memory(&self) -> PayloadMemory {
        self.link.payload_memory()
    }

    /// Returns the counters so far, and the memory held and waits now, as tools see them.
    pub fn stats(&self) -> Record {
        self.link.meter().record()
    }

    /// Returns the limit on calls in flight.
    pub fn max_in_flight(&self) -> usize {
        self.calls.limit()
    }

    /// Returns the number of calls whose replies are still to be received.
    pub fn in_flight(&self) -> usize {
        self.calls.wanted()
    }

    /// Returns true while replies to calls that were given up have not arrived.
    pub(crate) fn has_late_replies(&self) -> bool {
        self.calls.late() > 0
    }

    /// Returns the call timeout, or None if calls may wait as long as the peer lives.
    pub fn call_timeout(&self) -> Option<Duration> {
        self.call_timeout
    }

    /// Sets the timeout of later calls; with `None` they may wait as long as the peer lives.
    pub fn set_call_timeout(&mut self, timeout: Option<Duration>) {
        self.call_timeout = timeout;
        self.call_time = time_left::encode(timeout);
    }

    /// Returns true if the server has announced its end, as far as replies were received since: it
    /// serves the requests sent before. Further calls are made on another session
    /// ([`CallError::GoingAway`]), and this one is dropped once it has no call in flight.
    pub fn is_going_away(&self) -> bool {
        self.ending.is_going_away()
    }

    /// Returns true after an error has ended the session.
    pub fn is_ended(&self) -> bool {
        self.ending.is_ended()
    }

    /// Calls `method` with a copy of `request` and waits for the reply.
    #[inline]
    pub fn call(&mut self, method: u32, request: &[u8]) -> Result<Reply<'_>, CallError> {
        self.span(method).of(move || {
            let deadline = self.deadline();
            self.may_call()?;
            self.request(method, Body::Bytes(request), deadline)?;
            self.await_reply(deadline)
        })
    }

    #[inline(always)]
    fn span(&self, method: u32) -> CallSpan {
        let of = || CallOf { carrier: self.link.carrier, times: self.link.meter().handler_times() };
        CallSpan::of_client(method, of)
    }

    /// Calls `method` like [`Self::call`], but gives up at `deadline`.
    pub fn call_until(
        &mut self,
        method: u32,
        request: &[u8],
        deadline: Instant,
    ) -> Result<Reply<'_>, CallError> {
        let deadline = Deadline::at(deadline);
        self.span(method).of(move || {
            self.may_call()?;
            if deadline.has_passed() {
                return Err(CallError::DeadlinePassed);
            }
            let time = time_left::encode(deadline.time_left());
            let usual = std::mem::replace(&mut self.call_time, time);
            let sent = self.request(method, Body::Bytes(request), deadline);
            self.call_time = usual;
            sent?;
            self.await_reply(deadline)
        })
    }

    /// Reserves space for a request of `len` bytes, to be filled in place: requests over 104 bytes
    /// travel without a copy. Waits while the space is lent to the peer.
    #[inline]
    pub fn reserve(&mut self, len: usize) -> Result<RequestSpace<'_>, CallError> {
        self.may_begin()?;
        let deadline = self.deadline();
        self.reserve_waiting(len, deadline)?;
        Ok(RequestSpace { session: self })
    }

    /// Sends a request; [`Self::receive`] takes the reply later, so that several calls are in
    /// flight.
    #[inline]
    pub fn send(&mut self, method: u32, request: &[u8]) -> Result<CallId, CallError> {
        let deadline = self.deadline();
        self.may_begin()?;
        self.request(method, Body::Bytes(request), deadline)
    }

    /// Sends a one-way message, which has no reply, not even for an error. Waits while the ring is
    /// full.
    ///
    /// `Ok` means that it was published, not that it will be served. After the server's end, if no
    /// call is in flight, the first message that would wake the server fails; otherwise one fails
    /// before half a ring of them was sent, and on a socket the first or second.
    #[inline]
    pub fn post(&mut self, method: u32, message: &[u8]) -> Result<(), CallError> {
        let deadline = self.deadline();
        self.may_begin()?;
        self.message(method, Body::Bytes(message), deadline)
    }

    /// Returns a batch, which sends several messages with one wake-up at the end.
    pub fn batch(&mut self) -> Batch<'_> {
        self.link.set_batching(true);
        Batch { session: self, flushed: false }
    }

    /// Waits for the next reply to a request that was sent; [`Reply::call`] identifies the call.
    /// The call timeout runs from here; when it passes, the replies of all calls in flight are
    /// given up.
    #[inline]
    pub fn receive(&mut self) -> Result<Reply<'_>, CallError> {
        self.may_use()?;
        if self.calls.wanted() == 0 {
            return Err(CallError::NothingInFlight);
        }
        let deadline = self.deadline();
        self.await_reply(deadline)
    }

    /// Returns the next reply like [`Self::receive`] if it has arrived, else `None`. Never waits.
    /// (A call that finds none asks the kernel if the server still exists.)
    pub fn try_receive(&mut self) -> Result<Option<Reply<'_>>, CallError> {
        self.may_use()?;
        if self.calls.wanted() == 0 {
            return Err(CallError::NothingInFlight);
        }
        self.try_reply()
    }

    /// Sends a one-way message like [`Self::post`] if there is room for it now. Never waits.
    pub fn try_post<T: AsRef<[u8]>>(
        &mut self,
        method: u32,
        message: T,
    ) -> Result<(), TrySendError<T>> {
        let sent = self.may_begin().and_then(|()| self.try_message(method, message.as_ref()));
        TrySendError::result(message, sent)
    }

    #[inline(always)]
    fn deadline(&self) -> Deadline {
        match self.call_timeout {
            None => Deadline::NEVER,
            Some(timeout) => deadline_after(timeout),
        }
    }

    /// Checks that an operation in progress may continue.
    #[inline(always)]
    fn may_use(&mut self) -> Result<(), CallError> {
        if self.is_ended() {
            return Err(CallError::Ended);
        }
        if self.reply_lent {
            // The caller has leaked the reply (`mem::forget`), else it could not be here.
            self.finish_reply();
            return self.may_use();
        }
        Ok(())
    }

    /// Checks that a new operation may begin.
    #[inline(always)]
    fn may_begin(&mut self) -> Result<(), CallError> {
        if !self.ending.may_begin() {
            return Err(self.why_over());
        }
        if self.reply_lent {
            self.finish_reply();
            return self.may_begin();
        }
        Ok(())
    }

    #[cold]
    fn why_over(&self) -> CallError {
        if self.is_ended() { CallError::Ended } else { CallError::GoingAway }
    }

    /// Makes the session drop, without writing them, bytes that the socket has not taken.
    pub(crate) fn leave_unwritten(&mut self) {
        self.lingers = false;
    }

    #[inline(always)]
    fn may_call(&mut self) -> Result<(), CallError> {
        self.may_begin()?;
        match self.calls.wanted() {
            0 => Ok(()),
            pending => Err(CallError::RepliesPending(pending)),
        }
    }

    /// Notes if an error has ended the session.
    #[cold]
    fn failed(&mut self, error: CallError) -> CallError {
        if !error.session_goes_on() && !matches!(error, CallError::Forked) {
            self.ending.end((), false);
        }
        error
    }
}

/// Returns the deadline of a call. A function of its own, away from calls without a timeout.
#[inline(never)]
fn deadline_after(timeout: Duration) -> Deadline {
    Deadline::after(timeout)
}

impl Drop for ExclusiveSession {
    fn drop(&mut self) {
        if self.is_ended() {
            // No orderly end, so that a server that broke the protocol sees the difference.
            return;
        }
        // Bytes that a socket has not taken yet are still served.
        let until = Deadline::after(LINGER);
        if self.link.status().unwritten > 0 && self.lingers {
            let _ = self.link.flush(Flush::AllBy(until));
        }
        let is_answer = self.link.has_current() && self.link.head().is_shutdown();
        if !is_answer {
            // A full ring or a dead peer: the end of file has the same meaning.
            let _ = self.link.send(Head::of_shutdown(), Body::Bytes(&[]));
        }
        let _ = self.link.flush(Flush::AllBy(until));
    }
}
