//! Count of the pending segments that this process has mapped, per peer process (a peer may have
//! many sessions): the kernel bounds the mappings of a process (`vm.max_map_count`, 65,530).

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use breezeway_os::segment::SegmentError;
use breezeway_os::{MemoryLimit, Origin, Peer};

/// Pending segments of one session that are not counted: a sender that announces each segment it
/// sends has no more at a time.
const UNCOUNTED: usize = 4;
/// Maximum of counted segments of one peer process, and of all unknown processes of one user.
const MOST_OF_PROCESS: usize = 1024;
const MOST_OF_USER: usize = 4096;

/// Process or user whose segments are counted together. Users unknown in this namespace are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Process(u32),
    User(Option<u32>),
}

/// Counts of this process, by holder.
static COUNTS: Mutex<Option<HashMap<Holder, usize>>> = Mutex::new(None);

fn counts() -> MutexGuard<'static, Option<HashMap<Holder, usize>>> {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The counted segments of one session.
#[derive(Debug)]
pub(crate) struct PendingCount {
    origin: Origin,
    /// Set once a segment is counted.
    holder: Option<Holder>,
    counted: usize,
}

impl PendingCount {
    pub(crate) fn new() -> Self {
        Self { origin: Origin::here(), holder: None, counted: 0 }
    }

    /// Counts the next segment of a session that has `pending` others.
    ///
    /// # Errors
    ///
    /// The peer's process, or its user if the process is unknown, has reached its limit.
    pub(crate) fn add(
        &mut self,
        pending: usize,
        size: usize,
        socket: impl AsFd,
    ) -> Result<(), SegmentError> {
        if pending < UNCOUNTED {
            return Ok(());
        }
        let holder = *self.holder.get_or_insert_with(|| holder_of(socket));
        let (user, limit) = match holder {
            Holder::Process(_) => (None, MOST_OF_PROCESS),
            Holder::User(user) => (user, MOST_OF_USER),
        };
        let mut counts = counts();
        let count = counts.get_or_insert_default().entry(holder).or_default();
        if *count >= limit {
            let limit = MemoryLimit::Pending { user, count: *count, limit };
            return Err(SegmentError::Limit { size, limit });
        }
        *count += 1;
        self.counted += 1;
        Ok(())
    }

    /// Notes that one of `pending` segments is not pending any more.
    pub(crate) fn remove(&mut self, pending: usize) {
        if pending > UNCOUNTED {
            self.subtract(1);
        }
    }

    fn subtract(&mut self, segments: usize) {
        let (Some(holder), true) = (self.holder, segments > 0) else { return };
        self.counted -= segments;
        let mut counts = counts();
        let counts = counts.get_or_insert_default();
        let count = counts.get_mut(&holder).expect("what is subtracted was added");
        *count -= segments;
        if *count == 0 {
            counts.remove(&holder);
        }
    }
}

/// Returns the process, or its user where the kernel does not name it. (A process must not be able
/// to end the sessions of another process of the same user.)
fn holder_of(socket: impl AsFd) -> Holder {
    let (pid, uid) = Peer::of(socket).map_or((None, None), |peer| (peer.pid, peer.uid));
    pid.map_or(Holder::User(uid), Holder::Process)
}

impl Drop for PendingCount {
    fn drop(&mut self) {
        // Another thread may have held the lock at a fork, and a child counts nothing.
        if self.origin.is_here() {
            self.subtract(self.counted);
        }
    }
}
