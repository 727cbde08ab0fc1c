//! Space for a message that any thread fills and a shared session sends later.

use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use breezeway_os::Deadline;
use breezeway_proto::connection::METADATA_PREFIX;
use breezeway_shm::{Account, SendError};

use super::outgoing::Outgoing;
use super::shared::Shared;
use super::state::State;
use crate::error::CallError;
use crate::link::OwnedBody;

/// Space for one message that owns its memory: any thread fills it, for as long as it likes, while
/// others use the session. Then one of the session's calls, streams or replies sends it without a
/// copy, or its drop gives the memory back.
///
/// Over shared memory, more than 104 bytes are in memory that the peer can read before they are
/// sent, and count as lent until they come back. Over a socket the bytes are private memory, and
/// the socket is written from it.
///
/// It may outlive its session; then it can only be filled and dropped. In a forked child it can
/// only be dropped.
///
/// ```
/// use breezeway::{Session, SessionOptions};
///
/// const ECHO: u32 = 0;
///
/// let (session, server) = Session::pair(&SessionOptions::new())?;
/// let serving = std::thread::spawn(move || server.serve(|call| call.echo()));
/// let mut space = session.reserve(100_000)?;
/// let filled = std::thread::spawn(move || {
///     space.bytes_mut()[..5].copy_from_slice(b"frame");
///     space.truncate(5);
///     space
/// });
/// let reply = session.request(ECHO).send_space(filled.join().unwrap())?;
/// assert_eq!(reply.to_vec(), b"frame");
/// # drop(session);
/// # serving.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OwnedSpace {
    body: OwnedBody,
    /// Offset of the message: behind metadata, if there is some.
    front: usize,
    session: Weak<Shared>,
    is_sent: bool,
}

impl OwnedSpace {
    /// Returns the message's length in bytes; 0 once it was sent.
    pub fn len(&self) -> usize {
        self.body.len().saturating_sub(self.front)
    }

    /// Returns true if the message has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes to be filled. They hold whatever this session wrote there before, or
    /// zeros.
    ///
    /// # Panics
    ///
    /// Panics in a forked child of the process that reserved it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.body.bytes_mut()[self.front..]
    }

    /// Copies `bytes` to `offset`. For messages from 64 KiB on this is faster than writing through
    /// [`Self::bytes_mut`] if the peer is on a distant core, because it bypasses the caches.
    ///
    /// # Panics
    ///
    /// Panics if the bytes reach outside, and like [`Self::bytes_mut`].
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.body.write(self.front + offset, bytes);
    }

    /// Keeps the first `len` bytes, if there are more: for a message that is shorter than the
    /// reserved space. The rest comes back when the message is sent.
    pub fn truncate(&mut self, len: usize) {
        self.body.truncate(self.front.saturating_add(len));
    }

    /// Returns the content to be sent by `session`, which must be the space's own.
    pub(super) fn outgoing_by(&mut self, session: &Arc<Shared>) -> Result<Outgoing<'_>, CallError> {
        // The assertion is here because no code may panic with the lock.
        assert!(!self.is_sent, "space is sent once");
        if std::ptr::eq(self.session.as_ptr(), Arc::as_ptr(session)) {
            Ok(Outgoing::space(&mut self.body, self.front))
        } else {
            Err(CallError::SpaceOfAnotherSession)
        }
    }

    /// Tries to send the space by `session`, and returns the result.
    pub(super) fn poll_sent<T, E: From<CallError>>(
        &mut self,
        session: &Arc<Shared>,
        send: impl FnOnce(&mut State, &mut Outgoing<'_>) -> Poll<Result<T, E>>,
    ) -> Poll<Result<T, E>> {
        let mut outgoing = self.outgoing_by(session)?;
        let outcome = session.with(|state| send(state, &mut outgoing));
        self.is_sent = matches!(outcome, Poll::Ready(Ok(_)));
        outcome
    }
}

impl std::fmt::Debug for OwnedSpace {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OwnedSpace").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Purpose of a reservation.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Account that the space is charged to.
    pub(super) account: Account,
    /// Metadata that goes with the message, if it is not empty.
    pub(super) metadata: &'a [u8],
    /// Length of the message in bytes.
    pub(super) len: usize,
}

impl<'a> Wanted<'a> {
    pub(super) fn of_session(metadata: &'a [u8], len: usize) -> Self {
        Self { account: Account::SESSION, metadata, len }
    }

    /// Returns the number of bytes in front of the message.
    fn front(&self) -> usize {
        if self.metadata.is_empty() { 0 } else { METADATA_PREFIX + self.metadata.len() }
    }
}

/// Methods that reserve for any account.
impl Shared {
    /// Reserves space, and waits for memory at most until the deadline.
    pub(super) fn reserve(
        self: &Arc<Self>,
        wanted: Wanted<'_>,
        deadline: Deadline,
    ) -> Result<OwnedSpace, CallError> {
        let outcome = self.wait(deadline, |state, cx| state.poll_reserve(cx, wanted));
        Ok(self.owned(outcome.unwrap_or(Err(CallError::DeadlinePassed))?, wanted))
    }

    /// Reserves space like [`Self::reserve`], but after the deadline the error names the shortage.
    pub(super) fn reserve_or_say(
        self: &Arc<Self>,
        wanted: Wanted<'_>,
        deadline: Deadline,
    ) -> Result<OwnedSpace, CallError> {
        match self.reserve(wanted, deadline) {
            Err(CallError::DeadlinePassed) => self.try_reserve(wanted),
            outcome => outcome,
        }
    }

    pub(super) fn poll_reserve(
        self: &Arc<Self>,
        cx: &Context<'_>,
        wanted: Wanted<'_>,
    ) -> Poll<Result<OwnedSpace, CallError>> {
        let body = self.with(|state| state.poll_reserve(cx, wanted));
        body.map_ok(|body| self.owned(body, wanted))
    }

    pub(super) fn try_reserve(
        self: &Arc<Self>,
        wanted: Wanted<'_>,
    ) -> Result<OwnedSpace, CallError> {
        let body = self.with(|state| {
            state.may_reserve(wanted)?;
            state.reserve(wanted).map_err(|error| state.failed(error))
        });
        Ok(self.owned(body?, wanted))
    }

    fn owned(self: &Arc<Self>, mut body: OwnedBody, wanted: Wanted<'_>) -> OwnedSpace {
        let front = wanted.front();
        if front > 0 {
            let len = u16::try_from(wanted.metadata.len()).expect("it was checked");
            body.write(0, &len.to_le_bytes());
            body.write(METADATA_PREFIX, wanted.metadata);
        }
        OwnedSpace { body, front, session: Arc::downgrade(self), is_sent: false }
    }
}

impl State {
    fn may_reserve(&self, wanted: Wanted<'_>) -> Result<(), CallError> {
        self.check()?;
        self.check_metadata(Some(wanted.metadata))
    }

    fn reserve(&mut self, wanted: Wanted<'_>) -> Result<OwnedBody, SendError> {
        self.link.set_account(wanted.account);
        let body = self.link.reserve_owned(wanted.len.saturating_add(wanted.front()));
        self.link.set_account(Account::SESSION);
        body
    }

    fn poll_reserve(
        &mut self,
        cx: &Context<'_>,
        wanted: Wanted<'_>,
    ) -> Poll<Result<OwnedBody, CallError>> {
        self.may_reserve(wanted)?;
        let body = self.reserve(wanted);
        self.or_await_room(cx, body)
    }
}
