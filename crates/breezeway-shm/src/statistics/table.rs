//! The file in which a process keeps its records, and which of them are taken.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use breezeway_os::segment::{self, Mapping, SegmentError};
use breezeway_os::{Origin, clock};

use super::fields::{
    CAPACITY, HEADER_SIZE, Header, Identity, MAGIC, RECORD_SIZE, RECORD_WORDS, TIMES, TIMES_OFFSET,
    TIMES_SIZE, Totals, VERSION,
};
use super::lifetime;
use super::snapshot::{Record, Role, WaitsFor};

/// The name that tools know the file by.
pub(super) const LABEL: &CStr = c"breezeway-stats";

/// A process's records. Made once and never dropped but by a forked child, which has none of it.
pub(super) struct Table {
    mapping: Mapping,
    /// Tools of the same user open the file by it.
    _descriptor: OwnedFd,
    origin: Origin,
    /// A bit for each record that a session has.
    taken: [AtomicU64; CAPACITY / 64],
    /// What those that have ended have counted. A forked child has a table of its own, and so a
    /// lock of its own.
    ended: Mutex<[Sums; 3]>,
}

/// What the sessions of this process, or its workers, count and have counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sums {
    /// Of which role they are.
    pub role: Role,
    /// How many live. (Of more than there is room for in the file, those beyond it are not known
    /// before they end.)
    pub live: u64,
    /// How many of these wait for what the peer sends, for room, and for memory.
    pub waiting: [u64; 3],
    /// How many there have been.
    pub opened: u64,
    /// The sums: the counts of all there have been, and what those hold that live. Nothing says
    /// what they wait for.
    pub totals: Totals,
}

impl Sums {
    const fn new(role: Role, totals: Totals) -> Self {
        Self { role, live: 0, waiting: [0; 3], opened: 0, totals }
    }

    fn of_each_role() -> [Self; 3] {
        [Role::Client, Role::Server, Role::Worker].map(|role| Self::new(role, Totals::default()))
    }

    fn add_live(&mut self, totals: &Totals) {
        self.live += 1;
        self.opened += 1;
        if let Some(what) = WaitsFor::from_number(totals.waits_for) {
            self.waiting[what as usize - 1] += 1;
        }
        self.totals.add(totals);
    }
}

/// The sums of each role's, of this process. What sessions count while this looks may be in it or
/// not; one that ends is in it once.
pub fn sums_of_this_process() -> [Sums; 3] {
    Table::of_this_process().map_or_else(Sums::of_each_role, Table::sums)
}

/// Makes this process's file of records, if there is none.
///
/// # Errors
///
/// A limit of this process does not allow it, or memory or descriptors are short.
pub fn make_file() -> Result<(), SegmentError> {
    match Table::find_or_make() {
        Err(error) if error.is_shortage() => Err(error),
        _ => Ok(()),
    }
}

impl Table {
    /// This process's, made now if there is none; `None` if that fails, which is tried again for
    /// the next session.
    pub(super) fn of_this_process() -> Option<&'static Self> {
        Self::find_or_make().ok().flatten()
    }

    fn find_or_make() -> Result<Option<&'static Self>, SegmentError> {
        static CURRENT: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());
        // No lock: one that another thread holds in a fork would be held for ever in the child.
        let current = CURRENT.load(Ordering::Acquire);
        // SAFETY: `CURRENT` holds null or the address of a leaked box, which is never freed.
        if let Some(table) = unsafe { current.as_ref() }
            && table.is_of_this_process()
        {
            return Ok(Some(table));
        }
        let fresh = Box::into_raw(Box::new(Self::new(LABEL)?));
        match CURRENT.compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: `fresh` is a box that is leaked from here on. The table before it is a forked
            // parent's, to whose records sessions of the parent may point in this child: it is not
            // freed either.
            Ok(_) => Ok(Some(unsafe { &*fresh })),
            Err(other) => {
                // SAFETY: it was made above and nobody else has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                // SAFETY: `CURRENT` holds null or the address of a leaked box, which is never
                // freed.
                Ok(unsafe { other.as_ref() }.filter(|table| table.is_of_this_process()))
            }
        }
    }

    pub(super) fn new(label: &CStr) -> Result<Self, SegmentError> {
        let size = TIMES_OFFSET + CAPACITY * TIMES_SIZE;
        let (mapping, descriptor) = segment::create_sparse(label, size)?;
        let taken = [const { AtomicU64::new(0) }; CAPACITY / 64];
        let table = Self {
            mapping,
            _descriptor: descriptor,
            origin: Origin::here(),
            taken,
            ended: Mutex::new(Sums::of_each_role()),
        };
        for (field, value) in [
            (Header::Version, VERSION),
            (Header::RecordSize, RECORD_SIZE as u64),
            (Header::Capacity, CAPACITY as u64),
            (Header::Since, clock::since_boot()),
            (Header::TimesOffset, TIMES_OFFSET as u64),
            (Header::TimesSize, TIMES_SIZE as u64),
        ] {
            table.header(field).store(value, Ordering::Relaxed);
        }
        Ok(table)
    }

    /// Whether it was not made by a process that this one was forked from.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.origin.is_here()
    }

    fn header(&self, field: Header) -> &AtomicU64 {
        &self.words(0, HEADER_SIZE / 8)[field as usize]
    }

    /// The words of a record.
    pub(super) fn record(&self, index: usize) -> &[AtomicU64] {
        self.words(HEADER_SIZE + index * RECORD_SIZE, RECORD_WORDS)
    }

    /// How long the handlers took of the session that has a record.
    pub(super) fn times(&self, index: usize) -> &[AtomicU64] {
        self.words(TIMES_OFFSET + index * TIMES_SIZE, TIMES)
    }

    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        let end = offset + 8 * count;
        assert!(offset.is_multiple_of(8) && end <= self.mapping.size(), "outside the file");
        // SAFETY: the range lies in a writable mapping that lives in `self`, is aligned as the
        // mapping's page is, and is only reached through atomics. Others map it read-only.
        unsafe {
            std::slice::from_raw_parts(
                self.mapping.address().add(offset).cast::<AtomicU64>(),
                count,
            )
        }
    }

    /// Takes the first free record.
    pub(super) fn take(&self) -> Option<usize> {
        self.header(Header::Opened).fetch_add(1, Ordering::Relaxed);
        // Only now: one of two that were made at once is never used, and no tool takes it for the
        // other. Whoever sees the magic sees the rest.
        self.header(Header::Magic).store(MAGIC, Ordering::Release);
        if let Some(record) = lifetime::take(&self.taken) {
            self.header(Header::Used).fetch_max(record as u64 + 1, Ordering::Relaxed);
            return Some(record);
        }
        self.header(Header::Unrecorded).fetch_add(1, Ordering::Relaxed);
        None
    }

    fn lock(&self) -> MutexGuard<'_, [Sums; 3]> {
        self.ended.lock().expect("nobody panics with the lock")
    }

    /// Adds what a session that ends has counted; `free` says in its record, if it has one, that
    /// it has ended.
    pub(super) fn ends(&self, role: Role, totals: &Totals, free: impl FnOnce()) {
        let mut ended = self.lock();
        if let Some(sums) = ended.iter_mut().find(|sums| sums.role == role) {
            sums.opened += 1;
            sums.totals.add(&totals.without_state());
        }
        free();
    }

    fn sums(&self) -> [Sums; 3] {
        // With the lock, none that is seen to live ends.
        let ended = self.lock();
        let mut all = *ended;
        let used = self.header(Header::Used).load(Ordering::Relaxed) as usize;
        for index in 0..used.min(CAPACITY) {
            let words = self.record(index);
            // Acquire: what belongs to the session that the sequence is of.
            let sequence = words[Identity::Sequence as usize].load(Ordering::Acquire);
            if sequence == 0 || !sequence.is_multiple_of(2) {
                continue;
            }
            let record = Record::read(|index| words[index].load(Ordering::Relaxed));
            if let Some(sums) = all.iter_mut().find(|sums| sums.role == record.role) {
                sums.add_live(&record.totals);
            }
        }
        drop(ended);
        for sums in &mut all {
            (sums.totals.waits_for, sums.totals.waits_since) = (0, 0);
        }
        all
    }

    /// Gives one back.
    pub(super) fn give_back(&self, record: usize) {
        lifetime::give_back(&self.taken, record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_says_so_and_has_room_again_when_a_session_ends() {
        // Under another name: other tests look for that of this process.
        let table = Table::new(c"full-stats").unwrap();
        for record in 0..CAPACITY {
            assert_eq!(table.take(), Some(record), "the lowest free one");
        }
        assert_eq!((table.take(), table.take()), (None, None));
        table.give_back(100);
        table.give_back(99);
        assert_eq!((table.take(), table.take(), table.take()), (Some(99), Some(100), None));
        let header = |field| table.header(field).load(Ordering::Relaxed);
        assert_eq!(header(Header::Used), CAPACITY as u64);
        assert_eq!((header(Header::Opened), header(Header::Unrecorded)), (CAPACITY as u64 + 5, 3));
    }
}
