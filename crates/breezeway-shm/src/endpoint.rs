//! One process's end of a session: what it writes, what it reads, and how both wake each other.

mod error;
mod message;
mod owned;
mod payload;
mod receiving;
mod sending;
mod space;
mod waiting;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Waker;

use crate::control::{ControlSegment, ForeignControl};
use crate::counters::Counters;
use crate::doorbell::Doorbell;
use crate::payload::accounts::Accounts;
use crate::payload::borrower::{Borrowed, Borrower};
use crate::payload::lender::Lender;
use crate::payload::returned::Returned;
use crate::payload::segments::Segments;
use crate::payload::staging::Staging;
use crate::ring::words::{ForeignWords, OwnWords};
use crate::ring::{Duplex, Entry};
use crate::statistics::{Field, HandlerTimes, Meter, Record};
use crate::violation::Violation;
use breezeway_os::{Distance, MemoryAccount, Notifier, Origin, TrustedPeer, clock};

pub use error::SendError;
pub use message::Message;
pub use owned::OwnedSpace;
pub use payload::{FirstSegment, Limits, PayloadMemory};
pub use space::{Body, Filling, Space};

use message::Releaser;
use payload::Pieces;
use space::EndpointId;

/// One process's end of a session. `Send`; one thread at a time uses it.
pub struct Endpoint {
    id: EndpointId,
    /// Dropped first: the peer sees the end before memory is given back.
    doorbell: Doorbell,
    origin: Origin,
    own: OwnWords,
    peer: ForeignWords,
    rings: Duplex,
    lender: Lender,
    borrower: Borrower,
    /// How leases end, also after this endpoint.
    releaser: Arc<Releaser>,
    /// Where space that was reserved to be filled elsewhere comes back if it is not sent.
    returned: Arc<Returned>,
    /// How much of that is there.
    reserved_elsewhere: usize,
    /// Whom to wake for it, where that is not this side's own sleep.
    return_waker: Option<Waker>,
    /// What wakes this side's own sleep, once there was one for it.
    return_notifier: Option<Arc<Notifier>>,
    /// Whether the sleep that is prepared is to be woken by it.
    sleeps_for_return: bool,
    counters: Counters,
    meter: Meter,
    /// To whom its segments are handed out.
    memory: MemoryAccount,
    distance: Distance,
    trusted: bool,
    /// Set while the socket may hold bytes that no event will report again.
    unread: bool,
    flushes_since_check: u32,
    /// Entries about segments that the peer is not known to have consumed, with their positions.
    segment_entries: VecDeque<(u64, u8)>,
    /// How a segment is made that has to be added now.
    pieces: Pieces,
    /// When the segments in use were last checked, in clock ticks.
    checked_segments: u64,
    /// Ticks between two such checks at least.
    window: u64,
    /// What the peer had consumed when [`Self::check_peer`] was last called.
    checked_consumed: u64,
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
        let (cap, most) = (bytes(limits.cap), bytes(limits.segment_cap));
        let first = bytes(limits.first_segment.min(limits.cap));
        let segments = Segments::new(first, cap).keeping(most - cap);
        let capacities = [own.capacity, peer.capacity];
        let lends = peer.lend_count as usize;
        let rings = Duplex::new(&own.words, &peer.words, capacities, peer.lend_count);
        let doorbell = Doorbell::new(socket, limits.segment_cap);
        Self {
            id: EndpointId::next(),
            origin: Origin::here(),
            lender: Lender::new(peer.lend_count, segments, Accounts::new(cap, most - cap, lends)),
            borrower: Borrower::new(own.lend_count, limits.segment_cap, limits.cap),
            releaser: Arc::new(Releaser::new(&rings.releases, doorbell.bell())),
            rings,
            returned: Arc::default(),
            reserved_elsewhere: 0,
            return_waker: None,
            return_notifier: None,
            sleeps_for_return: false,
            doorbell,
            counters: Counters::new(own.words.clone()),
            meter: Meter::unlisted(),
            memory: MemoryAccount::default(),
            distance: Distance::default(),
            own: own.words,
            peer: peer.words,
            trusted: false,
            unread: false,
            flushes_since_check: 0,
            segment_entries: VecDeque::new(),
            pieces: Pieces::None,
            checked_segments: 0,
            window: clock::ticks_in(limits.shrink_after),
            checked_consumed: 0,
            has_entry: false,
            borrowed: None,
            staging: Staging::new(),
            entry: Entry::default(),
        }
    }

    /// From now on its numbers are kept there.
    pub fn set_meter(&mut self, meter: Meter) {
        meter.set(Field::OwnControl, self.own.address());
        meter.set(Field::PeerControl, self.peer.address());
        self.meter = meter;
    }

    /// From now on its segments count on this account.
    pub fn set_memory_account(&mut self, account: MemoryAccount) {
        self.memory = account;
    }

    /// Its numbers.
    #[inline(always)]
    pub fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Where its handlers are noted.
    pub fn handler_times(&self) -> Option<HandlerTimes> {
        self.meter.handler_times()
    }

    /// What it has counted so far.
    pub fn stats(&self) -> Record {
        self.meter.record()
    }

    /// From now on lent payload is given as slices.
    pub fn trust(&mut self, _proof: TrustedPeer) {
        self.trusted = true;
    }

    /// The largest message that can be sent.
    pub fn cap(&self) -> usize {
        self.lender.accounts.cap()
    }

    /// Entries published so far.
    pub fn published(&self) -> u64 {
        self.rings.producer.published()
    }

    /// Entries that the peer has consumed, as far as is known since [`Self::refresh`].
    pub fn known_consumed(&self) -> u64 {
        self.rings.producer.known_consumed()
    }

    /// Reads how far the peer has consumed. What it released by then is visible afterwards.
    pub fn refresh(&mut self) -> Result<(), Violation> {
        self.rings.producer.refresh()
    }
}
