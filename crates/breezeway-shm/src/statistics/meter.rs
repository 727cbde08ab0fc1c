//! The record of one session, which its owner writes.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use breezeway_os::{Origin, Peer, WaitPolicy, clock};

use super::fields::{Field, Identity, RECORD_WORDS};
use super::lifetime;
use super::registry::{Registry, Words};
use super::snapshot::{Record, Role, Totals, WaitsFor};
use super::table::Table;
use super::times::HandlerTimes;
use crate::ring::layout;

/// Properties of a session that are known from its start.
#[derive(Clone, Debug)]
pub struct Description {
    /// The end of the session that this side is.
    pub role: Role,
    /// The carrier: 1 shared memory, 2 a unix socket, 3 TCP.
    pub carrier: u8,
    /// The wait policy.
    pub policy: WaitPolicy,
    /// True if threads or tasks share the session.
    pub shared: bool,
    /// The peer; `None` for a worker.
    pub peer: Option<Peer>,
    /// The most payload bytes per direction.
    pub cap: u64,
    /// Entries of the own ring and of the peer's.
    pub rings: [u32; 2],
    /// The most calls in flight.
    pub max_in_flight: u64,
}

impl Description {
    /// Returns the description of a thread that serves sessions.
    pub fn of_worker(policy: WaitPolicy) -> Self {
        let (role, peer) = (Role::Worker, None);
        Self {
            role,
            carrier: 0,
            policy,
            shared: false,
            peer,
            cap: 0,
            rings: [0; 2],
            max_in_flight: 0,
        }
    }

    /// Returns the words of the first line behind the session's number.
    fn words(&self, since: u64) -> [(Identity, u64); 6] {
        let policy = match self.policy {
            WaitPolicy::Busy => 1,
            WaitPolicy::Park => 2,
            WaitPolicy::Adaptive => 3,
        };
        let kind = [self.role as u8, self.carrier, policy, u8::from(self.shared), 0, 0, 0, 0];
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let pid = self.peer.as_ref().and_then(|peer| peer.pid).unwrap_or(0);
        let uid = self.peer.as_ref().and_then(|peer| peer.uid).unwrap_or(u32::MAX);
        [
            (Identity::Kind, u64::from_le_bytes(kind)),
            (Identity::Peer, pair(pid, uid)),
            (Identity::Since, since),
            (Identity::Cap, self.cap),
            (Identity::Rings, pair(self.rings[0], self.rings[1])),
            (Identity::MaxInFlight, self.max_in_flight),
        ]
    }
}

/// Location of a record.
enum Place {
    /// In the process's table.
    Table(&'static Table, usize),
    /// In private memory: the table is full, or there is none. Not a box, which would claim to be
    /// the only access to its memory.
    Private(Arc<[AtomicU64; RECORD_WORDS]>, Option<&'static Table>),
}

impl Place {
    fn private(full: Option<&'static Table>) -> Self {
        Self::Private(Arc::new([const { AtomicU64::new(0) }; RECORD_WORDS]), full)
    }
}

/// The numbers of one session. One thread at a time writes them.
pub struct Meter {
    /// The record's first word.
    words: *const AtomicU64,
    place: Place,
    /// True if a wait is noted that a message ends.
    waits: bool,
    /// Registry of the server that the session belongs to.
    registry: OnceLock<Arc<Registry>>,
    role: Role,
    origin: Origin,
}

// SAFETY: `words` points to atomics which live as long as `place`: in the table, which is never
// freed, or in memory that `place` keeps and that does not move.
unsafe impl Send for Meter {}
// SAFETY: `&Meter` only loads and stores atomics, through `words`, which lives as long as `place`.
unsafe impl Sync for Meter {}

impl fmt::Debug for Meter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Meter").finish_non_exhaustive()
    }
}

/// Class that an entry is counted in, as distance from the first word of its direction.
const CALL: usize = 0;
const POST: usize = 1;
const STREAM: usize = 2;
const MESSAGE: usize = 3;
const END: usize = 4;
const ERROR: usize = 5;
const CONTROL: usize = 6;
const BYTES: usize = 7;

/// Class of a message by its flags.
static CLASS: [u8; 256] = {
    let mut classes = [0; 256];
    let mut flags = 0;
    while flags < 256 {
        classes[flags] = class_of(flags as u8) as u8;
        flags += 1;
    }
    classes
};

/// Kinds and flags by which an entry is counted (`docs/abi.md`, section 4.1).
mod counted {
    pub(super) const RESET: u8 = 2;
    pub(super) const OPEN: u8 = 0x01;
    pub(super) const FIN: u8 = 0x02;
    pub(super) const ERROR: u8 = 0x08;
    pub(super) const NO_REPLY: u8 = 0x10;
    pub(super) const STREAM: u8 = 0x80;
}

const fn class_of(flags: u8) -> usize {
    if flags & counted::ERROR != 0 {
        ERROR
    } else if flags & counted::OPEN == 0 {
        if flags & counted::FIN != 0 { END } else { MESSAGE }
    } else if flags & counted::STREAM != 0 {
        STREAM
    } else if flags & counted::NO_REPLY != 0 {
        POST
    } else {
        CALL
    }
}

#[inline(always)]
fn class(kind: u8, flags: u8) -> usize {
    if kind == layout::MESSAGE {
        // The mask lets the compiler omit the bounds check.
        usize::from(CLASS[usize::from(flags)]) & BYTES
    } else if kind == counted::RESET {
        ERROR
    } else {
        CONTROL
    }
}

impl Meter {
    /// Takes a record in the process's statistics, or private memory if none is free.
    pub fn new(description: &Description) -> Self {
        let place = match Table::of_this_process().map(|table| (table, table.take())) {
            Some((table, Some(index))) => Place::Table(table, index),
            full => Place::private(full.map(|(table, _)| table)),
        };
        let meter = Self::at(place, description.role);
        meter.describe(description);
        meter
    }

    /// Creates a meter in private memory, for an endpoint without a description. Every meter has a
    /// role; this one gets a client's.
    pub(crate) fn unlisted() -> Self {
        let meter = Self::at(Place::private(None), Role::Client);
        meter.word(Identity::Kind as usize).store(Role::Client as u64, Ordering::Relaxed);
        meter
    }

    fn at(place: Place, role: Role) -> Self {
        let words = match &place {
            Place::Table(table, index) => table.record(*index).as_ptr(),
            Place::Private(words, _) => words.as_ptr(),
        };
        Self { words, place, waits: false, registry: OnceLock::new(), role, origin: Origin::here() }
    }

    fn describe(&self, description: &Description) {
        lifetime::describe(self.word(Identity::Sequence as usize), || {
            // Only if there are some: otherwise their page is a hole, which must stay one.
            if let Place::Table(table, index) = self.place
                && self.word(Field::Timed.word()).load(Ordering::Relaxed) != 0
            {
                table.times(index).iter().for_each(|word| word.store(0, Ordering::Relaxed));
            }
            for index in 1..RECORD_WORDS {
                self.word(index).store(0, Ordering::Relaxed);
            }
            self.word(Identity::Number as usize).store(next_number(), Ordering::Relaxed);
            for (field, value) in description.words(clock::since_boot()) {
                self.word(field as usize).store(value, Ordering::Relaxed);
            }
        });
    }

    #[inline(always)]
    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < RECORD_WORDS, "word outside its record");
        // SAFETY: `words` is the first of RECORD_WORDS atomics, and the assertion above bounds the
        // index. `place`, a field of `self`, keeps them alive.
        unsafe { &*self.words.add(index) }
    }

    /// Adds `amount` to a number.
    #[inline(always)]
    pub fn add(&self, field: Field, amount: u64) {
        self.add_to(field.word(), amount);
    }

    #[inline(always)]
    fn add_to(&self, index: usize, amount: u64) {
        let word = self.word(index);
        word.store(word.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    /// Sets a number.
    #[inline(always)]
    pub fn set(&self, field: Field, value: u64) {
        self.word(field.word()).store(value, Ordering::Relaxed);
    }

    /// Counts an entry that was sent.
    #[inline(always)]
    pub fn sent(&self, kind: u8, flags: u8, bytes: usize) {
        self.count(Field::CallsSent, kind, flags, bytes);
    }

    /// Counts an entry that was taken, which ends a wait for it.
    #[inline(always)]
    pub fn received(&mut self, kind: u8, flags: u8, bytes: usize) {
        self.count(Field::CallsReceived, kind, flags, bytes);
        if self.waits {
            self.waited();
        }
    }

    #[inline(always)]
    fn count(&self, first: Field, kind: u8, flags: u8, bytes: usize) {
        self.add_to(first.word() + class(kind, flags), 1);
        if kind == layout::MESSAGE {
            self.add_to(first.word() + BYTES, bytes as u64);
        }
    }

    /// Returns true in the process that owns the record: a forked child has no table of its
    /// parent's.
    fn is_here(&self) -> bool {
        self.origin.is_here()
    }

    /// Returns the handle that records handler times; `None` if the session has no record in the
    /// table.
    pub fn handler_times(&self) -> Option<HandlerTimes> {
        match self.place {
            Place::Table(table, index) => {
                Some(HandlerTimes::new(table.record(index), table.times(index), self.origin))
            }
            Place::Private(..) => None,
        }
    }

    /// Adds the session to a server's registry, which reads it from other threads. A session
    /// belongs to one server.
    pub fn join(&self, registry: &Arc<Registry>) {
        self.registry.get_or_init(|| {
            registry.join(&self.record(), Words { first: self.words, origin: self.origin });
            Arc::clone(registry)
        });
    }

    /// Notes that this side sleeps, until [`Self::waited`] or the next entry that is taken.
    #[cold]
    pub fn sleeps(&mut self, what: WaitsFor) {
        if self.is_here() {
            self.add(Field::Slept, 1);
            self.waits(what);
        }
    }

    /// Notes that this side waits, until [`Self::waited`] or the next entry that is taken.
    #[cold]
    pub fn waits(&mut self, what: WaitsFor) {
        if !self.is_here() {
            return;
        }
        self.waits = true;
        self.set(Field::WaitsSince, clock::since_boot());
        self.set(Field::WaitsFor, what as u64);
    }

    /// Notes that the wait is over.
    #[cold]
    pub fn waited(&mut self) {
        if !std::mem::take(&mut self.waits) || !self.is_here() {
            return;
        }
        self.set(Field::WaitsFor, 0);
        self.set(Field::WaitsSince, 0);
    }

    /// Notes the number of open streams, and of arrivals that were not taken up. May be called in a
    /// forked child.
    pub fn holds(&self, streams: usize, arrivals: usize) {
        if self.is_here() {
            self.set(Field::Streams, streams as u64);
            self.set(Field::Arrivals, arrivals as u64);
        }
    }

    /// Returns a snapshot of the record: in a forked child only the role.
    pub fn record(&self) -> Record {
        if !self.is_here() {
            let role = self.role as u64;
            return Record::read(|index| if index == Identity::Kind as usize { role } else { 0 });
        }
        Record::read(|index| self.word(index).load(Ordering::Relaxed))
    }

    /// Returns the current numbers.
    pub fn totals(&self) -> Totals {
        self.record().totals
    }
}

/// Returns a session number that is unique in this process.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // Relaxed: only the number itself is shared.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Drop for Meter {
    fn drop(&mut self) {
        if !self.is_here() {
            return;
        }
        if let Some(registry) = self.registry.take() {
            registry.leave(&self.record());
        }
        match self.place {
            Place::Table(table, index) => {
                let sequence = self.word(Identity::Sequence as usize);
                table.ends(self.role, &self.totals(), || lifetime::end(sequence));
                table.give_back(index);
            }
            Place::Private(_, Some(table)) => table.ends(self.role, &self.totals(), || ()),
            Place::Private(_, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::table::{Sums, sums_of_this_process};
    use super::*;

    fn workers() -> Sums {
        sums_of_this_process().into_iter().find(|sums| sums.role == Role::Worker).unwrap()
    }

    #[test]
    fn session_ending_during_a_sum_counts_once() {
        const SESSIONS: u64 = 2_000;
        // No other test lets a worker wait that long.
        const MARK: u64 = 1 << 40;
        let before = workers().totals.spin_time >> 40;
        let (begun, over) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..SESSIONS {
                    let meter = Meter::new(&Description::of_worker(WaitPolicy::Park));
                    meter.add(Field::SpinTime, MARK);
                    begun.fetch_add(1, Ordering::Release);
                }
                over.store(true, Ordering::Release);
            });
            while !over.load(Ordering::Acquire) {
                let least = begun.load(Ordering::Acquire);
                let summed = (workers().totals.spin_time >> 40) - before;
                // One more may have begun to count.
                let most = begun.load(Ordering::Acquire) + 1;
                assert!((least..=most).contains(&summed), "{summed} of {least} to {most}");
            }
        });
        assert_eq!((workers().totals.spin_time >> 40) - before, SESSIONS);
    }

    #[test]
    fn live_meters_are_counted_by_role_and_wait() {
        let (before, mut meter) =
            (workers(), Meter::new(&Description::of_worker(WaitPolicy::Park)));
        meter.set(Field::Unwritten, 7 << 40);
        meter.sleeps(WaitsFor::Memory);
        let now = workers();
        // Other tests have workers of their own.
        assert!(now.live >= 1 && now.opened > before.opened && now.waiting[2] >= 1, "{now:?}");
        assert_eq!((now.totals.unwritten - before.totals.unwritten) >> 40, 7);
        assert_eq!((now.totals.waits_for, now.totals.waits_since), (0, 0));
        drop(meter);
        let after = workers();
        assert_eq!(after.totals.unwritten >> 40, before.totals.unwritten >> 40, "no longer held");
        assert!(after.opened >= now.opened);
        assert!(after.totals.slept > before.totals.slept, "the count stays");
    }
}
