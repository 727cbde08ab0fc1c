//! One process's end of a session: what it writes, what it reads, and how both wake each other.

mod payload;
mod receiving;
mod space;
mod waiting;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use thiserror::Error;

use crate::control::{ControlSegment, ForeignControl};
use crate::counters::{Counter, Counters};
use crate::doorbell::{Doorbell, SocketError};
use crate::foreign::ForeignBytes;
use crate::payload::borrower::{Borrowed, Borrower};
use crate::payload::lender::Lender;
use crate::payload::segments::Segments;
use crate::payload::staging::Staging;
use crate::ring::Duplex;
use crate::ring::layout::INLINE_MAX;
use crate::ring::words::{ForeignWords, OwnWords};
use crate::ring::{Consumer, Producer, PublishFailure};
use crate::ring::{Entry, Flags, Head};
use crate::violation::Violation;
use breezeway_os::Distance;
use breezeway_os::Origin;
use breezeway_os::TrustedPeer;
use breezeway_os::clock;
use breezeway_os::copy::{STREAM_FROM, stream_fence};

pub use payload::{Limits, PayloadMemory};
pub use space::{ReserveError, Space};

use receiving::body;
use space::{Place, fill};

/// Why an entry could not be published. Nothing was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The ring is full: the peer has to consume first.
    #[error("the ring is full")]
    Full,
    /// This is a forked child of the process that opened the session.
    #[error("a session cannot be used in a forked child; open one there")]
    Forked,
    /// The peer broke a rule.
    #[error(transparent)]
    Violation(#[from] Violation),
}

/// One process's end of a session. `Send`; one thread at a time uses it.
pub struct Endpoint {
    origin: Origin,
    own: OwnWords,
    peer: ForeignWords,
    rings: Duplex,
    lender: Lender,
    borrower: Borrower,
    doorbell: Doorbell,
    counters: Counters,
    distance: Distance,
    trusted: bool,
    intents_since_drain: u32,
    flushes_since_look: u32,
    /// Positions of entries about segments that the peer is not known to have consumed.
    segment_entries: VecDeque<u64>,
    /// When the segments in use were last looked at, in clock ticks.
    looked_at_segments: u64,
    /// Ticks between two such looks at least.
    window: u64,
    /// Whether `entry` was taken and not finished.
    has_entry: bool,
    borrowed: Option<Borrowed>,
    staging: Staging,
    entry: Entry,
}

impl Endpoint {
    /// Puts together what the hello has exchanged.
    pub fn new(socket: OwnedFd, own: ControlSegment, peer: ForeignControl, limits: Limits) -> Self {
        let bytes = |limit| usize::try_from(limit).unwrap_or(isize::MAX as usize);
        let segments =
            Segments::new(bytes(limits.first_segment.min(limits.cap)), bytes(limits.cap));
        Self {
            origin: Origin::here(),
            rings: Duplex {
                producer: Producer::new(own.words.clone(), peer.words.clone(), own.capacity),
                consumer: Consumer::new(peer.words.clone(), own.words.clone(), peer.capacity),
            },
            lender: Lender::new(peer.words.clone(), peer.lend_count, segments),
            borrower: Borrower::new(own.words.clone(), own.lend_count, limits.cap),
            doorbell: Doorbell::new(socket),
            counters: Counters::new(own.words.clone()),
            distance: Distance::default(),
            own: own.words,
            peer: peer.words,
            trusted: false,
            intents_since_drain: 0,
            flushes_since_look: 0,
            segment_entries: VecDeque::new(),
            looked_at_segments: 0,
            window: clock::ticks_in(limits.shrink_after),
            has_entry: false,
            borrowed: None,
            staging: Staging::new(),
            entry: Entry::default(),
        }
    }

    /// From now on lent payload is given as slices.
    pub fn trust(&mut self, _proof: TrustedPeer) {
        self.trusted = true;
    }

    /// The largest message that can be sent.
    pub fn cap(&self) -> usize {
        self.lender.segments.cap()
    }

    /// Takes space for a message of `len` bytes: up to 104 in private memory, of which there is one piece, more in a payload segment, which is added when needed. The peer can read reserved
    /// payload space before it is published. The space must go to [`Self::publish_space`] or [`Self::abandon`], else it stays taken until the session ends.
    #[inline(always)]
    pub fn reserve(&mut self, len: usize) -> Result<Space, ReserveError> {
        if !self.origin.is_here() {
            return Err(ReserveError::Forked);
        }
        if len <= INLINE_MAX {
            return Ok(Space(Place::Inline(len)));
        }
        self.reserve_payload(len)
    }

    /// Gives back what `space` holds and takes space for `len` bytes instead, as [`Self::reserve`] does; on an error it holds nothing.
    #[inline(always)]
    pub fn renew(&mut self, space: &mut Space, len: usize) -> Result<(), ReserveError> {
        self.abandon(space);
        if !self.origin.is_here() {
            return Err(ReserveError::Forked);
        }
        if len <= INLINE_MAX {
            // In place: a copy of two fresh words as one would wait for both to leave the store buffer.
            space.0 = Place::Inline(len);
            return Ok(());
        }
        *space = self.reserve_payload(len)?;
        Ok(())
    }

    /// The bytes of reserved space, to be filled. Panics in a forked child of the process that reserved it.
    #[inline]
    pub fn bytes_mut<'a>(&'a mut self, space: &'a mut Space) -> &'a mut [u8] {
        self.assert_not_forked();
        match &mut space.0 {
            Place::Inline(len) => self.staging.bytes_mut(*len),
            Place::Payload(loan) => self.lender.bytes_mut(loan),
            Place::Spent => &mut [],
        }
    }

    /// The current entry's body and the bytes of reserved space, to fill the one from the other.
    #[inline]
    pub fn body_and_bytes_mut<'a>(
        &'a mut self,
        space: &'a mut Space,
    ) -> (ForeignBytes<'a>, &'a mut [u8]) {
        self.assert_not_forked();
        let body = body(&self.borrower, self.borrowed.as_ref(), &self.entry, self.trusted);
        let bytes = match &mut space.0 {
            Place::Inline(len) => self.staging.bytes_mut(*len),
            Place::Payload(loan) => self.lender.bytes_mut(loan),
            Place::Spent => &mut [],
        };
        (body, bytes)
    }

    /// A forked child does not have the memory behind reserved space.
    #[inline(always)]
    fn assert_not_forked(&self) {
        assert!(
            self.origin.is_here(),
            "space reserved before a fork cannot be filled in the child"
        );
    }

    /// Copies `bytes` to `offset` of reserved space: the fastest way to fill a large payload from elsewhere. Panics if they reach outside.
    pub fn write(&mut self, space: &mut Space, offset: usize, bytes: ForeignBytes<'_>) {
        let far = self.distance.is_far();
        fill(self.bytes_mut(space), offset, bytes, far);
    }

    /// Copies the current entry's whole body to `offset` of reserved space. Panics if it reaches outside.
    #[inline]
    pub fn write_body(&mut self, space: &mut Space, offset: usize) {
        let far = self.distance.is_far();
        let (body, to) = self.body_and_bytes_mut(space);
        fill(to, offset, body, far);
    }

    /// Gives reserved space back, if it was not published.
    pub fn abandon(&mut self, space: &mut Space) {
        if let Place::Payload(loan) = space.0 {
            self.lender.give_back(loan);
        }
        space.0 = Place::Spent;
    }

    /// Publishes an entry with an inline body of at most 104 bytes. A spinning peer sees it at once; [`Self::flush`] wakes a sleeping one.
    #[inline(always)]
    pub fn publish(&mut self, head: Head, body: &[u8]) -> Result<(), PublishError> {
        if !self.origin.is_here() {
            return Err(PublishError::Forked);
        }
        let outcome = self.rings.producer.publish(head, self.borrower.untold(), body);
        self.noted(outcome)
    }

    /// Notes what came of publishing.
    #[inline(always)]
    fn noted(&mut self, outcome: Result<(), PublishFailure>) -> Result<(), PublishError> {
        match outcome {
            Ok(()) => {
                self.borrower.told();
                Ok(())
            }
            Err(failure) => Err(self.not_published(failure)),
        }
    }

    #[cold]
    fn not_published(&mut self, failure: PublishFailure) -> PublishError {
        match failure {
            PublishFailure::Full => {
                self.counters.add(Counter::RingFull, 1);
                PublishError::Full
            }
            PublishFailure::Violation(violation) => violation.into(),
        }
    }

    /// Publishes a message with reserved space as its body: lends it to the peer until it releases it. On an error the space stays with the caller.
    #[inline(always)]
    pub fn publish_space(&mut self, head: Head, space: &mut Space) -> Result<(), PublishError> {
        if !self.origin.is_here() {
            return Err(PublishError::Forked);
        }
        match &space.0 {
            Place::Inline(len) => {
                let outcome = self.rings.producer.publish(
                    head,
                    self.borrower.untold(),
                    self.staging.bytes(*len),
                );
                self.noted(outcome)
            }
            Place::Payload(loan) => {
                let loan = *loan;
                if loan.len >= STREAM_FROM {
                    stream_fence();
                }
                let head = Head { flags: head.flags.with(Flags::LENT), ..head };
                self.publish(head, &loan.descriptor())?;
                self.lender.lend(loan);
                self.counters.add(Counter::PayloadBytesLent, loan.len as u64);
                space.0 = Place::Spent;
                Ok(())
            }
            Place::Spent => panic!("space is published once"),
        }
    }

    /// Says whether many entries will follow each other, none of which the peer is waiting for.
    pub fn set_batching(&mut self, batching: bool) {
        self.rings.producer.set_batching(batching);
    }

    /// Lets the peer see what was consumed, and wakes it if it sleeps for that or for anything published since the last call: once for a batch.
    ///
    /// Releases are told before the progress that covers them: a peer that waits for payload memory waits for our progress.
    #[inline(always)]
    pub fn flush(&mut self) -> Result<(), SocketError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked);
        }
        self.borrower.settle();
        if self.lender.segments.have_grown() {
            self.tidy_now_and_then()?;
        }
        self.counters.set(Counter::EntriesPublished, self.rings.producer.published());
        let due = self.rings.flush();
        self.ring_if(due)
    }

    #[inline(always)]
    fn ring_if(&mut self, due: bool) -> Result<(), SocketError> {
        if due {
            self.counters.add(Counter::DoorbellsRung, 1);
            self.doorbell.ring()?;
        }
        Ok(())
    }

    /// Lets the peer know, before this side looks for more without sleeping, what was consumed so far: it may sleep for that.
    #[inline(always)]
    pub fn tell_progress(&mut self) -> Result<(), SocketError> {
        if self.rings.consumer.is_told() { Ok(()) } else { self.flush() }
    }

    /// Entries published so far.
    pub fn published(&self) -> u64 {
        self.rings.producer.published()
    }

    /// Entries that the peer has consumed, as far as is known after the last look.
    pub fn known_consumed(&self) -> u64 {
        self.rings.producer.known_consumed()
    }

    /// Looks how far the peer has consumed, and how much it has released by then.
    pub fn refresh(&mut self) -> Result<(), Violation> {
        self.rings.producer.refresh()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if self.origin.is_here() {
            self.doorbell.shut_down();
        }
    }
}
