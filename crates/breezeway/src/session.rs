//! The client's end of a session: calls, one caller at a time.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::{
    ForeignBytes, Head, Kind, PayloadMemory, Peer, ReserveError, TrustedPeer, clock,
};

use crate::address::{Address, Place};
use crate::carrier::Carrier;
use crate::connect;
use crate::error::{CallError, ConnectError};
use crate::handshake;
use crate::link::{Link, LinkError, NotPublished, WaitFailure};
use crate::options::SessionOptions;
use crate::protocol::{Answer, CallId, CallViolation, Calls, ONE_WAY, REQUEST};
use crate::served::ServerSession;

/// The longest failure reason that is read from a reply.
const LONGEST_REASON: usize = 1024;

/// A connection to a server: calls go out, replies come back.
///
/// A session is `Send` and used by one thread at a time (`&mut`): the caller reads its own ring, so a reply wakes nobody else and takes no lock. Calls of one session
/// are served in the order in which they were made. Dropping it closes it; what was sent before is still served.
///
/// The peer may at any moment die or write garbage into its own segments. Either ends this session with an error and harms nothing else.
///
/// ```no_run
/// use breezeway::Session;
///
/// let mut session = Session::connect(&"shm:/run/hello.sock".parse()?)?;
/// let reply = session.call(0, b"world")?;
/// println!("{}", String::from_utf8_lossy(&reply.to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    link: Link,
    calls: Calls,
    peer: Peer,
    call_timeout: Option<Duration>,
    over: bool,
}

impl Session {
    /// Connects with default options.
    pub fn connect(address: &Address) -> Result<Self, ConnectError> {
        Self::connect_with(address, &SessionOptions::new())
    }

    /// Connects to the first of the address's places that works. Takes, for each, at most the handshake timeout for connecting, and as long again for the hello.
    pub fn connect_with(address: &Address, options: &SessionOptions) -> Result<Self, ConnectError> {
        options.validate()?;
        let mut failures = Vec::new();
        for place in address.places() {
            match Self::connect_to(place, options) {
                Ok(session) => return Ok(session),
                Err(error) => failures.push((place.clone(), error)),
            }
        }
        Err(match failures.len() {
            1 => failures.remove(0).1,
            _ => ConnectError::NoPlace(failures),
        })
    }

    fn connect_to(place: &Place, options: &SessionOptions) -> Result<Self, ConnectError> {
        let (socket, peer) = connect::connect(place, options.handshake_timeout)?;
        Self::negotiate(socket, peer, place.carrier(), options)
    }

    /// Opens a session in shared memory over a connected unix stream socket, such as one end of a pair that a parent handed to its child (see
    /// [`breezeway_shm::inherited`]). The other end must be served, by [`ServerSession::over`] for one.
    pub fn over(socket: OwnedFd, options: &SessionOptions) -> Result<Self, ConnectError> {
        options.validate()?;
        let peer = Peer::of(&socket).map_err(handshake::HandshakeError::from)?;
        Self::negotiate(socket, peer, Carrier::Shm, options)
    }

    fn negotiate(
        socket: OwnedFd,
        peer: Peer,
        carrier: Carrier,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        let agreed = handshake::connect(socket, carrier, options)?;
        Ok(Self {
            link: agreed.link,
            calls: Calls::new(agreed.max_in_flight),
            peer,
            call_timeout: options.call_timeout,
            over: false,
        })
    }

    /// Both ends of a session in shared memory within this process: for tests, and for threads that want to talk like processes.
    pub fn pair(options: &SessionOptions) -> Result<(Self, ServerSession), ConnectError> {
        let (one, other) = UnixStream::pair().map_err(handshake::HandshakeError::from)?;
        let server_options = options.clone();
        let server = std::thread::spawn(move || ServerSession::over(other.into(), &server_options));
        let client = Self::over(one.into(), options)?;
        let server = server.join().expect("the handshake does not panic")?;
        Ok((client, server))
    }

    /// From now on replies are given as slices, without a copy.
    pub fn trusting(mut self, proof: TrustedPeer) -> Self {
        self.link.trust(proof);
        self
    }

    /// What its messages travel by.
    pub fn carrier(&self) -> Carrier {
        self.link.carrier()
    }

    /// Who serves this session: the credentials of the process that listens.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The largest message, in bytes: the smaller cap of both sides.
    pub fn cap(&self) -> usize {
        self.link.cap()
    }

    /// What the session's payload segments take now: nothing over a socket, which has none.
    pub fn payload_memory(&self) -> PayloadMemory {
        self.link.payload_memory()
    }

    /// The most calls in flight.
    pub fn max_in_flight(&self) -> usize {
        self.calls.limit()
    }

    /// Calls whose replies are still to be received.
    pub fn in_flight(&self) -> usize {
        self.calls.wanted()
    }

    /// How long each call from now on may take; `None` for as long as the peer lives.
    pub fn set_call_timeout(&mut self, timeout: Option<Duration>) {
        self.call_timeout = timeout;
    }

    /// Whether an error has ended the session.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Calls `method` with a copy of `request` and waits for the reply.
    #[inline]
    pub fn call(&mut self, method: u32, request: &[u8]) -> Result<Reply<'_>, CallError> {
        let deadline = self.deadline();
        self.may_call()?;
        self.transmit(method, request, Wants::Reply, deadline)?;
        self.await_reply(deadline)
    }

    /// As [`Self::call`], giving up at `deadline`.
    pub fn call_until(
        &mut self,
        method: u32,
        request: &[u8],
        deadline: Instant,
    ) -> Result<Reply<'_>, CallError> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.may_call()?;
        if left.is_zero() {
            return Err(CallError::DeadlinePassed);
        }
        let deadline = Some(deadline_after(left));
        self.transmit(method, request, Wants::Reply, deadline)?;
        self.await_reply(deadline)
    }

    /// Takes space for a request of `len` bytes, to be filled in place: what is over 104 bytes travels without a copy. Waits while the space is lent to the peer.
    #[inline]
    pub fn reserve(&mut self, len: usize) -> Result<RequestSpace<'_>, CallError> {
        self.may_use()?;
        let deadline = self.deadline();
        self.reserve_waiting(len, deadline)?;
        Ok(RequestSpace { session: self })
    }

    /// Sends a request whose reply is taken later by [`Self::receive`], so that several are in flight.
    #[inline]
    pub fn send(&mut self, method: u32, request: &[u8]) -> Result<CallId, CallError> {
        let deadline = self.deadline();
        self.may_use()?;
        self.transmit(method, request, Wants::Reply, deadline)
    }

    /// Sends a one-way message: no reply comes, not even of an error. Waits while the ring is full.
    #[inline]
    pub fn post(&mut self, method: u32, message: &[u8]) -> Result<(), CallError> {
        let deadline = self.deadline();
        self.may_use()?;
        self.publish_bytes(method, message, Wants::Nothing, deadline)?;
        self.calls.posted();
        self.flush(deadline)
    }

    /// Sends several messages with one wake-up at the end.
    pub fn batch(&mut self) -> Batch<'_> {
        self.link.set_batching(true);
        Batch { session: self, flushed: false }
    }

    /// Waits for the next reply to a request that was sent. Its [`Reply::call`] says which. The call timeout runs from here; when it passes, the replies of
    /// all calls in flight are given up.
    #[inline]
    pub fn receive(&mut self) -> Result<Reply<'_>, CallError> {
        self.may_use()?;
        if self.calls.wanted() == 0 {
            return Err(CallError::NothingInFlight);
        }
        let deadline = self.deadline();
        self.await_reply(deadline)
    }

    #[inline(always)]
    fn deadline(&self) -> Option<u64> {
        self.call_timeout.map(deadline_after)
    }

    fn may_use(&self) -> Result<(), CallError> {
        if self.over { Err(CallError::Over) } else { Ok(()) }
    }

    fn may_call(&self) -> Result<(), CallError> {
        self.may_use()?;
        match self.calls.wanted() {
            0 => Ok(()),
            pending => Err(CallError::RepliesPending(pending)),
        }
    }

    /// Notes whether an error has ended the session.
    #[cold]
    fn failed(&mut self, error: CallError) -> CallError {
        self.over |= !error.session_goes_on() && !matches!(error, CallError::Forked);
        error
    }

    #[inline(always)]
    fn send_unflushed(&mut self, method: u32, request: &[u8]) -> Result<CallId, CallError> {
        self.may_use()?;
        let deadline = self.deadline();
        self.publish_bytes(method, request, Wants::Reply, deadline)?;
        Ok(self.calls.sent())
    }

    #[inline(always)]
    fn post_unflushed(&mut self, method: u32, message: &[u8]) -> Result<(), CallError> {
        self.may_use()?;
        let deadline = self.deadline();
        self.publish_bytes(method, message, Wants::Nothing, deadline)?;
        self.calls.posted();
        Ok(())
    }

    /// Publishes a request, and wakes the server.
    #[inline(always)]
    fn transmit(
        &mut self,
        method: u32,
        bytes: &[u8],
        wants: Wants,
        deadline: Option<u64>,
    ) -> Result<CallId, CallError> {
        self.publish_bytes(method, bytes, wants, deadline)?;
        let call = self.calls.sent();
        self.flush(deadline)?;
        Ok(call)
    }

    /// Lets the server see what was published. Says that the server is gone where no reply would.
    #[inline(always)]
    fn flush(&mut self, deadline: Option<u64>) -> Result<(), CallError> {
        self.link.flush(deadline).map_err(|error| self.not_answered(error.into()))?;
        if self.link.goes_nowhere() && self.calls.wanted() == 0 {
            return Err(self.not_waited(WaitFailure::Closed));
        }
        Ok(())
    }

    /// Publishes a message from a slice.
    #[inline(always)]
    fn publish_bytes(
        &mut self,
        method: u32,
        bytes: &[u8],
        wants: Wants,
        deadline: Option<u64>,
    ) -> Result<(), CallError> {
        if bytes.len() > INLINE_MAX {
            return self.publish_large(method, bytes, wants, deadline);
        }
        let head = self.head(method, wants)?;
        while let Err(error) = self.link.publish(head, bytes) {
            self.wait_for_slots(error, deadline)?;
        }
        Ok(())
    }

    /// Publishes a message from a slice that does not fit into an entry.
    #[inline(never)]
    fn publish_large(
        &mut self,
        method: u32,
        bytes: &[u8],
        wants: Wants,
        deadline: Option<u64>,
    ) -> Result<(), CallError> {
        let cap = self.link.cap();
        if bytes.len() > cap {
            return Err(ReserveError::TooLarge { len: bytes.len(), cap }.into());
        }
        let head = self.head(method, wants)?;
        while let Err(error) = self.link.publish_from(head, bytes) {
            let NotPublished::Space(error) = error else {
                self.wait_for_slots(error, deadline)?;
                continue;
            };
            self.reserve_slowly(error, bytes.len(), deadline)?;
            self.link.fill(0, bytes);
            return self.publish_space(method, wants, deadline);
        }
        Ok(())
    }

    /// Publishes the reserved space, which was filled, as a message.
    #[inline(always)]
    fn publish_space(
        &mut self,
        method: u32,
        wants: Wants,
        deadline: Option<u64>,
    ) -> Result<(), CallError> {
        let head = self.head(method, wants)?;
        while let Err(error) = self.link.publish_space(head) {
            self.wait_for_slots(error, deadline)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn head(&mut self, method: u32, wants: Wants) -> Result<Head, CallError> {
        if wants == Wants::Reply && !self.calls.has_room() {
            self.drop_late_replies()?;
        }
        let flags = if wants == Wants::Reply { REQUEST } else { ONE_WAY };
        Ok(Head { kind: Kind::Message, flags, stream: self.calls.next_stream(), tag: method })
    }

    /// Makes room for a call by dropping replies that have come too late for anybody to want them.
    #[cold]
    #[inline(never)]
    fn drop_late_replies(&mut self) -> Result<(), CallError> {
        self.try_drop_late_replies().map_err(|error| self.failed(error))?;
        match self.calls.has_room() {
            true => Ok(()),
            false => Err(CallError::TooManyInFlight(self.calls.limit())),
        }
    }

    fn try_drop_late_replies(&mut self) -> Result<(), CallError> {
        self.link.look();
        while self.next_is_there()? {
            let head = self.link.head();
            if head.kind != Kind::Message as u8 || self.calls.wants(head) {
                break;
            }
            self.calls.answer(head)?;
            self.link.finish()?;
        }
        Ok(())
    }

    /// Waits until messages can be published again. The server never waits for us, so it gets there: replies in flight always fit into its ring.
    #[cold]
    #[inline(never)]
    fn wait_for_slots(
        &mut self,
        error: NotPublished,
        deadline: Option<u64>,
    ) -> Result<(), CallError> {
        match error {
            NotPublished::Full => match self.link.wait_for_slots(deadline) {
                Err(WaitFailure::Crowded) => self.make_room_for_replies(),
                outcome => outcome.map_err(|error| self.not_waited(error)),
            },
            NotPublished::Space(error) => Err(self.failed(error.into())),
            NotPublished::Failed(error) => Err(self.failed(error.into())),
            NotPublished::Link(error) => Err(self.failed(error.into())),
        }
    }

    /// Drops replies that nobody wants, of which so many have come that no more is read; others have to be received first.
    #[cold]
    fn make_room_for_replies(&mut self) -> Result<(), CallError> {
        self.try_drop_late_replies().map_err(|error| self.failed(error))?;
        match self.calls.wanted() {
            0 => Ok(()),
            wanted => Err(CallError::TooManyInFlight(wanted)),
        }
    }

    /// Says why a wait for the server to take messages ended.
    #[cold]
    fn not_waited(&mut self, error: WaitFailure) -> CallError {
        let ended = matches!(error, WaitFailure::Closed) && self.was_shut_down();
        self.failed(if ended { CallError::Closed } else { error.into() })
    }

    /// Whether the server said so before it ended: looks through the replies that nobody will take any more.
    #[cold]
    fn was_shut_down(&mut self) -> bool {
        self.link.look();
        while self.next_is_there().unwrap_or(false) {
            if self.link.head().kind == Kind::Shutdown as u8 {
                return true;
            }
            if self.link.finish().is_err() {
                break;
            }
        }
        false
    }

    /// Takes the next message if one has come.
    #[cold]
    fn next_is_there(&mut self) -> Result<bool, LinkError> {
        loop {
            // On a socket it is taking that reads; in shared memory it may say no although more is there.
            if self.link.take()? {
                return Ok(true);
            }
            if !self.link.ready()? {
                return Ok(false);
            }
        }
    }

    /// Takes space, waiting while it is lent for messages that the server has not consumed.
    #[inline]
    fn reserve_waiting(&mut self, len: usize, deadline: Option<u64>) -> Result<(), CallError> {
        match self.link.reserve(len) {
            Ok(()) => Ok(()),
            Err(error) => self.reserve_slowly(error, len, deadline),
        }
    }

    #[cold]
    fn reserve_slowly(
        &mut self,
        mut error: ReserveError,
        len: usize,
        deadline: Option<u64>,
    ) -> Result<(), CallError> {
        while let ReserveError::NoMemory { .. } = error {
            self.flush(deadline)?;
            // A reply that nobody wants any more may tell the release.
            self.try_drop_late_replies().map_err(|error| self.failed(error))?;
            match self.link.reserve_after_refresh(len) {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(progress)) => {
                    let outcome = self.link.wait_for_progress(progress, deadline);
                    outcome.map_err(|error| self.not_waited(error))?;
                }
                Err(other) => {
                    error = other;
                    break;
                }
            }
        }
        Err(self.failed(error.into()))
    }

    #[inline(always)]
    fn await_reply(&mut self, deadline: Option<u64>) -> Result<Reply<'_>, CallError> {
        match self.next_answer(deadline) {
            Ok(Answer { call, error: None, .. }) => Ok(Reply { session: self, call }),
            Ok(Answer { error: Some(code), .. }) => Err(self.failure(code)),
            Err(error) => Err(self.not_answered(error)),
        }
    }

    /// Takes entries until one answers a call that somebody waits for.
    #[inline(always)]
    fn next_answer(&mut self, deadline: Option<u64>) -> Result<Answer, CallError> {
        loop {
            if !self.link.take()? && !self.wait_and_take(deadline)? {
                continue;
            }
            let head = self.link.head();
            if head.kind != Kind::Message as u8 {
                return Err(session_entry(head.kind));
            }
            let answer = self.calls.answer(head)?;
            if answer.wanted {
                return Ok(answer);
            }
            self.link.finish()?;
        }
    }

    /// Waits for the next message and takes it; may say false as [`Link::take`] does.
    #[inline(always)]
    fn wait_and_take(&mut self, deadline: Option<u64>) -> Result<bool, CallError> {
        self.link.wait(deadline)?;
        check(deadline)?;
        Ok(self.link.take()?)
    }

    #[cold]
    fn not_answered(&mut self, error: CallError) -> CallError {
        if matches!(error, CallError::DeadlinePassed) {
            self.calls.give_up();
        }
        self.failed(error)
    }

    #[cold]
    fn failure(&mut self, code: crate::ErrorCode) -> CallError {
        let body = self.link.body();
        let reason = body.slice(..body.len().min(LONGEST_REASON)).to_vec();
        let reason = String::from_utf8_lossy(&reason).into_owned();
        self.finish_reply();
        CallError::Failed { code, reason }
    }

    /// Releases the reply that was taken.
    #[inline(always)]
    pub(crate) fn finish_reply(&mut self) {
        if self.link.finish().is_err() {
            self.over = true;
        }
    }

    /// The bytes of the reply that was taken.
    #[inline]
    pub(crate) fn reply_bytes(&self) -> ForeignBytes<'_> {
        self.link.body()
    }
}

#[cold]
fn session_entry(kind: u8) -> CallError {
    match Kind::from_number(kind) {
        Some(Kind::Shutdown) => CallError::Closed,
        Some(kind) => CallViolation::Unexpected(kind).into(),
        None => CallViolation::Kind(kind).into(),
    }
}

/// A peer that always has an entry, but never a reply, does not keep a caller past its deadline.
#[inline(always)]
fn check(deadline: Option<u64>) -> Result<(), CallError> {
    match deadline {
        Some(deadline) if clock::ticks() >= deadline => Err(CallError::DeadlinePassed),
        _ => Ok(()),
    }
}

/// The clock's reading when `timeout` is over.
#[inline(never)]
fn deadline_after(timeout: Duration) -> u64 {
    clock::ticks().saturating_add(clock::ticks_in(timeout))
}

impl Drop for Session {
    fn drop(&mut self) {
        // A full ring or a dead peer: the end of file tells the same, less politely.
        let _ = self.link.publish(Head::of_session(Kind::Shutdown, 0), &[]);
        let _ = self.link.flush_reply();
    }
}

/// Whether a message is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wants {
    Reply,
    Nothing,
}

/// A reply, lent by the peer until this is dropped.
pub struct Reply<'s> {
    session: &'s mut Session,
    call: CallId,
}

impl Reply<'_> {
    /// The call that it answers.
    pub fn call(&self) -> CallId {
        self.call
    }

    /// Its bytes: a private copy up to 104 bytes, else the peer's memory, which the peer may still change.
    #[inline]
    pub fn bytes(&self) -> ForeignBytes<'_> {
        self.session.reply_bytes()
    }

    /// A private copy of its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }
}

impl Drop for Reply<'_> {
    #[inline]
    fn drop(&mut self) {
        self.session.finish_reply();
    }
}

impl std::fmt::Debug for Reply<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Reply")
            .field("call", &self.call)
            .field("bytes", &self.bytes())
            .finish()
    }
}

/// Space for a request, in shared memory if it is larger than 104 bytes. The peer can read it at any time. Dropping it unsent gives it back.
pub struct RequestSpace<'s> {
    session: &'s mut Session,
}

impl<'s> RequestSpace<'s> {
    /// Its bytes. They hold whatever this session wrote there before, or zeros.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.session.link.bytes_mut()
    }

    /// Copies `bytes` to `offset`. For messages from 64 KiB on this is faster than writing through [`Self::bytes_mut`] where the two CPUs are far apart, as it
    /// passes the caches. Panics if they reach outside.
    #[inline]
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.session.link.fill(offset, bytes);
    }

    /// Calls `method` with these bytes and waits for the reply.
    #[inline]
    pub fn call(self, method: u32) -> Result<Reply<'s>, CallError> {
        self.session.may_call()?;
        let deadline = self.session.deadline();
        self.session.publish_space(method, Wants::Reply, deadline)?;
        self.session.calls.sent();
        self.session.flush(deadline)?;
        self.session.await_reply(deadline)
    }

    /// Sends these bytes as a request whose reply is taken later by [`Session::receive`].
    #[inline]
    pub fn send(self, method: u32) -> Result<CallId, CallError> {
        let deadline = self.session.deadline();
        self.session.publish_space(method, Wants::Reply, deadline)?;
        let call = self.session.calls.sent();
        self.session.flush(deadline)?;
        Ok(call)
    }

    /// Sends these bytes as a one-way message.
    #[inline]
    pub fn post(self, method: u32) -> Result<(), CallError> {
        let deadline = self.session.deadline();
        self.session.publish_space(method, Wants::Nothing, deadline)?;
        self.session.calls.posted();
        self.session.flush(deadline)
    }
}

/// Messages that wake the server once, at the end: when this is flushed or dropped. A server that spins sees each at once.
pub struct Batch<'s> {
    session: &'s mut Session,
    flushed: bool,
}

impl Batch<'_> {
    /// As [`Session::send`].
    #[inline(always)]
    pub fn send(&mut self, method: u32, request: &[u8]) -> Result<CallId, CallError> {
        self.session.send_unflushed(method, request)
    }

    /// As [`Session::post`].
    #[inline(always)]
    pub fn post(&mut self, method: u32, message: &[u8]) -> Result<(), CallError> {
        self.session.post_unflushed(method, message)
    }

    /// Ends the batch.
    pub fn flush(mut self) -> Result<(), CallError> {
        self.flushed = true;
        self.session.flush(self.session.deadline())
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.session.link.set_batching(false);
        if !self.flushed {
            // An error has ended the session, as its next use will say; a deadline that passed has given up the calls in flight.
            let _ = self.session.flush(self.session.deadline());
        }
    }
}
