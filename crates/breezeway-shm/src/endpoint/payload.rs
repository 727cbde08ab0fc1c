//! Adding, announcing and retiring an endpoint's payload segments.

use std::ops::RangeInclusive;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use super::Endpoint;
use super::error::SendError;
use crate::doorbell::SocketError;
use crate::payload::accounts::Account;
use crate::payload::lender::Loan;
use crate::payload::placement::{self, FLUSHES_PER_CHECK, PAGE};
use crate::payload::segments::pages;
use crate::payload::shortage::Shortage;
use crate::ring::layout::{
    CONSUMED_AT, MAX_PENDING_SEGMENTS, MAX_SEGMENTS, SEGMENT_ADD, SEGMENT_RETIRE,
};
use crate::ring::{Head, PublishFailure, Want};
use crate::statistics::Field;
use crate::violation::Violation;
use breezeway_os::copy::{PREFETCHED_UP_TO, claim_lines};
use breezeway_os::segment::{self, Mapping, SegmentError, Unfinished};
use breezeway_os::{MemoryAccount, clock};

/// Limits of a session's payload memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest message, as both hellos agreed.
    pub cap: u64,
    /// Maximum bytes of payload segments per direction at any time: the cap plus the memory
    /// [reserved for streams](Endpoint::keep_for_streams).
    pub segment_cap: u64,
    /// Size of this side's first payload segment in bytes, unless a message needs more. Rounded up
    /// to whole pages, and limited by the cap.
    pub first_segment: u64,
    /// Time after which a payload segment that traffic has not needed is given back. The largest
    /// free segment is kept ten times as long.
    pub shrink_after: Duration,
}

impl Limits {
    /// Default size of the first segment: 64 KiB.
    pub const FIRST_SEGMENT: u64 = placement::FIRST_SEGMENT;
    /// Default time before a segment is given back: 1 s.
    pub const SHRINK_AFTER: Duration = placement::WINDOW;

    /// Returns limits with this cap, no reserve for streams, and defaults for the rest.
    pub const fn new(cap: u64) -> Self {
        Self {
            cap,
            segment_cap: cap,
            first_segment: Self::FIRST_SEGMENT,
            shrink_after: Self::SHRINK_AFTER,
        }
    }
}

/// Memory that a session's payload segments take now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PayloadMemory {
    /// Bytes of this side's segments.
    pub own: u64,
    /// Segments that this side has added so far.
    pub own_added: u32,
    /// Bytes of the peer's segments.
    pub peers: u64,
    /// Segments that the peer has added so far, up to the last entry taken here.
    pub peers_added: u32,
}

/// A payload segment created before its session exists. It was not sent to any peer.
#[derive(Debug)]
pub struct FirstSegment {
    mapping: Mapping,
    fd: OwnedFd,
}

impl FirstSegment {
    /// Creates a segment of `size` bytes, charged to `account`; larger, within the cap, if huge
    /// pages make that faster.
    ///
    /// # Errors
    ///
    /// Memory is short, or the account's limit is reached.
    pub fn create(size: u64, cap: u64, account: &MemoryAccount) -> Result<Self, SegmentError> {
        let most = usize::try_from(cap).unwrap_or(isize::MAX as usize) / PAGE * PAGE;
        let size = pages(usize::try_from(size).unwrap_or(most).min(most));
        let (mapping, fd) = segment::create_near(size, size..=most, account)?;
        Ok(Self { mapping, fd })
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.mapping.size()
    }
}

/// Mode of creating the next segment.
#[derive(Default)]
pub(super) enum Pieces {
    /// At once.
    #[default]
    None,
    /// In pieces: the next one extends this unfinished segment.
    One(Option<Unfinished>),
    /// The next piece was made, and more are missing.
    Made(Unfinished),
}

impl Endpoint {
    /// Reserves half of the lend numbers, and the memory beside the cap, for `streams` streams.
    /// Each of them can then send a message of its share while it holds nothing, regardless of the
    /// others.
    pub fn keep_for_streams(&mut self, streams: usize) {
        self.lender.accounts.keep_for(streams);
    }

    /// Sets the account that is charged for payload reserved from now on.
    pub fn set_account(&mut self, account: Account) {
        self.lender.account = account;
    }

    /// Returns the memory that payload segments take now.
    pub fn payload_memory(&self) -> PayloadMemory {
        PayloadMemory {
            own: self.lender.segments.total() as u64,
            own_added: self.lender.segments.next_number(),
            peers: self.borrower.total(),
            peers_added: self.borrower.added(),
        }
    }

    /// Returns the bytes that are reserved or lent. Takes back payload that the peer has released
    /// first if `are_many` returns true for the bytes known so far, except in a forked child.
    pub fn in_flight(&mut self, are_many: impl FnOnce(usize) -> bool) -> usize {
        if are_many(self.lender.segments.taken()) && self.origin.is_here() {
            self.collect();
        }
        self.lender.segments.taken()
    }

    /// Adds a first segment that was created before the session; drops it if the session's cap is
    /// smaller. The peer may map it before a message needs it.
    ///
    /// # Errors
    ///
    /// The socket failed, or does not accept the segment now. Then the first message creates
    /// another one.
    pub fn add_first_segment(&mut self, first: FirstSegment) -> Result<(), SendError> {
        let FirstSegment { mapping, fd } = first;
        let is_first = self.lender.segments.next_number() == 0;
        let fits = mapping.size() <= self.lender.segments.left();
        if is_first && fits && self.has_slot_for(SEGMENT_ADD) {
            self.hand_over(mapping, fd)?;
        }
        Ok(())
    }

    /// Rejects a message that can never fit.
    pub(super) fn check_len(&self, len: usize) -> Result<(), SendError> {
        let cap = self.cap();
        if len > cap { Err(SendError::TooLarge { len, cap }) } else { Ok(()) }
    }

    /// Takes payload memory for `len` bytes.
    #[inline(never)]
    pub(super) fn take_loan(&mut self, len: usize) -> Result<Loan, SendError> {
        self.check_len(len)?;
        let loan = match self.lender.take(len) {
            Some(loan) => loan,
            None => self.take_loan_anew(len)?,
        };
        self.lender.segments.placement.sample(len, || self.peer.load(CONSUMED_AT));
        if len <= PREFETCHED_UP_TO {
            claim_lines(self.lender.bytes_mut(&loan));
        }
        Ok(loan)
    }

    /// Slow path: the space known to be free does not suffice, or released space should be
    /// collected before more is taken. Collects, then grows.
    #[cold]
    fn take_loan_anew(&mut self, len: usize) -> Result<Loan, SendError> {
        self.collect();
        if let Some(loan) = self.lender.take(len) {
            return Ok(loan);
        }
        self.rings.producer.refresh()?;
        let consumed = self.rings.producer.known_consumed();
        self.collect();
        if let Some(loan) = self.lender.take(len) {
            return Ok(loan);
        }
        if self.lender.has_numbers() && self.lender.may_take(len) {
            let grown = self.grow(len);
            if grown.is_ok()
                && let Some(loan) = self.lender.take(len)
            {
                return Ok(loan);
            }
            // A piece that was made is not a shortage.
            if !matches!(self.pieces, Pieces::Made(_)) {
                self.meter.add(Field::NoMemory, 1);
            }
            grown?;
        } else {
            self.meter.add(Field::NoMemory, 1);
        }
        // The entries by which this attempt has dropped segments are pending too.
        let pending = self.rings.producer.published() > consumed
            || self.rings.lent.is_any()
            || self.reserved_elsewhere > 0;
        let until = pending.then_some(Want::Memory { consumed, back: self.rings.lent.back() });
        Err(SendError::NoMemory { len, shortage: self.shortage(len), until })
    }

    /// Takes back what the peer has released, and owned spaces that were not sent.
    fn collect(&mut self) {
        self.collect_returned();
        self.lender.collect(&mut self.rings.lent);
        self.note_lent();
    }

    /// Records the payload lent to the peer and the ring entries it is known to have consumed.
    pub(super) fn note_lent(&mut self) {
        if self.origin.is_here() {
            self.meter.set(Field::Lends, self.lender.lends() as u64);
            self.meter.set(Field::Lent, self.lender.segments.taken() as u64);
            self.meter.set(Field::Consumed, self.rings.producer.known_consumed());
        }
    }

    /// Returns the reason why space for `len` bytes could not be taken.
    fn shortage(&self, len: usize) -> Shortage {
        let segments = &self.lender.segments;
        if !self.lender.may_take(len) {
            return Shortage::Kept { held: self.lender.accounts.held(self.lender.account) };
        }
        if !self.lender.has_numbers() {
            Shortage::Numbers(self.lender.numbers())
        } else if !segments.can_make_room(len) {
            Shortage::Cap { taken: segments.taken(), cap: self.cap() }
        } else if segments.are_all() && segments.spare().is_none() {
            Shortage::Segments(MAX_SEGMENTS)
        } else {
            Shortage::Progress
        }
    }

    /// Adds a segment that holds `len` bytes, dropping wholly free segments if the cap requires it.
    /// Returns false if room is lacking now.
    fn grow(&mut self, len: usize) -> Result<bool, SendError> {
        self.rings.producer.refresh()?;
        if !self.lender.segments.can_make_room(len) {
            return Ok(false);
        }
        while self.lender.segments.growth(len).is_none() {
            // The largest first: each of them is too small, so this drops the fewest.
            let Some(number) = self.lender.segments.spare() else { return Ok(false) };
            if !self.retire(number)? {
                return Ok(false);
            }
        }
        let Some(size) = self.lender.segments.growth(len) else { return Ok(false) };
        let needed = pages(len);
        match self.add_segment(size, needed..=self.lender.segments.left()) {
            // The extra room is only for speed: if memory is short, a segment of the message's size
            // suffices.
            Err(SendError::Segment(error)) if error.is_shortage() && needed < size => {
                self.add_segment(needed, needed..=needed)
            }
            outcome => outcome,
        }
    }

    /// Adds a segment of about `size` bytes, within `bounds`. Returns false if the peer has to
    /// consume more first.
    fn add_segment(
        &mut self,
        size: usize,
        bounds: RangeInclusive<usize>,
    ) -> Result<bool, SendError> {
        if !self.has_slot_for(SEGMENT_ADD) {
            return Ok(false);
        }
        let made = match &mut self.pieces {
            Pieces::None => Some(segment::create_near(size, bounds, &self.memory)?),
            Pieces::One(begun) => {
                let begun = begun.take();
                self.make_piece(begun, size, bounds)?
            }
            Pieces::Made(_) => None,
        };
        let Some((mapping, fd)) = made else { return Ok(false) };
        self.hand_over(mapping, fd)?;
        Ok(true)
    }

    /// Makes the next piece of a segment of about `size` bytes, continuing `begun` unless its size
    /// is outside the bounds. Returns `None` if pieces are missing.
    fn make_piece(
        &mut self,
        begun: Option<Unfinished>,
        size: usize,
        bounds: RangeInclusive<usize>,
    ) -> Result<Option<(Mapping, OwnedFd)>, SegmentError> {
        let mut segment = match begun.filter(|segment| bounds.contains(&segment.size())) {
            Some(segment) => segment,
            None => Unfinished::begin(size, bounds, &self.memory)?,
        };
        if segment.go_on()? {
            return segment.finish().map(Some);
        }
        self.pieces = Pieces::Made(segment);
        Ok(None)
    }

    /// Sends a segment to the peer. The caller has checked that a ring slot for its announcement is
    /// free.
    fn hand_over(&mut self, mapping: Mapping, fd: OwnedFd) -> Result<(), SendError> {
        let size = mapping.size();
        self.doorbell.send_segment(fd.as_fd()).map_err(|source| {
            not_handed_over(SegmentError::Call { call: "sendmsg", size, source })
        })?;
        let size = (size as u64).to_le_bytes();
        let announced = self.announce(SEGMENT_ADD, self.lender.segments.next_number(), &size)?;
        assert!(announced, "a spare slot was seen, and only this side fills slots");
        self.lender.segments.add(mapping);
        self.meter.set(Field::OwnMemory, self.lender.segments.total() as u64);
        Ok(())
    }

    /// Drops a wholly free segment. Returns false if the peer has to consume more first.
    fn retire(&mut self, number: u32) -> Result<bool, Violation> {
        let consumed = self.rings.producer.known_consumed();
        if !self.lender.segments.may_retire(number, consumed)
            || !self.announce(SEGMENT_RETIRE, number, &[])?
        {
            return Ok(false);
        }
        self.lender.segments.retire(number, self.rings.producer.published());
        self.meter.set(Field::OwnMemory, self.lender.segments.total() as u64);
        Ok(true)
    }

    /// Checks at intervals for segments that traffic no longer needs.
    #[cold]
    pub(super) fn tidy_now_and_then(&mut self) -> Result<(), SocketError> {
        self.flushes_since_check += 1;
        if self.flushes_since_check < FLUSHES_PER_CHECK { Ok(()) } else { self.tidy() }
    }

    /// Drops segments that traffic no longer needs, if the check is due.
    pub(super) fn tidy(&mut self) -> Result<(), SocketError> {
        self.flushes_since_check = 0;
        let now = clock::ticks();
        if now.wrapping_sub(self.checked_segments) < self.window {
            return self.add_round();
        }
        self.checked_segments = now;
        self.collect();
        self.lender.segments.age();
        self.rings.producer.refresh()?;
        // Any other failure can wait for the next check: this only saves memory.
        if let Some(size) = self.lender.segments.modest_growth()
            && let Err(SendError::Socket(error)) = self.add_segment(size, size..=size)
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

    /// Adds a segment for messages to rotate through, if there are many messages.
    fn add_round(&mut self) -> Result<(), SocketError> {
        let Some(size) = self.lender.segments.round_growth() else { return Ok(()) };
        self.rings.producer.refresh()?;
        match self.add_segment(size, size..=size) {
            Err(SendError::Socket(error)) => Err(error),
            // A failure only costs speed.
            _ => Ok(()),
        }
    }

    /// Returns true if an entry about segments may take a slot: such entries take at most a quarter
    /// of the ring. Messages in flight take at most half, and entries whose consumption the peer
    /// has not published a quarter, so replies always have a slot. A new segment also waits until
    /// few enough others are pending.
    fn has_slot_for(&mut self, kind: u8) -> bool {
        let producer = &self.rings.producer;
        let consumed = producer.known_consumed();
        while self.segment_entries.front().is_some_and(|&(position, _)| position < consumed) {
            self.segment_entries.pop_front();
        }
        let added = || self.segment_entries.iter().filter(|(_, kind)| *kind == SEGMENT_ADD);
        (self.segment_entries.len() as u64) < producer.capacity() / 4
            && producer.known_space() > 0
            && (kind != SEGMENT_ADD || added().count() < MAX_PENDING_SEGMENTS)
    }

    /// Publishes an entry about segments. Returns false if the ring has no slot for it.
    fn announce(&mut self, kind: u8, tag: u32, body: &[u8]) -> Result<bool, Violation> {
        if !self.has_slot_for(kind) {
            return Ok(false);
        }
        let position = self.rings.producer.published();
        match self.rings.producer.publish(Head::of_session(kind, tag), 0, body) {
            Ok(()) => {
                self.segment_entries.push_back((position, kind));
                self.meter.sent(kind, 0, 0);
                Ok(true)
            }
            Err(PublishFailure::Full) => Ok(false),
            Err(PublishFailure::Violation(violation)) => Err(violation),
        }
    }
}

/// Converts the error of a segment that did not reach the peer: a shortage fails only the message.
fn not_handed_over(error: SegmentError) -> SendError {
    match error {
        SegmentError::Call { source, .. } if !error.is_shortage() => {
            SocketError::Call(source).into()
        }
        error => SendError::Segment(error),
    }
}
