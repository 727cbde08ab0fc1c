//! State that all handles of one session share.

mod closing;
mod memory;
#[cfg(feature = "metrics")]
mod metrics;
mod publishing;
pub(crate) mod receiver;
mod sending;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use breezeway_os::{Connection, Notifier, Peer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};

use self::receiver::Receiver;
use crate::counters::Counters;
use crate::error::SessionEnd;
use crate::file_claim::FileClaim;
use crate::followers::Followers;
use crate::layout::buffer::BufferLayout;
use crate::lock::{lock, try_lock};
use crate::log_limit::warn_limited;
use crate::options::SessionOptions;
use crate::outgoing::Outgoing;
use crate::pool::Pool;
use crate::queue::Producer;
use crate::region::Region;
use crate::regions::SessionFiles;
use crate::restart::Restart;
use crate::stream_state::StreamState;
use crate::table::{Role, Table};
use crate::violation::Violation;

/// Result of a handshake.
pub(crate) struct Parts {
    pub(crate) role: Role,
    pub(crate) version: u8,
    pub(crate) socket: Connection,
    pub(crate) peer: Option<Peer>,
    pub(crate) queue: Arc<Region>,
    pub(crate) buffer: Arc<Region>,
    pub(crate) layout: Arc<BufferLayout>,
    /// Shared by all sessions of a shared region.
    pub(crate) pool: Arc<Mutex<Pool>>,
    pub(crate) producer: Producer,
    pub(crate) receiver: Receiver,
    pub(crate) created: Option<SessionFiles>,
    pub(crate) claims: Option<[FileClaim; 2]>,
}

/// A session. Locks are taken in this order: receiver, table, producer, pool, outgoing; a stream's
/// state and the followers last.
pub(crate) struct Core {
    pub(crate) role: Role,
    pub(crate) version: u8,
    pub(crate) options: SessionOptions,
    pub(crate) peer: Option<Peer>,
    pub(crate) layout: Arc<BufferLayout>,
    pub(crate) buffer: Arc<Region>,
    queue: Arc<Region>,
    socket: Connection,
    pub(crate) pool: Arc<Mutex<Pool>>,
    producer: Mutex<Producer>,
    /// True while elements are put without notifying the peer of each; changed under the producer's
    /// lock.
    corked: AtomicBool,
    /// True if elements were put that the peer was not notified of; changed under the producer's
    /// lock.
    unannounced: AtomicBool,
    outgoing: Mutex<Outgoing>,
    /// True while a thread waits until the socket accepts the outgoing bytes.
    flushing: AtomicBool,
    /// The holder of this lock receives for all.
    pub(crate) receiver: Mutex<Receiver>,
    pub(crate) followers: Followers,
    pub(crate) table: Mutex<Table>,
    /// Streams with received data, where one thread serves them all.
    pub(crate) ready: Mutex<VecDeque<Arc<StreamState>>>,
    pub(crate) serving: AtomicBool,
    /// Bytes received over the socket and not read yet.
    pub(crate) fallback_held: AtomicUsize,
    /// Number of open streams with bytes that come over the socket: while it is above 0, polling
    /// the queue is not enough.
    pub(crate) over_socket: AtomicUsize,
    pub(crate) restart: Restart,
    /// True if the client has replaced this session by another.
    pub(crate) replaced: AtomicBool,
    /// Wakes a sleeping leader; created with the first interrupter, because a sleep that it can end
    /// costs another system call.
    pub(crate) leader_notifier: OnceLock<Notifier>,
    /// Tasks that wait until they can send, which the driver wakes at intervals.
    #[cfg(feature = "tokio")]
    pub(crate) senders: Mutex<Vec<std::task::Waker>>,
    /// Wakes the driver, where there is one.
    #[cfg(feature = "tokio")]
    pub(crate) driver: crate::driver_handle::DriverHandle,
    /// Number of begins and ends of leading, which distinguishes used sessions from idle ones.
    uses: AtomicU64,
    /// Messages written to the socket, and reads of it: the cost of waiting.
    pub(crate) socket_writes: AtomicU64,
    pub(crate) socket_reads: AtomicU64,
    /// Number of sleeps in `poll`.
    pub(crate) polls: AtomicU64,
    pub(crate) counters: Counters,
    #[cfg(feature = "metrics")]
    pub(crate) recorded: metrics::Recorded,
    created: Mutex<Option<SessionFiles>>,
    end: OnceLock<SessionEnd>,
    /// Claims of files: given up after the regions, which are declared before.
    claims: Option<[FileClaim; 2]>,
    /// The process that has the session. A forked child has the socket too, but not the regions.
    process: u32,
}

impl Core {
    /// Creates a session.
    pub(crate) fn new(parts: Parts, options: SessionOptions) -> Arc<Self> {
        let core = Arc::new(Self {
            role: parts.role,
            version: parts.version,
            peer: parts.peer,
            layout: parts.layout,
            buffer: parts.buffer,
            queue: parts.queue,
            socket: parts.socket,
            pool: parts.pool,
            producer: Mutex::new(parts.producer),
            corked: AtomicBool::new(false),
            unannounced: AtomicBool::new(false),
            outgoing: Mutex::default(),
            flushing: AtomicBool::new(false),
            receiver: Mutex::new(parts.receiver),
            followers: Followers::default(),
            table: Mutex::new(Table::new(parts.role, options.max_streams)),
            ready: Mutex::default(),
            serving: AtomicBool::new(false),
            fallback_held: AtomicUsize::new(0),
            over_socket: AtomicUsize::new(0),
            restart: Restart::default(),
            replaced: AtomicBool::new(false),
            leader_notifier: OnceLock::new(),
            #[cfg(feature = "tokio")]
            senders: Mutex::default(),
            #[cfg(feature = "tokio")]
            driver: crate::driver_handle::DriverHandle::default(),
            uses: AtomicU64::new(0),
            socket_writes: AtomicU64::new(0),
            socket_reads: AtomicU64::new(0),
            polls: AtomicU64::new(0),
            counters: Counters::default(),
            #[cfg(feature = "metrics")]
            recorded: metrics::Recorded::default(),
            created: Mutex::new(parts.created),
            end: OnceLock::new(),
            claims: parts.claims,
            process: std::process::id(),
            options,
        });
        #[cfg(feature = "metrics")]
        core.recorded.begin(&core);
        core
    }

    /// Returns the number of elements in the queue that the peer has not taken.
    pub(crate) fn queue_depth(&self) -> u32 {
        lock(&self.producer).depth()
    }

    #[cfg(test)]
    pub(crate) fn queue_region(&self) -> &Region {
        &self.queue
    }

    /// Returns the sizes of queue and buffer in bytes.
    pub(crate) fn region_sizes(&self) -> [u32; 2] {
        [self.queue.len(), self.buffer.len()]
    }

    /// Counts the begin or the end of leading. Under the receiver's lock, so that a plain store
    /// suffices.
    #[inline]
    pub(crate) fn count_use(&self) {
        self.uses.store(self.uses() + 1, Ordering::Relaxed);
    }

    /// Returns the number of begins and ends of leading: odd while a thread leads.
    pub(crate) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// Returns true if a driver of tasks serves the session.
    pub(crate) fn has_driver(&self) -> bool {
        #[cfg(feature = "tokio")]
        return self.driver.is_started();
        #[cfg(not(feature = "tokio"))]
        false
    }

    /// Returns true if so many bytes were received over the socket that it is not read before some
    /// of them are read. A peer that is gone sends no more than the socket holds, and behind that
    /// is the end, which must be detected.
    pub(crate) fn is_overfull(&self) -> bool {
        self.fallback_held.load(Ordering::SeqCst) >= self.options.fallback_limit
            && !self.has_peer_gone()
    }

    /// Returns true if the peer will send nothing more over the socket.
    fn has_peer_gone(&self) -> bool {
        let gone = PollFlags::RDHUP | PollFlags::HUP;
        let mut fds = [PollFd::new(&*self.socket, PollFlags::RDHUP)];
        poll(&mut fds, Some(&Timespec::default())).is_ok() && fds[0].revents().intersects(gone)
    }

    /// Returns the session's socket.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns true in a child forked from the process that has the session: nothing may be touched
    /// then.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.process != std::process::id()
    }

    /// Returns the cause of the session's end, if it has ended.
    #[inline]
    pub(crate) fn ended(&self) -> Option<&SessionEnd> {
        self.end.get()
    }

    /// Ends the session, unless it has already ended, and wakes all waiters.
    pub(crate) fn end(&self, cause: SessionEnd) {
        let cause = self.lost_region().map_or(cause, |region| Violation::Truncated(region).into());
        if self.end.set(cause).is_err() {
            return;
        }
        // The peer sees the end at once, also where a forked child still holds the socket.
        let _ = shutdown(&*self.socket, Shutdown::Both);
        self.unlink_created();
        self.claims.iter().flatten().for_each(FileClaim::end);
        // Errors in the lists no longer matter.
        let _ = lock(&self.pool).give_back_kept();
        lock(&self.table).wake_all();
        self.followers.wake_all();
        #[cfg(feature = "tokio")]
        self.wake_senders();
        self.restart.notify();
        self.notify_leader();
        #[cfg(feature = "metrics")]
        self.recorded.end(self);
    }

    /// Lets the tasks that wait until they can send try again.
    #[cfg(feature = "tokio")]
    pub(crate) fn wake_senders(&self) {
        for waker in std::mem::take(&mut *lock(&self.senders)) {
            waker.wake();
        }
    }

    /// Makes a sleeping leader wakeable from now on, at the price of another system call.
    pub(crate) fn make_leader_notifier(&self) -> std::io::Result<()> {
        if self.leader_notifier.get().is_none() {
            let _ = self.leader_notifier.set(Notifier::new()?);
        }
        Ok(())
    }

    /// Wakes a sleeping leader, if that is possible.
    pub(crate) fn notify_leader(&self) {
        if let Some(leader_notifier) = self.leader_notifier.get() {
            leader_notifier.notify();
        }
    }

    /// Notes that the peer has put an element. A server that has done so has mapped the files, so
    /// their names are no longer needed: nothing is left behind if a process dies.
    #[cold]
    pub(crate) fn note_first_element(&self) {
        if self.role == Role::Client {
            self.unlink_created();
        }
    }

    fn unlink_created(&self) {
        drop(lock(&self.created).take());
    }

    /// Ends the session for a broken rule.
    pub(crate) fn broken(&self, violation: Violation) -> SessionEnd {
        if self.ended().is_none() {
            let process = self.peer.as_ref().and_then(|peer| peer.pid);
            let user = self.peer.as_ref().and_then(|peer| peer.uid);
            warn_limited!(%violation, process, user, "a peer broke the shmipc protocol");
        }
        self.end(violation.clone().into());
        self.ended().cloned().unwrap_or(SessionEnd::Violation(violation))
    }

    /// Ends the session for a failed system call.
    pub(crate) fn failed(&self, errno: Errno) -> SessionEnd {
        let cause = SessionEnd::from(errno);
        if self.ended().is_none() && matches!(cause, SessionEnd::Socket(_)) {
            warn_limited!(error = %cause, "a shmipc session ends");
        }
        self.end(cause);
        self.ended().cloned().unwrap_or_else(|| errno.into())
    }
}

impl Drop for Core {
    /// Gives back every slice that was received and never read, because other sessions of the peer
    /// may use the same region.
    fn drop(&mut self) {
        if self.is_elsewhere() {
            return;
        }
        self.end(SessionEnd::Closed);
        if self.lost_region().is_none()
            && let Some(mut receiver) = try_lock(&self.receiver)
        {
            receiver.discard_rest(self);
        }
    }
}

#[cfg(all(test, not(loom), target_arch = "x86_64"))]
mod tests;
