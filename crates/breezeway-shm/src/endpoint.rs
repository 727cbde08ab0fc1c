//! One process's end of a session: sending, receiving, and waiting for the peer.

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

use crate::control::{ControlSegment, ForeignControl};
use crate::doorbell::Doorbell;
use crate::payload::accounts::Accounts;
use crate::payload::borrower::{Borrowed, Borrower};
use crate::payload::lender::Lender;
use crate::payload::returned::Returned;
use crate::payload::segments::Segments;
use crate::payload::staging::Staging;
use crate::ring::words::{ForeignWords, OwnWords};
use crate::ring::{Duplex, Entry};
use crate::statistics::{Field, Meter};
use crate::violation::Violation;
use breezeway_os::{MemoryAccount, Notifier, Origin, TrustedPeer, clock};

pub use error::SendError;
pub use message::Message;
pub use owned::OwnedSpace;
pub use payload::{FirstSegment, Limits, PayloadMemory};
pub use space::{Body, Filling, Space};

use message::Releaser;
use payload::Pieces;
use space::EndpointId;
use waiting::Unread;

/// One process's end of a session. `Send`; one thread at a time uses it.
pub struct Endpoint {
    id: EndpointId,
    /// Dropped first: the peer sees the end of file before memory is given back.
    doorbell: Doorbell,
    origin: Origin,
    own: OwnWords,
    peer: ForeignWords,
    rings: Duplex,
    lender: Lender,
    borrower: Borrower,
    /// Ends leases, also after this endpoint is dropped.
    releaser: Arc<Releaser>,
    /// Receives owned space that is dropped without being sent.
    returned: Arc<Returned>,
    /// Number of owned spaces that are neither sent nor returned.
    reserved_elsewhere: usize,
    /// Notifier for returned space during [`Self::sleep`], created by the first sleep that needs
    /// it.
    return_notifier: Option<Arc<Notifier>>,
    /// True if returned space must end the prepared sleep.
    sleeps_for_return: bool,
    meter: Meter,
    /// Account that this side's segments are charged to.
    memory: MemoryAccount,
    trusted: bool,
    /// Content of the socket that no event will report again.
    unread: Unread,
    flushes_since_check: u32,
    /// Entries about segments that the peer is not known to have consumed: position and kind.
    segment_entries: VecDeque<(u64, u8)>,
    /// Mode of creating the next segment: at once or in pieces.
    pieces: Pieces,
    /// Time of the last check of the segments in use, in clock ticks.
    checked_segments: u64,
    /// Minimum number of ticks between two such checks.
    window: u64,
    /// Entries that the peer had consumed at the last call of [`Self::check_peer`].
    checked_consumed: u64,
    /// True if `entry` was taken and not finished.
    has_entry: bool,
    borrowed: Option<Borrowed>,
    staging: Staging,
    entry: Entry,
}

impl Endpoint {
    /// Creates an endpoint from the segments and limits that the hello exchanged.
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
            return_notifier: None,
            sleeps_for_return: false,
            doorbell,
            meter: Meter::unlisted(),
            memory: MemoryAccount::default(),
            own: own.words,
            peer: peer.words,
            trusted: false,
            unread: Unread::Nothing,
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

    /// Records this session's numbers in `meter` from now on.
    pub fn set_meter(&mut self, meter: Meter) {
        meter.set(Field::OwnControl, self.own.address());
        meter.set(Field::PeerControl, self.peer.address());
        self.meter = meter;
    }

    /// Charges this side's segments to `account` from now on.
    pub fn set_memory_account(&mut self, account: MemoryAccount) {
        self.memory = account;
    }

    /// Returns the session's meter.
    #[inline(always)]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Returns the session's meter, to note waits.
    #[inline(always)]
    pub(crate) fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Returns lent payload as slices from now on.
    pub fn trust(&mut self, _proof: TrustedPeer) {
        self.trusted = true;
    }

    /// Returns the size of the largest message that can be sent.
    pub fn cap(&self) -> usize {
        self.lender.accounts.cap()
    }

    /// Returns the number of entries published so far.
    pub fn published(&self) -> u64 {
        self.rings.producer.published()
    }

    /// Returns the number of entries that the peer had consumed at the last [`Self::refresh`].
    pub fn known_consumed(&self) -> u64 {
        self.rings.producer.known_consumed()
    }

    /// Reads how far the peer has consumed. Its releases up to that point are visible afterwards.
    pub fn refresh(&mut self) -> Result<(), Violation> {
        self.rings.producer.refresh()
    }
}
