//! What a client sends: requests and one-way messages, each as soon as there is room for it.

use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::{Head, Kind, ReserveError};

use super::{Reply, Session};
use crate::error::CallError;
use crate::link::{NotPublished, WaitFailure};
use crate::protocol::{CallId, ONE_WAY, REQUEST};

impl Session {
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
    pub(super) fn transmit(
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
    pub(super) fn flush(&mut self, deadline: Option<u64>) -> Result<(), CallError> {
        self.link.flush(deadline).map_err(|error| self.not_answered(error.into()))?;
        if self.link.goes_nowhere() && self.calls.wanted() == 0 {
            return Err(self.not_waited(WaitFailure::Closed));
        }
        Ok(())
    }

    /// Publishes a message from a slice.
    #[inline(always)]
    pub(super) fn publish_bytes(
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

    /// Takes space, waiting while it is lent for messages that the server has not consumed.
    #[inline]
    pub(super) fn reserve_waiting(
        &mut self,
        len: usize,
        deadline: Option<u64>,
    ) -> Result<(), CallError> {
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
}

/// Whether a message is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    Reply,
    Nothing,
}

/// Space for a request, in shared memory if it is larger than 104 bytes. The peer can read it at any time. Dropping it unsent gives it back.
pub struct RequestSpace<'s> {
    pub(super) session: &'s mut Session,
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
    pub(super) session: &'s mut Session,
    pub(super) flushed: bool,
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
