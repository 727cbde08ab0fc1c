//! Registry of the files that sessions of this process have mapped, so that no client names another
//! one's.
//!
//! A queue belongs to one session. A buffer may be shared by the sessions of one client process, as
//! shmipc-go does; where processes cannot be distinguished, as over TCP, it is not shared at all.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

use breezeway_os::{Peer, exit_descriptor};
use rustix::fs::{fstat, fstatfs};

use crate::lock::lock;
use crate::named_file::{FileIdentity, FileName};

/// File system of pidfds whose inodes identify processes (Linux 6.9), from `linux/magic.h`.
const PIDFS_MAGIC: u64 = 0x5049_4446;

/// A process, as far as it can be distinguished from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessIdentity {
    /// Inode of its pidfd, which no other process ever has.
    Inode(u64),
    /// Number of the process, which another one can have only after this one, and with it its
    /// sessions, has ended.
    Number(u32),
}

impl ProcessIdentity {
    /// Returns the process that connected over a unix socket; `None` if the kernel does not report
    /// it.
    pub(crate) fn of_client(socket: impl AsFd, peer: &Peer) -> Option<Self> {
        // Without a pidfd, also for lack of a descriptor, the number is used.
        let pidfd = exit_descriptor(socket).ok().flatten();
        let inode = pidfd.and_then(|pidfd| {
            let is_pidfs = fstatfs(&pidfd).is_ok_and(|fs| fs.f_type as u64 == PIDFS_MAGIC);
            is_pidfs.then(|| fstat(&pidfd).ok()).flatten()
        });
        inode.map(|stat| Self::Inode(stat.st_ino)).or(peer.pid.map(Self::Number))
    }
}

/// The sessions of this process that have a file mapped.
#[derive(Debug)]
struct Holders {
    /// Process with sessions that may share the file; `None` if it may not be shared.
    shared_by: Option<ProcessIdentity>,
    /// Sessions that have it mapped, including those that are over and still held.
    mapped: usize,
    /// Sessions that are not over.
    live: usize,
    /// Name to remove when the last session is over.
    name: Option<FileName>,
}

static CLAIMED: LazyLock<Mutex<HashMap<FileIdentity, Holders>>> = LazyLock::new(Mutex::default);

/// The right of a session to a file; given up when dropped, which must not be before the file is
/// unmapped.
#[derive(Debug)]
pub(crate) struct FileClaim {
    file: FileIdentity,
    is_over: AtomicBool,
}

impl FileClaim {
    /// Claims a file; `None` if another session has it. It may be shared with sessions of
    /// `shared_by`.
    pub(crate) fn take(file: FileIdentity, shared_by: Option<ProcessIdentity>) -> Option<Self> {
        let mut claimed = lock(&CLAIMED);
        let unclaimed = Holders { shared_by, mapped: 0, live: 0, name: None };
        let holders = claimed.entry(file).or_insert(unclaimed);
        let is_free = holders.mapped == 0;
        let is_shared = shared_by.is_some() && holders.shared_by == shared_by;
        (is_free || is_shared).then(|| {
            holders.mapped += 1;
            holders.live += 1;
            Self { file, is_over: AtomicBool::new(false) }
        })
    }

    /// Notes that the file is a region, so that its name is removed with the last session that has
    /// it. Not before, because another session of the same client may still have to find it.
    pub(crate) fn remove_at_end(&self, name: FileName) {
        if let Some(holders) = lock(&CLAIMED).get_mut(&self.file) {
            holders.name.get_or_insert(name);
        }
    }

    /// Notes that the session is over; the file may stay mapped for as long as the session is held.
    pub(crate) fn end(&self) {
        if self.is_over.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut claimed = lock(&CLAIMED);
        let Some(holders) = claimed.get_mut(&self.file) else { return };
        holders.live -= 1;
        let name = if holders.live == 0 { holders.name.take() } else { None };
        drop(claimed);
        if let Some(name) = name {
            name.remove();
        }
    }
}

impl Drop for FileClaim {
    fn drop(&mut self) {
        self.end();
        let mut claimed = lock(&CLAIMED);
        if let Some(holders) = claimed.get_mut(&self.file) {
            holders.mapped -= 1;
            if holders.mapped == 0 {
                claimed.remove(&self.file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_claimed_by_one_process_until_last_session() {
        let file = (u64::MAX, 1);
        let [one, other] = [1, 2].map(|number| Some(ProcessIdentity::Inode(number)));
        let claims = [one, one].map(|process| FileClaim::take(file, process).unwrap());
        assert!(FileClaim::take(file, other).is_none());
        assert!(FileClaim::take(file, None).is_none());
        let [first, second] = claims;
        drop(first);
        assert!(FileClaim::take(file, other).is_none());
        drop(second);
        let claim = FileClaim::take(file, None).unwrap();
        assert!(FileClaim::take(file, None).is_none(), "unknown processes are not the same one");
        drop(claim);
        assert!(FileClaim::take(file, other).is_some());
    }

    #[test]
    fn a_client_is_identified_by_its_process() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let peer = Peer::of(&one).unwrap();
        let identity = ProcessIdentity::of_client(&one, &peer);
        assert!(identity.is_some());
        assert_eq!(identity, ProcessIdentity::of_client(&one, &peer));
    }
}
