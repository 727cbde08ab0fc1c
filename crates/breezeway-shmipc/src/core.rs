//! What all handles of one session share.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;

use breezeway_os::copy::STREAM_FROM;
use breezeway_os::{Notifier, Peer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};

use crate::created::CreatedFiles;
use crate::error::SessionEnd;
use crate::inbox::StreamState;
use crate::layout::buffer::{BufferLayout, SliceId};
use crate::lock::{lock, try_lock};
use crate::message::Piece;
use crate::options::SessionOptions;
use crate::outgoing::Outgoing;
use crate::pool::Pool;
use crate::queue::{Element, Producer, PutError};
use crate::receiver::Receiver;
use crate::region::Region;
use crate::restart::Restart;
use crate::table::{Role, Table};
use crate::violation::Violation;
use crate::wire::{self, Kind};

/// What a handshake leads to.
pub(crate) struct Parts {
    pub(crate) role: Role,
    pub(crate) version: u8,
    pub(crate) socket: OwnedFd,
    pub(crate) peer: Option<Peer>,
    pub(crate) queue: Arc<Region>,
    pub(crate) buffer: Arc<Region>,
    pub(crate) layout: Arc<BufferLayout>,
    pub(crate) producer: Producer,
    pub(crate) receiver: Receiver,
    pub(crate) created: Option<CreatedFiles>,
}

/// A session. Locks are taken in this order: receiver, table, producer, pool, outgoing; an inbox
/// and the followers last.
pub(crate) struct Core {
    pub(crate) role: Role,
    pub(crate) version: u8,
    pub(crate) options: SessionOptions,
    pub(crate) peer: Option<Peer>,
    pub(crate) layout: Arc<BufferLayout>,
    pub(crate) buffer: Arc<Region>,
    queue: Arc<Region>,
    socket: OwnedFd,
    pub(crate) pool: Mutex<Pool>,
    producer: Mutex<Producer>,
    /// Whether elements are put without telling the peer of each; changed under the producer's
    /// lock.
    corked: AtomicBool,
    /// Whether elements were put that the peer was not told of; changed under the producer's lock.
    unannounced: AtomicBool,
    outgoing: Mutex<Outgoing>,
    /// Who holds this receives for all.
    pub(crate) receiver: Mutex<Receiver>,
    pub(crate) followers: Mutex<VecDeque<Waker>>,
    pub(crate) table: Mutex<Table>,
    /// Streams for which something came, where one thread serves them all.
    pub(crate) ready: Mutex<VecDeque<Arc<StreamState>>>,
    pub(crate) serving: AtomicBool,
    /// Bytes that came over the socket and were not yet read.
    pub(crate) fallback_held: AtomicUsize,
    /// Open streams whose bytes come over the socket: while there are any, looking at the queue is
    /// not enough.
    pub(crate) over_socket: AtomicUsize,
    pub(crate) restart: Restart,
    /// Wakes a leader that sleeps; made when the first interrupter is, since a sleep that hears it
    /// costs another system call.
    pub(crate) nudge: OnceLock<Notifier>,
    /// Tasks that wait until they can send, which the driver wakes from time to time.
    #[cfg(feature = "tokio")]
    pub(crate) senders: Mutex<Vec<Waker>>,
    /// Wakes the driver, where there is one.
    #[cfg(feature = "tokio")]
    pub(crate) driver: crate::asynchronous::DriverHandle,
    /// How often somebody began to lead or ended: by this, idle sessions are told from used ones.
    uses: AtomicU64,
    /// Messages written to the socket, and reads of it: what waiting costs.
    pub(crate) socket_writes: AtomicU64,
    pub(crate) socket_reads: AtomicU64,
    created: Mutex<Option<CreatedFiles>>,
    end: OnceLock<SessionEnd>,
    /// The process that has the session. A forked child has the socket too, but not the regions.
    process: u32,
}

impl Core {
    /// A session that begins.
    pub(crate) fn new(parts: Parts, options: SessionOptions) -> Arc<Self> {
        let pool = Pool::new(Arc::clone(&parts.buffer), Arc::clone(&parts.layout));
        Arc::new(Self {
            role: parts.role,
            version: parts.version,
            peer: parts.peer,
            layout: parts.layout,
            buffer: parts.buffer,
            queue: parts.queue,
            socket: parts.socket,
            pool: Mutex::new(pool),
            producer: Mutex::new(parts.producer),
            corked: AtomicBool::new(false),
            unannounced: AtomicBool::new(false),
            outgoing: Mutex::default(),
            receiver: Mutex::new(parts.receiver),
            followers: Mutex::default(),
            table: Mutex::new(Table::new(parts.role, options.max_streams)),
            ready: Mutex::default(),
            serving: AtomicBool::new(false),
            fallback_held: AtomicUsize::new(0),
            over_socket: AtomicUsize::new(0),
            restart: Restart::default(),
            nudge: OnceLock::new(),
            #[cfg(feature = "tokio")]
            senders: Mutex::default(),
            #[cfg(feature = "tokio")]
            driver: crate::asynchronous::DriverHandle::default(),
            uses: AtomicU64::new(0),
            socket_writes: AtomicU64::new(0),
            socket_reads: AtomicU64::new(0),
            created: Mutex::new(parts.created),
            end: OnceLock::new(),
            process: std::process::id(),
            options,
        })
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

    /// Whether a driver of tasks looks after the session.
    pub(crate) fn has_driver(&self) -> bool {
        #[cfg(feature = "tokio")]
        return self.driver.is_started();
        #[cfg(not(feature = "tokio"))]
        false
    }

    /// Whether so much came over the socket that it is not read before some of that is. A peer that
    /// has gone sends no more than the socket holds, and behind that is the end, which must be
    /// heard.
    pub(crate) fn is_overfull(&self) -> bool {
        self.fallback_held.load(Ordering::Relaxed) >= self.options.fallback_limit
            && !self.has_peer_gone()
    }

    /// Whether the peer will send nothing more over the socket.
    fn has_peer_gone(&self) -> bool {
        let gone = PollFlags::RDHUP | PollFlags::HUP;
        let mut fds = [PollFd::new(&self.socket, PollFlags::RDHUP)];
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
        let _ = shutdown(&self.socket, Shutdown::Both);
        self.unlink_created();
        // What a peer did to the lists no longer matters.
        let _ = lock(&self.pool).give_back_kept();
        lock(&self.table).rouse_all();
        for waker in lock(&self.followers).drain(..) {
            waker.wake();
        }
        #[cfg(feature = "tokio")]
        self.wake_senders();
        self.restart.rouse();
        self.nudge_leader();
    }

    /// Lets the tasks that wait until they can send try again.
    #[cfg(feature = "tokio")]
    pub(crate) fn wake_senders(&self) {
        for waker in std::mem::take(&mut *lock(&self.senders)) {
            waker.wake();
        }
    }

    /// Lets a leader that sleeps look again, if it can hear.
    pub(crate) fn nudge_leader(&self) {
        if let Some(nudge) = self.nudge.get() {
            nudge.notify();
        }
    }

    /// Which region lost its memory. What was read there since is zeros, so whatever rule that
    /// seems to break, this is the cause.
    pub(crate) fn lost_region(&self) -> Option<&'static str> {
        if self.queue.is_lost() {
            Some("queue")
        } else if self.buffer.is_lost() {
            Some("buffer")
        } else {
            None
        }
    }

    /// The peer has put something. A server that has done so has mapped the files, so their names
    /// are no longer needed: nothing is left behind whoever dies.
    #[cold]
    pub(crate) fn hear_first(&self) {
        if self.role == Role::Client {
            self.unlink_created();
        }
    }

    fn unlink_created(&self) {
        drop(lock(&self.created).take());
    }

    /// Takes slices for `len` bytes; gives how many bytes found no room.
    pub(crate) fn reserve(
        &self,
        len: usize,
        slices: &mut Vec<SliceId>,
    ) -> Result<usize, SessionEnd> {
        if len >= STREAM_FROM {
            self.buffer.stream_large_copies(lock(&self.producer).is_consumer_far());
        }
        let reserved = lock(&self.pool).reserve(len, slices);
        reserved.map_err(|violation| self.broken(violation)).and_then(|missing| {
            self.judge_regions()?;
            Ok(missing)
        })
    }

    /// Ends the session if a region lost its memory: what was read there since need not break any
    /// other rule.
    #[inline]
    pub(crate) fn judge_regions(&self) -> Result<(), SessionEnd> {
        match self.lost_region() {
            None => Ok(()),
            Some(region) => Err(self.broken(Violation::Truncated(region))),
        }
    }

    /// Gives slices back that this side holds.
    pub(crate) fn give(&self, slices: impl IntoIterator<Item = SliceId>) {
        let mut pool = lock(&self.pool);
        let given = slices.into_iter().try_for_each(|slice| pool.give(slice));
        if given.is_ok() && self.ended().is_some() {
            let _ = pool.give_back_kept();
        }
        drop(pool);
        if let Err(violation) = given {
            self.broken(violation);
        }
    }

    /// Frees what pieces hold, read or not.
    #[inline]
    pub(crate) fn discard(&self, pieces: impl IntoIterator<Item = Piece>) {
        for piece in pieces {
            match piece {
                Piece::Slice { slice, .. } => self.give([slice]),
                Piece::Heap { .. } => self.forget_fallback(piece.len()),
            }
        }
    }

    /// Bytes that came over the socket were read, or nobody will read them.
    pub(crate) fn forget_fallback(&self, count: usize) {
        self.fallback_held.fetch_sub(count, Ordering::Relaxed);
    }

    /// Ends the session for a broken rule.
    pub(crate) fn broken(&self, violation: Violation) -> SessionEnd {
        tracing::debug!(%violation, "shmipc session ends");
        self.end(violation.clone().into());
        self.ended().cloned().unwrap_or(SessionEnd::Violation(violation))
    }

    /// Ends the session for a failed system call.
    pub(crate) fn failed(&self, errno: Errno) -> SessionEnd {
        self.end(errno.into());
        self.ended().cloned().unwrap_or_else(|| errno.into())
    }

    /// Sends a message of `slices`, which from then on are the peer's. False if the queue is full:
    /// then they stay ours.
    #[inline]
    pub(crate) fn publish(&self, stream: u32, slices: &[SliceId]) -> Result<bool, SessionEnd> {
        let mut producer = lock(&self.producer);
        // The peer may send the slices back as soon as they are visible, so they leave our hands
        // before.
        lock(&self.pool).part(slices);
        let put = producer.put(Element::data(stream, slices[0].offset));
        let was_put = put.is_ok();
        if !was_put {
            lock(&self.pool).keep(slices);
        }
        match self.after_put(put, producer) {
            // The session ended while the peer was to be told. It may have the message all the
            // same, so the slices must not be taken for ours again; the next operation finds the
            // end.
            Err(_) if was_put => Ok(true),
            outcome => outcome,
        }
    }

    /// Sends the end of a stream through the queue. False if it is full.
    pub(crate) fn publish_close(&self, stream: u32) -> Result<bool, SessionEnd> {
        let mut producer = lock(&self.producer);
        let put = producer.put(Element::close(stream));
        self.after_put(put, producer)
    }

    #[inline]
    fn after_put(
        &self,
        put: Result<(), PutError>,
        producer: std::sync::MutexGuard<'_, Producer>,
    ) -> Result<bool, SessionEnd> {
        match put {
            Ok(()) => {
                let corked = self.corked.load(Ordering::Relaxed);
                self.unannounced.store(corked, Ordering::Relaxed);
                let must_rouse = !corked && producer.must_rouse();
                drop(producer);
                if must_rouse {
                    self.send(&wire::bare(Kind::Polling, self.version))?;
                }
                self.judge_regions()?;
                Ok(true)
            }
            Err(PutError::Full) => {
                drop(producer);
                self.announce()?;
                Ok(false)
            }
            Err(PutError::Violation(violation)) => {
                drop(producer);
                Err(self.broken(violation))
            }
        }
    }

    /// From now on the peer is not told of each element, but of all at [`Self::uncork`]: for a
    /// thread that answers several streams in a row. A peer that looks by itself sees each at once.
    pub(crate) fn cork(&self) {
        let _producer = lock(&self.producer);
        self.corked.store(true, Ordering::Relaxed);
    }

    /// Tells the peer of what was put since [`Self::cork`].
    pub(crate) fn uncork(&self) -> Result<(), SessionEnd> {
        let producer = lock(&self.producer);
        self.corked.store(false, Ordering::Relaxed);
        drop(producer);
        self.announce()
    }

    /// Tells the peer of what it was not told of; due before anything that waits for the peer.
    #[inline]
    pub(crate) fn announce(&self) -> Result<(), SessionEnd> {
        if !self.unannounced.load(Ordering::Relaxed) {
            return Ok(());
        }
        let producer = lock(&self.producer);
        let must_rouse = self.unannounced.swap(false, Ordering::Relaxed) && producer.must_rouse();
        drop(producer);
        if must_rouse {
            self.send(&wire::bare(Kind::Polling, self.version))?;
        }
        Ok(())
    }

    /// Sends a message over the socket without waiting; what the socket does not take is sent
    /// later. True if it took everything.
    pub(crate) fn send(&self, message: &[u8]) -> Result<bool, SessionEnd> {
        self.socket_writes.fetch_add(1, Ordering::Relaxed);
        let sent = lock(&self.outgoing).send(self.socket(), message);
        sent.map_err(|errno| self.failed(errno))
    }

    /// Whether the socket has taken everything that was sent, after another try.
    pub(crate) fn flush_socket(&self) -> Result<bool, SessionEnd> {
        let flushed = lock(&self.outgoing).flush(self.socket());
        flushed.map_err(|errno| self.failed(errno))
    }

    /// Whether there are bytes that the socket has not yet taken.
    pub(crate) fn is_socket_full(&self) -> bool {
        !lock(&self.outgoing).is_empty()
    }

    /// Closes a stream towards the peer and forgets it.
    pub(crate) fn close_stream(&self, stream: &StreamState, tell_peer: bool) {
        if stream.forgotten.swap(true, Ordering::SeqCst) {
            return;
        }
        lock(&self.table).forget(stream.id);
        let over_socket = self.return_to_queue(stream);
        self.discard(stream.empty());
        if tell_peer && !stream.is_closed() && self.ended().is_none() {
            self.tell_close(stream.id, over_socket);
        }
    }

    /// In the queue, behind the stream's data; over the socket if its data went there, or if the
    /// queue is full.
    fn tell_close(&self, stream: u32, over_socket: bool) {
        let in_queue = !over_socket && matches!(self.publish_close(stream), Ok(true) | Err(_));
        if !in_queue {
            // A failure has ended the session, and with it the stream.
            let _ = self.send_behind_queue(&[&wire::stream_close(self.version, stream)]);
        }
    }

    /// Sends a message over the socket that must not overtake what is in the queue. The peer takes
    /// all of that when it is told to, and another thread that put an element may not yet have told
    /// it.
    pub(crate) fn send_behind_queue(&self, parts: &[&[u8]]) -> Result<bool, SessionEnd> {
        let mut message = wire::bare(Kind::Polling, self.version).to_vec();
        parts.iter().for_each(|part| message.extend_from_slice(part));
        self.send(&message)
    }

    /// As [`Self::send_behind_queue`], but not behind other bytes that wait for the socket; false,
    /// and nothing sent, if there are such.
    pub(crate) fn send_payload_behind_queue(&self, parts: &[&[u8]]) -> Result<bool, SessionEnd> {
        let mut message = wire::bare(Kind::Polling, self.version).to_vec();
        parts.iter().for_each(|part| message.extend_from_slice(part));
        self.socket_writes.fetch_add(1, Ordering::Relaxed);
        let sent = lock(&self.outgoing).send_if_idle(self.socket(), &message);
        Ok(sent.map_err(|errno| self.failed(errno))?.is_some())
    }

    /// From now on the stream's bytes go over the socket.
    pub(crate) fn leave_queue(&self, stream: &StreamState) {
        if !stream.over_socket.swap(true, Ordering::SeqCst) {
            self.over_socket.fetch_add(1, Ordering::Relaxed);
        }
        // Who closes it marks it as forgotten first and then looks at this; one of us sees the
        // other.
        if stream.forgotten.load(Ordering::SeqCst) {
            self.return_to_queue(stream);
        }
    }

    /// A stream that is closed counts no more among those over the socket. True if it did.
    fn return_to_queue(&self, stream: &StreamState) -> bool {
        let counted = stream.over_socket.swap(false, Ordering::SeqCst);
        if counted {
            self.over_socket.fetch_sub(1, Ordering::Relaxed);
        }
        counted
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
