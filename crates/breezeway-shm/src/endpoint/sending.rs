//! Sending half of an endpoint: reserving, filling, publishing, and giving back unpublished space.

use super::Endpoint;
use super::error::{NotLent, SendError};
use super::receiving::body;
use super::space::{Body, Filling, Held, Space};
use crate::doorbell::SocketError;
use crate::foreign::ForeignBytes;
use crate::payload::lender::Loan;
use crate::payload::placement::Copying;
use crate::ring::layout::{INLINE_MAX, LENT};
use crate::ring::{Head, PublishFailure, Want};
use crate::statistics::Field;
use breezeway_os::copy::{STREAM_FROM, stream_fence};

impl Endpoint {
    /// Reserves space for a message of `len` bytes: up to 104 bytes in private memory, of which
    /// there is one piece, more in a payload segment, which is added when needed. The peer can read
    /// reserved payload space before it is sent. The space must be sent or passed to
    /// [`Self::abandon`], else it stays taken until the session ends.
    #[inline(always)]
    pub fn reserve(&mut self, len: usize) -> Result<Space, SendError> {
        let mut space = Space::none();
        self.renew(&mut space, len)?;
        Ok(space)
    }

    /// Gives back the memory of `space` and reserves `len` bytes like [`reserve`](Self::reserve).
    /// On an error `space` holds nothing.
    #[inline(always)]
    pub fn renew(&mut self, space: &mut Space, len: usize) -> Result<(), SendError> {
        self.abandon(space);
        if !self.origin.is_here() {
            return Err(SocketError::Forked.into());
        }
        // Written in place: copying a fresh `Space` as a whole would stall on the store buffer.
        space.owner = self.id;
        space.held =
            if len <= INLINE_MAX { Held::Inline(len) } else { Held::Payload(self.take_loan(len)?) };
        Ok(())
    }

    /// Gives reserved space back, if it was not sent.
    #[inline]
    pub fn abandon(&mut self, space: &mut Space) {
        if let Some(loan) = space.take_loan(self.id) {
            self.lender.give_back(loan);
        }
        space.held = Held::Nothing;
    }

    /// Shortens reserved space to its first `len` bytes, if it is longer, and gives the rest back.
    pub fn truncate(&mut self, space: &mut Space, len: usize) {
        if len >= space.len() {
            return;
        }
        let Some(mut loan) = space.take_loan(self.id) else {
            return space.held = Held::Inline(len);
        };
        space.held = if len > INLINE_MAX {
            self.lender.shorten(&mut loan, len);
            Held::Payload(loan)
        } else {
            if len > 0 {
                self.staging.bytes_mut(len).copy_from_slice(&self.lender.bytes_mut(&loan)[..len]);
            } // A forked child, which may give space back, has no mapping of it.
            self.lender.give_back(loan);
            Held::Inline(len)
        };
    }

    /// Returns reserved space for filling. Panics in a forked child of the process that reserved
    /// it.
    #[inline(always)]
    pub fn fill<'a>(&'a mut self, space: &'a mut Space) -> Filling<'a> {
        assert!(
            self.origin.is_here(),
            "space reserved before a fork cannot be filled in the child"
        );
        let received = body(&self.borrower, self.borrowed.as_ref(), &self.entry, self.trusted);
        match space.held_by(self.id) {
            Held::Inline(len) => {
                Filling::new(received, self.staging.bytes_mut(*len), Copying::Private)
            }
            Held::Payload(loan) => {
                let copying = self.lender.segments.placement.copying();
                Filling::new(received, self.lender.bytes_mut(loan), copying)
            }
            Held::Nothing => Filling::new(received, &mut [], Copying::Private),
        }
    }

    /// Publishes a message. A spinning peer may see it at once; [`Self::flush`] wakes a sleeping
    /// one. A body of more than 104 bytes is lent to the peer until it releases it.
    #[inline(always)]
    pub fn send(&mut self, head: Head, body: Body<'_>) -> Result<(), SendError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked.into());
        }
        match body {
            Body::Bytes(bytes) if bytes.len() <= INLINE_MAX => self.publish(head, bytes),
            Body::Bytes(bytes) => self.send_copy(head, bytes),
            Body::Space(space) => self.send_space(head, space),
            Body::Owned(space) => self.send_owned(head, space),
            Body::Received if self.borrowed.is_some() => self.send_back(head),
            Body::Received => {
                let released = self.rings.hidden_release();
                let body = self.entry.inline();
                let (len, outcome) =
                    (body.len(), self.rings.producer.publish(head, released, body));
                self.noted(outcome, head, len)
            }
        }
    }

    /// Publishes an entry with an inline body.
    #[inline(always)]
    pub(super) fn publish(&mut self, head: Head, body: &[u8]) -> Result<(), SendError> {
        let outcome = self.rings.producer.publish(head, self.rings.hidden_release(), body);
        self.noted(outcome, head, body.len())
    }

    /// Counts the outcome of publishing a message of `bytes` bytes.
    #[inline(always)]
    fn noted(
        &mut self,
        outcome: Result<(), PublishFailure>,
        head: Head,
        len: usize,
    ) -> Result<(), SendError> {
        match outcome {
            Ok(()) => {
                self.rings.release_published();
                self.meter.sent(head.kind, head.flags, len);
                Ok(())
            }
            Err(failure) => Err(self.not_published(failure)),
        }
    }

    #[cold]
    fn not_published(&mut self, failure: PublishFailure) -> SendError {
        match failure {
            PublishFailure::Full => {
                self.meter.add(Field::RingFull, 1);
                let known = self.known_consumed();
                let unconsumed = self.published() - known;
                let until = Want::Consumed(known + unconsumed / 4 - 1);
                SendError::Full { unconsumed: unconsumed as usize, until }
            }
            PublishFailure::Violation(violation) => violation.into(),
        }
    }

    #[inline(always)]
    fn send_space(&mut self, head: Head, space: &mut Space) -> Result<(), SendError> {
        match space.held_by(self.id) {
            Held::Inline(len) => {
                let released = self.rings.hidden_release();
                let body = self.staging.bytes(*len);
                let outcome = self.rings.producer.publish(head, released, body);
                self.noted(outcome, head, *len)?;
            }
            Held::Payload(_) => return self.send_loan(head, space),
            Held::Nothing => panic!("space is sent once"),
        }
        space.held = Held::Nothing;
        Ok(())
    }

    #[inline(always)]
    fn send_loan(&mut self, head: Head, space: &mut Space) -> Result<(), SendError> {
        let loan = space.take_loan(self.id).expect("the caller has seen payload memory");
        self.lend(head, loan).map_err(|NotLent { error, loan }| {
            space.held = Held::Payload(loan);
            error
        })
    }

    /// Sends a copy of bytes that do not fit into an entry.
    #[inline(never)]
    fn send_copy(&mut self, head: Head, bytes: &[u8]) -> Result<(), SendError> {
        self.check_len(bytes.len())?;
        self.check_slot()?;
        let loan = self.take_loan(bytes.len())?;
        let copying = self.lender.segments.placement.copying();
        copying.fill(self.lender.bytes_mut(&loan), 0, ForeignBytes::stable(bytes));
        self.lend_or_give_back(head, loan)
    }

    /// Sends a copy of the current message's lent body, and its release with it.
    #[inline(never)]
    fn send_back(&mut self, head: Head) -> Result<(), SendError> {
        self.check_slot()?;
        let Some(borrowed) = &self.borrowed else { unreachable!("the caller has seen it") };
        let len = self.borrower.bytes(borrowed, self.trusted).len();
        let loan = self.take_loan(len)?;
        let copying = self.lender.segments.placement.copying();
        let received = body(&self.borrower, self.borrowed.as_ref(), &self.entry, self.trusted);
        copying.fill(self.lender.bytes_mut(&loan), 0, received);
        self.release();
        self.lend_or_give_back(head, loan)
    }

    /// Fails with `Full` before anything is copied or released. (A segment that has to be added
    /// takes a slot as well, so there may be none afterwards.)
    fn check_slot(&mut self) -> Result<(), SendError> {
        if self.rings.producer.known_space() == 0 {
            self.refresh()?;
            if self.rings.producer.known_space() == 0 {
                return Err(self.not_published(PublishFailure::Full));
            }
        }
        Ok(())
    }

    fn lend_or_give_back(&mut self, head: Head, loan: Loan) -> Result<(), SendError> {
        self.lend(head, loan).map_err(|NotLent { error, loan }| {
            self.lender.give_back(loan);
            error
        })
    }

    /// Publishes a message with a filled loan as its body.
    #[inline(always)]
    pub(super) fn lend(&mut self, head: Head, loan: Loan) -> Result<(), NotLent> {
        if loan.len >= STREAM_FROM {
            stream_fence();
        }
        let head = Head { flags: head.flags | LENT, ..head };
        let released = self.rings.hidden_release();
        let outcome = self.rings.producer.publish(head, released, &loan.descriptor());
        if let Err(error) = self.noted(outcome, head, loan.len) {
            return Err(NotLent { error, loan });
        }
        self.lender.lend(loan, &mut self.rings.lent);
        self.note_lent();
        Ok(())
    }

    /// Sets whether many entries will follow each other, none of which the peer is waiting for.
    pub fn set_batching(&mut self, batching: bool) {
        self.rings.producer.set_batching(batching);
    }

    /// Publishes this side's progress and releases, and wakes the peer if it sleeps for them or for
    /// an entry published since the last call: once per batch.
    #[inline(always)]
    pub fn flush(&mut self) -> Result<(), SocketError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked);
        }
        if self.lender.segments.have_grown() {
            self.tidy_now_and_then()?;
        }
        self.meter.set(Field::Published, self.rings.producer.published());
        let due = self.rings.flush();
        self.ring_if(due)
    }

    /// Flushes like [`flush`](Self::flush), if consumed entries or releases are unpublished: the
    /// peer may sleep for them while this side polls for more without sleeping.
    #[inline(always)]
    pub fn flush_progress(&mut self) -> Result<(), SocketError> {
        if self.rings.is_settled() { Ok(()) } else { self.flush() }
    }

    #[inline(always)]
    pub(super) fn ring_if(&mut self, due: bool) -> Result<(), SocketError> {
        if due {
            self.meter.add(Field::Doorbells, 1);
            self.doorbell.ring()?;
        }
        Ok(())
    }
}
