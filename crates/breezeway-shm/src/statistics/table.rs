//! The file in which a process keeps its records, and the set of records that are taken.

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
use super::snapshot::{LABEL, Record, Role, WaitsFor};

/// A process's records. Created once and never freed; a forked child creates its own.
pub(super) struct Table {
    mapping: Mapping,
    /// Keeps the file open, so that tools of the same user can open it.
    _descriptor: OwnedFd,
    origin: Origin,
    /// A bit for each record that a session has.
    taken: [AtomicU64; CAPACITY / 64],
    /// Sums of the ended sessions. A forked child has a table of its own, and so a lock of its own.
    ended: Mutex<[Sums; 3]>,
}

/// Counts of the sessions of this process, or of its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sums {
    /// The role that the sums are of.
    pub role: Role,
    /// Number of live ones. (Sessions that found no free record are not counted before they end.)
    pub live: u64,
    /// Number of live ones that wait for an entry, for room, and for memory.
    pub waiting: [u64; 3],
    /// Number of all so far.
    pub opened: u64,
    /// The sums: counts of all sessions so far, and the state of live ones. The wait fields are 0.
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

/// Returns the sums of each role in this process. A count made during the call may be missing; a
/// session that ends during it is counted once.
pub fn sums_of_this_process() -> [Sums; 3] {
    Table::of_this_process().map_or_else(Sums::of_each_role, Table::sums)
}

/// Makes this process's file of records, if there is none.
///
/// # Errors
///
/// A limit of this process prevents it, or memory or descriptors are short.
pub fn make_file() -> Result<(), SegmentError> {
    match Table::find_or_make() {
        Err(error) if error.is_shortage() => Err(error),
        _ => Ok(()),
    }
}

impl Table {
    /// Returns this process's table, made now if there is none; `None` if that fails, and then the
    /// next session tries again.
    pub(super) fn of_this_process() -> Option<&'static Self> {
        Self::find_or_make().ok().flatten()
    }

    fn find_or_make() -> Result<Option<&'static Self>, SegmentError> {
        static CURRENT: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());
        // No lock: a lock held by another thread during a fork would stay locked in the child.
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
                // SAFETY: it was made above and was not published.
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

    /// Returns true unless the table was inherited from the process that this one was forked from.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.origin.is_here()
    }

    fn header(&self, field: Header) -> &AtomicU64 {
        &self.words(0, HEADER_SIZE / 8)[field as usize]
    }

    /// Returns the words of a record.
    pub(super) fn record(&self, index: usize) -> &[AtomicU64] {
        self.words(HEADER_SIZE + index * RECORD_SIZE, RECORD_WORDS)
    }

    /// Returns the histogram of handler times of a record.
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
        // Only now: of two files that were made at once one is never used, and no tool takes it for
        // the other. A reader that sees the magic sees the rest.
        self.header(Header::Magic).store(MAGIC, Ordering::Release);
        if let Some(record) = lifetime::take(&self.taken) {
            self.header(Header::Used).fetch_max(record as u64 + 1, Ordering::Relaxed);
            return Some(record);
        }
        self.header(Header::Unrecorded).fetch_add(1, Ordering::Relaxed);
        None
    }

    fn lock(&self) -> MutexGuard<'_, [Sums; 3]> {
        self.ended.lock().expect("no panic under the lock")
    }

    /// Adds the counts of a session that ends; `free` marks its record, if it has one, as ended.
    pub(super) fn ends(&self, role: Role, totals: &Totals, free: impl FnOnce()) {
        let mut ended = self.lock();
        if let Some(sums) = ended.iter_mut().find(|sums| sums.role == role) {
            sums.opened += 1;
            sums.totals.add(&totals.without_state());
        }
        free();
    }

    fn sums(&self) -> [Sums; 3] {
        // While the lock is held, no live session ends.
        let ended = self.lock();
        let mut all = *ended;
        let used = self.header(Header::Used).load(Ordering::Relaxed) as usize;
        for index in 0..used.min(CAPACITY) {
            let words = self.record(index);
            // Acquire: orders the reads of this session's words after its sequence.
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

    /// Gives a record back.
    pub(super) fn give_back(&self, record: usize) {
        lifetime::give_back(&self.taken, record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_table_has_room_again_after_a_session_ends() {
        // Uses another name: other tests look for the file of this process.
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
