//! What all handles of one session share.

mod closing;
mod memory;
mod publishing;
mod sending;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use breezeway_os::{Connection, Notifier, Peer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};

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
use crate::receiver::Receiver;
use crate::region::Region;
use crate::regions::SessionFiles;
use crate::restart::Restart;
use crate::stream_state::StreamState;
use crate::table::{Role, Table};
use crate::violation::Violation;

/// What a handshake leads to.
pub(crate) struct Parts {
    pub(crate) role: Role,
    pub(crate) version: u8,
    pub(crate) socket: Connection,
    pub(crate) peer: Option<Peer>,
    pub(crate) queue: Arc<Region>,
    pub(crate) buffer: Arc<Region>,
    pub(crate) layout: Arc<BufferLayout>,
    /// Of a region that sessions share, shared.
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
    /// Whether elements are put without notifying the peer of each; changed under the producer's
    /// lock.
    corked: AtomicBool,
    /// Whether elements were put that the peer was not notified of; changed under the producer's
    /// lock.
    unannounced: AtomicBool,
    outgoing: Mutex<Outgoing>,
    /// Whether a thread waits until the socket takes what is outgoing.
    flushing: AtomicBool,
    /// Who holds this receives for all.
    pub(crate) receiver: Mutex<Receiver>,
    pub(crate) followers: Followers,
    pub(crate) table: Mutex<Table>,
    /// Streams for which something came, where one thread serves them all.
    pub(crate) ready: Mutex<VecDeque<Arc<StreamState>>>,
    pub(crate) serving: AtomicBool,
    /// Bytes that came over the socket and were not yet read.
    pub(crate) fallback_held: AtomicUsize,
    /// Open streams whose bytes come over the socket: while there are any, polling the queue is
    /// not enough.
    pub(crate) over_socket: AtomicUsize,
    pub(crate) restart: Restart,
    /// Whether the client has put another session in its place.
    pub(crate) replaced: AtomicBool,
    /// Wakes a leader that sleeps; made when the first interrupter is, since a sleep that it can
    /// end costs another system call.
    pub(crate) leader_notifier: OnceLock<Notifier>,
    /// Tasks that wait until they can send, which the driver wakes from time to time.
    #[cfg(feature = "tokio")]
    pub(crate) senders: Mutex<Vec<std::task::Waker>>,
    /// Wakes the driver, where there is one.
    #[cfg(feature = "tokio")]
    pub(crate) driver: crate::asynchronous::DriverHandle,
    /// How often somebody began to lead or ended: by this, idle sessions differ from used ones.
    uses: AtomicU64,
    /// Messages written to the socket, and reads of it: what waiting costs.
    pub(crate) socket_writes: AtomicU64,
    pub(crate) socket_reads: AtomicU64,
    /// How often somebody slept in `poll`.
    pub(crate) polls: AtomicU64,
    pub(crate) counters: Counters,
    #[cfg(feature = "metrics")]
    pub(crate) recorded: crate::metrics::Recorded,
    created: Mutex<Option<SessionFiles>>,
    end: OnceLock<SessionEnd>,
    /// Of files: given up after the regions, which are declared before.
    claims: Option<[FileClaim; 2]>,
    /// The process that has the session. A forked child has the socket too, but not the regions.
    process: u32,
}

impl Core {
    /// A session that begins.
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
            driver: crate::asynchronous::DriverHandle::default(),
            uses: AtomicU64::new(0),
            socket_writes: AtomicU64::new(0),
            socket_reads: AtomicU64::new(0),
            polls: AtomicU64::new(0),
            counters: Counters::default(),
            #[cfg(feature = "metrics")]
            recorded: crate::metrics::Recorded::default(),
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

    /// Elements in the queue that the peer has not taken.
    pub(crate) fn queue_depth(&self) -> u32 {
        lock(&self.producer).depth()
    }

    #[cfg(test)]
    pub(crate) fn queue_region(&self) -> &Region {
        &self.queue
    }

    /// Bytes of queue and buffer.
    pub(crate) fn region_sizes(&self) -> [u32; 2] {
        [self.queue.len(), self.buffer.len()]
    }

    /// Somebody begins to lead, or ends. Under the receiver's lock, so that a plain store does.
    #[inline]
    pub(crate) fn count_use(&self) {
        self.uses.store(self.uses() + 1, Ordering::Relaxed);
    }

    /// How often somebody began to lead or ended: odd while somebody does.
    pub(crate) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// Whether a driver of tasks serves the session.
    pub(crate) fn has_driver(&self) -> bool {
        #[cfg(feature = "tokio")]
        return self.driver.is_started();
        #[cfg(not(feature = "tokio"))]
        false
    }

    /// Whether so much came over the socket that it is not read before some of that is. A peer that
    /// has gone sends no more than the socket holds, and behind that is the end, which must be
    /// noticed.
    pub(crate) fn is_overfull(&self) -> bool {
        self.fallback_held.load(Ordering::SeqCst) >= self.options.fallback_limit
            && !self.has_peer_gone()
    }

    /// Whether the peer will send nothing more over the socket.
    fn has_peer_gone(&self) -> bool {
        let gone = PollFlags::RDHUP | PollFlags::HUP;
        let mut fds = [PollFd::new(&*self.socket, PollFlags::RDHUP)];
        poll(&mut fds, Some(&Timespec::default())).is_ok() && fds[0].revents().intersects(gone)
    }

    /// The session's socket.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether this is a child forked from the process that has the session: then nothing may be
    /// touched.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.process != std::process::id()
    }

    /// How the session ended, if it did.
    #[inline]
    pub(crate) fn ended(&self) -> Option<&SessionEnd> {
        self.end.get()
    }

    /// Ends the session, if nothing else has before, and wakes everybody.
    pub(crate) fn end(&self, cause: SessionEnd) {
        let cause = self.lost_region().map_or(cause, |region| Violation::Truncated(region).into());
        if self.end.set(cause).is_err() {
            return;
        }
        // The peer notices at once, also where a forked child still holds the socket.
        let _ = shutdown(&*self.socket, Shutdown::Both);
        self.unlink_created();
        self.claims.iter().flatten().for_each(FileClaim::end);
        // What a peer did to the lists no longer matters.
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

    /// From now on a leader that sleeps can be woken, at the price of another system call.
    pub(crate) fn make_leader_notifier(&self) -> std::io::Result<()> {
        if self.leader_notifier.get().is_none() {
            let _ = self.leader_notifier.set(Notifier::new()?);
        }
        Ok(())
    }

    /// Wakes a leader that sleeps, if that is possible.
    pub(crate) fn notify_leader(&self) {
        if let Some(leader_notifier) = self.leader_notifier.get() {
            leader_notifier.notify();
        }
    }

    /// The peer has put something. A server that has done so has mapped the files, so their names
    /// are no longer needed: nothing is left behind whoever dies.
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
    /// Gives every slice back that came and was never read, since other sessions of the peer may
    /// use the same region.
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
