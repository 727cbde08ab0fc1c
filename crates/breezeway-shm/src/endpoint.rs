//! One process's end of a session: what it writes, what it reads, and how both wake each other.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use thiserror::Error;

use crate::borrower::{Borrowed, Borrower};
use crate::clock;
use crate::copy::{PREFETCHED_UP_TO, STREAM_FROM, claim_and_copy, claim_lines, stream_fence};
use crate::counters::{Counter, Counters};
use crate::cpu;
use crate::distance::Distance;
use crate::doorbell::{Doorbell, SocketError};
use crate::duplex::{Duplex, Want};
use crate::entry::{Entry, Flags, Head, Kind};
use crate::foreign::ForeignBytes;
use crate::fork::Origin;
use crate::layout::{CPU_AT, INLINE_MAX};
use crate::lender::{Lender, Loan};
use crate::ring::{Consumer, Producer, PublishFailure};
use crate::segment::{self, ControlSegment, ForeignControl, SegmentError};
use crate::segments::{MOST_SEGMENTS, Segments};
use crate::shortage::Shortage;
use crate::staging::Staging;
use crate::sync::Ordering;
use crate::trust::TrustedPeer;
use crate::violation::Violation;
use crate::words::{ForeignWords, OwnWords};

/// Intents between two readings of the socket. Each leaves at most one doorbell byte, and a socket holds some hundreds (278 by default). A full one would make no
/// event for an edge-triggered sleeper.
const INTENTS_PER_DRAIN: u32 = 64;

/// Flushes between two looks at the clock, while there are more segments than an idle session keeps.
const FLUSHES_PER_LOOK: u32 = 64;

/// The bounds of a session's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of payload segments per direction at one time, and so the largest message. What both hellos agreed on.
    pub cap: u64,
    /// Bytes of this side's first payload segment, unless a message asks for more. Rounded up to whole pages; the cap counts if it is less.
    pub first_segment: u64,
    /// How long traffic must do without one of this side's payload segments before it is given back. The largest that is free is kept ten times as long.
    pub shrink_after: Duration,
}

impl Limits {
    /// The usual first segment: 256 KiB.
    pub const FIRST_SEGMENT: u64 = 256 * 1024;
    /// The usual time before a segment is given back: 1 s.
    pub const SHRINK_AFTER: Duration = Duration::from_secs(1);

    /// This cap, and what is usual.
    pub const fn new(cap: u64) -> Self {
        Self { cap, first_segment: Self::FIRST_SEGMENT, shrink_after: Self::SHRINK_AFTER }
    }
}

/// What a session's payload segments take now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PayloadMemory {
    /// Bytes of this side's segments.
    pub own: u64,
    /// Segments that this side has added so far.
    pub own_added: u32,
    /// Bytes of the peer's segments.
    pub peers: u64,
    /// Segments that the peer has added so far, as far as this side has looked.
    pub peers_added: u32,
}

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

/// Why space for a message could not be had. Nothing was taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReserveError {
    /// The message is larger than the session allows.
    #[error(
        "a message of {len} bytes exceeds the session's cap of {cap} bytes; raise the cap on both sides"
    )]
    TooLarge {
        /// Length asked for.
        len: usize,
        /// The cap: the smaller of both sides' settings.
        cap: usize,
    },
    /// There is no payload memory at the moment. There will be when the peer has released, or consumed, more.
    #[error("no payload memory for {len} bytes: {shortage}")]
    NoMemory {
        /// Length asked for.
        len: usize,
        /// What is short.
        shortage: Shortage,
    },
    /// A new segment could not be created.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// A new segment could not be handed over.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// This is a forked child of the process that opened the session.
    #[error("a session cannot be used in a forked child; open one there")]
    Forked,
}

impl From<Violation> for ReserveError {
    fn from(violation: Violation) -> Self {
        Self::Socket(violation.into())
    }
}

/// Space reserved for one message: private until it is published, or payload memory.
#[derive(Debug)]
pub struct Space(Place);

#[derive(Debug)]
enum Place {
    /// In the endpoint's staging place, of which there is one.
    Inline(usize),
    Payload(Loan),
    /// Lent or given back.
    Spent,
}

impl Space {
    /// No space: what is left after publishing.
    pub const fn none() -> Self {
        Self(Place::Spent)
    }

    /// Its length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Place::Inline(len) => *len,
            Place::Payload(loan) => loan.len,
            Place::Spent => 0,
        }
    }

    /// Whether it has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
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

    /// What payload segments take now.
    pub fn payload_memory(&self) -> PayloadMemory {
        PayloadMemory {
            own: self.lender.segments.total() as u64,
            own_added: self.lender.segments.next_number(),
            peers: self.borrower.total(),
            peers_added: self.borrower.added(),
        }
    }

    // ---- sending ----

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

    #[inline(never)]
    fn reserve_payload(&mut self, len: usize) -> Result<Space, ReserveError> {
        let cap = self.lender.segments.cap();
        if len > cap {
            return Err(ReserveError::TooLarge { len, cap });
        }
        let loan = match self.lender.take(len) {
            Some(loan) => loan,
            None => self.reserve_anew(len)?,
        };
        if len >= STREAM_FROM {
            self.distance.look(&self.peer);
        }
        if len <= PREFETCHED_UP_TO {
            claim_lines(self.lender.bytes_mut(&loan));
        }
        Ok(Space(Place::Payload(loan)))
    }

    /// The way when the space known to be free does not suffice: look what was released, else grow.
    #[cold]
    fn reserve_anew(&mut self, len: usize) -> Result<Loan, ReserveError> {
        self.lender.collect();
        if let Some(loan) = self.lender.take(len) {
            return Ok(loan);
        }
        if self.lender.has_numbers()
            && self.grow(len)?
            && let Some(loan) = self.lender.take(len)
        {
            return Ok(loan);
        }
        self.counters.add(Counter::NoMemory, 1);
        Err(ReserveError::NoMemory { len, shortage: self.shortage(len) })
    }

    /// Why space for `len` bytes could not be taken.
    fn shortage(&self, len: usize) -> Shortage {
        let segments = &self.lender.segments;
        if !self.lender.has_numbers() {
            Shortage::Numbers(self.lender.numbers())
        } else if !segments.can_make_room(len) {
            Shortage::Cap { taken: segments.taken(), cap: segments.cap() }
        } else if segments.are_all() && segments.spare().is_none() {
            Shortage::Segments(MOST_SEGMENTS)
        } else {
            Shortage::Progress
        }
    }

    /// Adds a segment that holds `len` bytes, dropping wholly free ones if the cap asks for it. False if there is no room now.
    fn grow(&mut self, len: usize) -> Result<bool, ReserveError> {
        self.rings.producer.refresh()?;
        if !self.lender.segments.can_make_room(len) {
            return Ok(false);
        }
        while self.lender.segments.growth(len).is_none() {
            // The largest first: each of them is too small, and so the fewest go.
            let Some(number) = self.lender.segments.spare() else { return Ok(false) };
            if !self.retire(number)? {
                return Ok(false);
            }
        }
        match self.lender.segments.growth(len) {
            Some(size) => self.add_segment(size),
            None => Ok(false),
        }
    }

    /// Adds a segment; false if the peer has to consume more first.
    fn add_segment(&mut self, size: usize) -> Result<bool, ReserveError> {
        if !self.has_slot_for_segment() {
            return Ok(false);
        }
        let (mapping, fd) = segment::create(size)?;
        self.doorbell.send_segment(fd.as_fd())?;
        let size = (size as u64).to_le_bytes();
        let announced =
            self.announce(Kind::SegmentAdd, self.lender.segments.next_number(), &size)?;
        assert!(announced, "a spare slot was seen, and only this side fills slots");
        self.lender.segments.add(mapping);
        self.count_segments();
        Ok(true)
    }

    /// Drops a wholly free segment; false if the peer has to consume more first.
    fn retire(&mut self, number: u32) -> Result<bool, Violation> {
        let consumed = self.rings.producer.known_consumed();
        if !self.lender.segments.may_retire(number, consumed)
            || !self.announce(Kind::SegmentRetire, number, &[])?
        {
            return Ok(false);
        }
        self.lender.segments.retire(number, self.rings.producer.published());
        self.count_segments();
        Ok(true)
    }

    fn count_segments(&self) {
        let segments = &self.lender.segments;
        self.counters.set(Counter::SegmentBytes, segments.total() as u64);
        self.counters.set(Counter::SegmentsAdded, u64::from(segments.next_number()));
    }

    /// Looks now and then for segments that traffic no longer needs.
    #[cold]
    fn tidy_now_and_then(&mut self) -> Result<(), SocketError> {
        self.flushes_since_look += 1;
        if self.flushes_since_look < FLUSHES_PER_LOOK { Ok(()) } else { self.tidy() }
    }

    /// Drops segments that traffic has not needed for a while, if it is time to look.
    fn tidy(&mut self) -> Result<(), SocketError> {
        self.flushes_since_look = 0;
        let now = clock::ticks();
        if now.wrapping_sub(self.looked_at_segments) < self.window {
            return Ok(());
        }
        self.looked_at_segments = now;
        self.lender.collect();
        self.lender.segments.age();
        self.rings.producer.refresh()?;
        // Any other failure can wait for the next look: this is only to save memory.
        if let Some(size) = self.lender.segments.modest_growth()
            && let Err(ReserveError::Socket(error)) = self.add_segment(size)
        {
            return Err(error);
        }
        while let Some(number) = self.lender.segments.unneeded() {
            if !self.retire(number)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether an entry about segments may take a slot: a quarter of the ring at most holds such. Messages in flight take half of it, and what the peer has consumed
    /// without saying so a quarter, so replies always have a slot.
    fn has_slot_for_segment(&mut self) -> bool {
        let producer = &self.rings.producer;
        let consumed = producer.known_consumed();
        while self.segment_entries.front().is_some_and(|&position| position < consumed) {
            self.segment_entries.pop_front();
        }
        (self.segment_entries.len() as u64) < producer.capacity() / 4 && producer.known_space() > 0
    }

    /// Publishes an entry about segments; false if the ring has no slot for it.
    fn announce(&mut self, kind: Kind, tag: u32, body: &[u8]) -> Result<bool, Violation> {
        if !self.has_slot_for_segment() {
            return Ok(false);
        }
        let position = self.rings.producer.published();
        match self.rings.producer.publish(Head::of_session(kind, tag), 0, body) {
            Ok(()) => {
                self.segment_entries.push_back(position);
                Ok(true)
            }
            Err(PublishFailure::Full) => Ok(false),
            Err(PublishFailure::Violation(violation)) => Err(violation),
        }
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

    // ---- receiving ----

    /// Whether the next entry is committed.
    #[inline(always)]
    pub fn ready(&self) -> Result<bool, Violation> {
        self.rings.consumer.ready()
    }

    /// Takes the next entry, if one is committed; it stays the current one until [`Self::finish`]. An entry about a segment is dealt with here, one a call (a peer
    /// may send any number of them); then this says false although more may be there.
    #[inline(always)]
    pub fn take(&mut self) -> Result<bool, SocketError> {
        if self.has_entry {
            return Ok(true);
        }
        if !self.origin.is_here() {
            return Err(SocketError::Forked);
        }
        if !self.rings.consumer.peek(&mut self.entry)? {
            return Ok(false);
        }
        if let Some(lend) = self.entry.released() {
            self.lender.released(lend)?;
        }
        if self.entry.kind_number() != Kind::Message as u8 {
            return self.take_session_entry();
        }
        if self.entry.flag_bits() & Flags::LENT.bits() != 0 {
            self.borrowed = Some(self.borrower.borrow(&self.entry)?);
        }
        self.has_entry = true;
        Ok(true)
    }

    /// Deals with an entry about segments; true for others, which become the current one.
    fn take_session_entry(&mut self) -> Result<bool, SocketError> {
        let number = self.entry.kind_number();
        match Kind::from_number(number) {
            Some(Kind::SegmentAdd) => {
                self.borrower.check_len(&self.entry, 8)?;
                let fd = self.doorbell.take_segment()?;
                self.borrower.add(self.entry.tag(), self.entry.body_word(0), fd)?;
            }
            Some(Kind::SegmentRetire) => {
                self.borrower.check_len(&self.entry, 0)?;
                self.borrower.retire(self.entry.tag())?;
            }
            Some(Kind::Cancel | Kind::Shutdown) => {
                self.has_entry = true;
                return Ok(true);
            }
            _ => return Err(Violation::Kind(number).into()),
        }
        self.has_entry = true;
        self.finish()?;
        Ok(false)
    }

    /// The current entry.
    #[inline]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Whether an entry was taken and not finished.
    #[inline]
    pub fn has_entry(&self) -> bool {
        self.has_entry
    }

    /// The current entry's body: a private copy if it came inline, else the peer's memory.
    #[inline]
    pub fn body(&self) -> ForeignBytes<'_> {
        body(&self.borrower, self.borrowed.as_ref(), &self.entry, self.trusted)
    }

    /// Releases the current entry's payload ahead of [`Self::finish`], so that the next publication tells it.
    #[inline(always)]
    pub fn release_body(&mut self) {
        if let Some(borrowed) = self.borrowed.take() {
            self.borrower.release(borrowed.lend);
        }
    }

    /// Consumes the current entry and releases its payload; does nothing without one.
    #[inline(always)]
    pub fn finish(&mut self) -> Result<(), SocketError> {
        if !self.has_entry {
            return Ok(());
        }
        if !self.origin.is_here() {
            return Err(SocketError::Forked);
        }
        self.release_body();
        self.has_entry = false;
        if self.rings.consumer.advance() { self.flush() } else { Ok(()) }
    }

    // ---- waiting ----

    /// The session socket, to be watched by a [`Sleeper`](crate::Sleeper). Nobody else may read or write it.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.doorbell.as_fd()
    }

    /// Whether what is wanted has come.
    #[inline(always)]
    pub fn has(&mut self, want: Want) -> Result<bool, Violation> {
        self.rings.has(want)
    }

    /// Announces that this side is about to sleep until what is wanted comes, and looks once more. True if it has not come: then a doorbell
    /// byte will arrive on the socket when it does. A second call for another want may read the byte that the first one left: ask [`Self::has`] for the first again.
    pub fn prepare_sleep(&mut self, want: Want) -> Result<bool, SocketError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked);
        }
        self.borrower.settle();
        if self.lender.segments.have_grown() {
            self.tidy()?;
        }
        self.note_cpu();
        let due = self.rings.announce(want);
        self.ring_if(due)?;
        // Counted before the look: an intent that was not slept on may leave a byte as well.
        self.intents_since_drain += 1;
        if self.intents_since_drain >= INTENTS_PER_DRAIN {
            self.drain()?;
        }
        if self.has(want)? || self.is_closed() {
            return Ok(false);
        }
        self.counters.add(Counter::Sleeps, 1);
        Ok(true)
    }

    /// Sleeps until the doorbell rings or the peer goes: one system call without a timeout, two with one. May return early. [`Self::prepare_sleep`] comes first.
    pub fn sleep(&mut self, timeout: Option<Duration>) -> Result<(), SocketError> {
        self.intents_since_drain = 0;
        match timeout {
            None => self.doorbell.sleep(),
            Some(timeout) => self.doorbell.sleep_for(timeout),
        }
    }

    /// Reads the socket empty and notes whether the peer is gone.
    pub fn drain(&mut self) -> Result<(), SocketError> {
        self.intents_since_drain = 0;
        self.doorbell.drain()
    }

    /// Whether the peer's end of file was seen. Entries committed before it can still be taken.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.doorbell.is_closed()
    }

    /// Notes that the peer is gone, as a hang-up or [`exit_descriptor`](crate::exit_descriptor) told. What it committed before can still be taken.
    pub fn peer_gone(&mut self) -> Result<(), SocketError> {
        self.drain()?;
        self.doorbell.peer_gone();
        Ok(())
    }

    /// Tells the peer on which CPU this side runs.
    pub fn note_cpu(&self) {
        let now = cpu::current() as u64 + 1;
        let word = self.own.word(CPU_AT);
        if word.load(Ordering::Relaxed) != now {
            word.store(now, Ordering::Relaxed);
        }
    }

    /// Whether the peer last waited on the CPU that this thread runs on: then it cannot answer while we spin. A lie costs one bounded spin.
    pub fn shares_cpu(&self) -> bool {
        self.peer.load(CPU_AT) == cpu::current() as u64 + 1
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if self.origin.is_here() {
            self.doorbell.shut_down();
        }
    }
}

/// Large payloads for a distant peer are written past the caches, however small the pieces they are written in.
#[inline]
fn fill(space: &mut [u8], offset: usize, bytes: ForeignBytes<'_>, far: bool) {
    let size = space.len();
    let to = &mut space[offset..][..bytes.len()];
    if far && size >= STREAM_FROM {
        bytes.stream_to(to);
    } else if size > PREFETCHED_UP_TO {
        claim_and_copy(to, |at, piece| bytes.slice(at..at + piece.len()).copy_to(piece));
    } else {
        bytes.copy_to(to);
    }
}

#[inline]
fn body<'a>(
    borrower: &'a Borrower,
    borrowed: Option<&Borrowed>,
    entry: &'a Entry,
    trusted: bool,
) -> ForeignBytes<'a> {
    match borrowed {
        Some(borrowed) => borrower.bytes(borrowed, trusted),
        None => ForeignBytes::stable(entry.inline()),
    }
}
