//! Ledger of the segments handed out to clients, which counts them until the last holder is gone.
//!
//! A sealed memfd frees no page while a process has a descriptor or a mapping of it, and its pages
//! stay charged to its creator. The creator cannot see the holders, and the end of the receiving
//! process proves nothing: it may have passed the segment on. But the kernel reports when the last
//! hold is gone: the file, which has no name, is deleted then, and `inotify(7)` reports that. A
//! segment therefore counts from before it is created (or from its hand-out, if it was created
//! ahead) until that report.

use std::collections::{HashMap, HashSet};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use thiserror::Error;

use crate::fork::Origin;
use crate::segment::{SegmentError, create_sparse};

/// Limits of the memory that clients may hold. Without a limit nothing is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Limit for all clients.
    pub total: Option<u64>,
    /// Limit for each user; all unknown users are one.
    pub of_user: Option<u64>,
}

/// Limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemoryLimit {
    /// The limit for all clients.
    #[error("clients hold {taken} of the {limit} bytes that the server's max_memory allows")]
    Total {
        /// Bytes held by them.
        taken: u64,
        /// The limit.
        limit: u64,
    },
    /// The limit for a user.
    #[error(
        "{} hold {taken} of the {limit} bytes that the server's max_memory_of_user allows",
        name(*.user)
    )]
    OfUser {
        /// The user, if known.
        user: Option<u32>,
        /// Bytes held by its processes.
        taken: u64,
        /// The limit.
        limit: u64,
    },
    /// A peer's process, or its unknown processes, sent as many unannounced segments as allowed.
    #[error(
        "{count} segments of {} are not announced, of at most {limit}",
        user.map_or("the peer's process".to_owned(), |user| format!("processes of user {user}"))
    )]
    Pending {
        /// User of the unknown processes that sent them, or `None` for one known process.
        user: Option<u32>,
        /// Segments of all its sessions.
        count: usize,
        /// The limit.
        limit: usize,
    },
}

fn name(user: Option<u32>) -> String {
    user.map_or("users unknown here".to_owned(), |user| format!("processes of user {user}"))
}

/// The segments that a server with limits has handed out. A clone refers to the same ledger.
#[derive(Clone, Debug)]
pub struct MemoryLedger(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    origin: Origin,
    total: u64,
    of_user: Option<u64>,
    /// Inotify descriptor that reports deleted segments, or the reason why there is none.
    reports: Result<OwnedFd, Errno>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// User and size of each handed-out segment, by watch number.
    handed_out: HashMap<i32, (Option<u32>, u64)>,
    total: u64,
    by_user: HashMap<Option<u32>, u64>,
}

/// Account of a client, which segments made for it are charged to. The default counts nothing.
#[derive(Clone, Debug, Default)]
pub struct MemoryAccount(Option<(Arc<Inner>, Option<u32>)>);

impl MemoryLedger {
    /// Creates a ledger with these limits and nothing handed out.
    pub fn new(limits: MemoryLimits) -> Self {
        let inner = || Inner {
            origin: Origin::here(),
            total: limits.total.unwrap_or(u64::MAX),
            of_user: limits.of_user,
            reports: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK),
            state: Mutex::default(),
        };
        Self((limits != MemoryLimits::default()).then(|| Arc::new(inner())))
    }

    /// Checks that this machine reports deleted segments: a server that counts segments without
    /// such reports would eventually refuse all clients.
    ///
    /// # Errors
    ///
    /// This machine does not report them, or no file can be watched.
    pub fn probe() -> Result<(), SegmentError> {
        Self::probe_by(path_of)
    }

    fn probe_by(path: impl Fn(&OwnedFd) -> String) -> Result<(), SegmentError> {
        const SIZE: usize = 4096;
        let uncounted = |source| SegmentError::Uncounted { size: SIZE, source };
        let reports =
            inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(uncounted)?;
        let (mapping, fd) = create_sparse(c"breezeway-probe", SIZE)?;
        let number =
            inotify::add_watch(&reports, path(&fd), WatchFlags::DELETE_SELF).map_err(uncounted)?;
        drop((mapping, fd));
        let mut state = State::default();
        state.add(None, SIZE as u64);
        state.handed_out.insert(number, (None, SIZE as u64));
        state.take(&reports);
        if state.handed_out.is_empty() { Ok(()) } else { Err(SegmentError::NotReported) }
    }

    /// Returns the account of a user, or the one of all unknown users.
    pub fn account(&self, user: Option<u32>) -> MemoryAccount {
        MemoryAccount(self.0.clone().map(|inner| (inner, user)))
    }

    /// Returns the bytes counted now: 0 without limits, and in a forked child.
    pub fn held(&self) -> u64 {
        let counting = self.0.as_ref().filter(|inner| inner.origin.is_here());
        counting.map_or(0, |inner| inner.state().total)
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under the lock")
    }

    /// Returns the current state, in the process that hands segments out.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        if let Ok(reports) = &self.reports {
            state.take(reports);
        }
        state
    }

    /// Counts a segment that is about to be made.
    fn reserve(&self, user: Option<u32>, size: u64) -> Result<(), MemoryLimit> {
        let mut state = self.state();
        let taken = state.total;
        if size > self.total.saturating_sub(taken) {
            return Err(MemoryLimit::Total { taken, limit: self.total });
        }
        let taken = state.by_user.get(&user).copied().unwrap_or(0);
        if let Some(limit) = self.of_user
            && size > limit.saturating_sub(taken)
        {
            return Err(MemoryLimit::OfUser { user, taken, limit });
        }
        state.add(user, size);
        Ok(())
    }

    /// Counts a segment until it is deleted.
    fn watch(&self, user: Option<u32>, size: u64, segment: impl AsFd) -> Result<(), Errno> {
        let mut state = self.lock();
        let watched = self.reports.as_ref().map_err(|&errno| errno).and_then(|reports| {
            inotify::add_watch(reports, path_of(&segment), WatchFlags::DELETE_SELF)
        });
        match watched {
            Ok(number) => {
                state.handed_out.insert(number, (user, size));
            }
            Err(_) => state.subtract(user, size),
        }
        watched.map(drop)
    }
}

/// Returns a path for a file without a name.
fn path_of(fd: &impl AsFd) -> String {
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())
}

impl State {
    fn add(&mut self, user: Option<u32>, size: u64) {
        self.total += size;
        *self.by_user.entry(user).or_default() += size;
    }

    fn subtract(&mut self, user: Option<u32>, size: u64) {
        self.total -= size;
        let held = self.by_user.get_mut(&user).expect("what was added is subtracted");
        *held -= size;
        if *held == 0 {
            self.by_user.remove(&user);
        }
    }

    /// Removes the deleted segments from the state.
    fn take(&mut self, reports: &OwnedFd) {
        let mut room = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(reports, &mut room);
        let mut lost = false;
        while let Ok(report) = reader.next() {
            lost |= report.events().contains(ReadFlags::QUEUE_OVERFLOW);
            if report.events().contains(ReadFlags::IGNORED) {
                self.forget(report.wd());
            }
        }
        if lost && let Ok(live) = watched(reports) {
            let gone = |number: &&i32| !live.contains(number);
            let gone: Vec<i32> = self.handed_out.keys().filter(gone).copied().collect();
            gone.into_iter().for_each(|number| self.forget(number));
        }
    }

    fn forget(&mut self, number: i32) {
        if let Some((user, size)) = self.handed_out.remove(&number) {
            self.subtract(user, size);
        }
    }
}

/// Returns the numbers of the watches that remain, by the kernel's own list: for the case that the
/// report queue overflowed.
fn watched(reports: &OwnedFd) -> io::Result<HashSet<i32>> {
    let list = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", reports.as_raw_fd()))?;
    let number = |line: &str| {
        let (number, _) = line.strip_prefix("inotify wd:")?.split_once(' ')?;
        i32::from_str_radix(number, 16).ok()
    };
    Ok(list.lines().filter_map(number).collect())
}

impl MemoryAccount {
    /// Makes a segment of this size by `make`, or takes one that was not sent to a peer, if the
    /// limits allow. It counts until the last holder is gone.
    ///
    /// # Errors
    ///
    /// A limit is reached, the segment cannot be counted, or `make` fails.
    pub fn make<S>(
        &self,
        size: usize,
        make: impl FnOnce(usize) -> Result<(S, OwnedFd), SegmentError>,
    ) -> Result<(S, OwnedFd), SegmentError> {
        // A forked child makes no lasting segment, and the reports are its parent's.
        let counting = self.0.as_ref().filter(|(ledger, _)| ledger.origin.is_here());
        let Some((ledger, user)) = counting else { return make(size) };
        let bytes = size as u64;
        ledger.reserve(*user, bytes).map_err(|limit| SegmentError::Limit { size, limit })?;
        let (segment, fd) = make(size).inspect_err(|_| ledger.lock().subtract(*user, bytes))?;
        let counted = ledger.watch(*user, bytes, &fd);
        counted.map_err(|source| SegmentError::Uncounted { size, source })?;
        Ok((segment, fd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Mapping, accept, create};

    const SIZE: usize = 8192;

    fn ledger(total: u64, of_user: Option<u64>) -> MemoryLedger {
        MemoryLedger::new(MemoryLimits { total: Some(total), of_user })
    }

    fn make(account: &MemoryAccount) -> Result<(Mapping, OwnedFd), SegmentError> {
        account.make(SIZE, create)
    }

    fn refused(made: Result<(Mapping, OwnedFd), SegmentError>) -> MemoryLimit {
        let Err(SegmentError::Limit { size: SIZE, limit }) = made else { panic!("{made:?}") };
        limit
    }

    #[test]
    fn segment_counts_until_last_descriptor_and_mapping() {
        let ledger = ledger(u64::MAX, None);
        let (own, fd) = make(&ledger.account(Some(1))).unwrap();
        let kept = fd.try_clone().unwrap();
        let foreign = accept(fd.into(), SIZE as u64).unwrap();
        assert_eq!(ledger.held(), SIZE as u64);
        drop(own);
        assert_eq!(ledger.held(), SIZE as u64, "a descriptor and a mapping are left");
        drop(foreign);
        assert_eq!(ledger.held(), SIZE as u64, "a descriptor is left");
        drop(kept);
        assert_eq!(ledger.held(), 0);
    }

    #[test]
    fn segments_stop_at_user_and_total_limits() {
        let ledger = ledger(3 * SIZE as u64, Some(2 * SIZE as u64));
        let (one, other) = (ledger.account(Some(1)), ledger.account(None));
        let held = [make(&one).unwrap(), make(&one).unwrap()];
        let limit = refused(make(&one));
        assert_eq!(limit, MemoryLimit::OfUser { user: Some(1), taken: 16384, limit: 16384 });
        assert_eq!(
            limit.to_string(),
            "processes of user 1 hold 16384 of the 16384 bytes that the server's \
             max_memory_of_user allows"
        );
        let _third = make(&other).unwrap();
        let limit = refused(make(&other));
        assert_eq!(limit, MemoryLimit::Total { taken: 24576, limit: 24576 });
        drop(held);
        make(&other).unwrap();
    }

    #[test]
    fn this_machine_reports_deleted_segments() {
        MemoryLedger::probe().unwrap();
    }

    #[test]
    fn probe_fails_without_deletion_reports() {
        // A file that stays, and one that does not exist, as without /proc.
        let stays = MemoryLedger::probe_by(|_| "/proc/self".to_owned());
        assert!(matches!(stays, Err(SegmentError::NotReported)), "{stays:?}");
        let absent = MemoryLedger::probe_by(|_| "/proc/self/fd/none".to_owned());
        assert!(matches!(absent, Err(SegmentError::Uncounted { .. })), "{absent:?}");
    }

    #[test]
    fn without_limits_nothing_is_counted() {
        let ledger = MemoryLedger::new(MemoryLimits::default());
        let _kept = make(&ledger.account(Some(1))).unwrap();
        assert_eq!(ledger.held(), 0);
        assert!(ledger.0.is_none());
    }

    #[test]
    fn failed_segment_does_not_count() {
        let ledger = ledger(SIZE as u64, None);
        let failing = |_| Err::<(Mapping, _), _>(SegmentError::Probe("as asked"));
        ledger.account(None).make(SIZE, failing).unwrap_err();
        assert_eq!(ledger.held(), 0);
        assert!(make(&ledger.account(None)).is_ok());
    }

    #[test]
    fn segments_are_forgotten_after_report_overflow() {
        let room = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let room: usize = room.trim().parse().unwrap();
        let (ledger, page) = (ledger(u64::MAX, None), 4096);
        let kept = ledger.account(None).make(page, create).unwrap();
        // Each causes two reports.
        for _ in 0..room / 2 + 10 {
            let sparse = |size| crate::segment::create_sparse(c"reports", size);
            let (_, fd) = sparse(page).unwrap();
            let inner = ledger.0.as_ref().unwrap();
            inner.lock().add(None, page as u64);
            inner.watch(None, page as u64, &fd).unwrap();
        }
        assert_eq!(ledger.held(), page as u64);
        drop(kept);
        assert_eq!(ledger.held(), 0);
    }
}
