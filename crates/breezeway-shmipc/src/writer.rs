//! The sending half of a stream.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use breezeway_shm::TrustedPeer;

#[cfg(feature = "tokio")]
use crate::core::Core;
use crate::error::StreamError;
use crate::layout::buffer::{SLICE_HEADER, SliceId};
use crate::message;
use crate::options::{WhenExhausted, WhenFull};
use crate::reader::{Peeked, Run};
use crate::stream::Handle;
use crate::wire;

/// The largest message that [`Writer::send`] makes: the peer can read one part while the next is written, and its memory comes back early.
const PART: usize = 256 * 1024;
/// The most payload of one message over the socket.
const SOCKET_PART: usize = 256 * 1024;

/// More than any region holds.
const LARGEST_RESERVATION: usize = u32::MAX as usize;

/// The sending half of a stream.
pub struct Writer {
    handle: Arc<Handle>,
    /// Memory for the list of a reservation's slices, used again and again.
    slices: Vec<SliceId>,
    timeout: Option<Duration>,
}

impl Writer {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self { handle, slices: Vec::new(), timeout: None }
    }

    /// The stream's number in the session.
    pub fn id(&self) -> u32 {
        self.handle.state.id
    }

    /// How long a send waits for room; `None` for ever, the default.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Takes space for `len` bytes, to be filled and committed. It lies in shared memory, in one or more runs; where that is exhausted and the options say so, in private memory,
    /// which the commit sends over the socket.
    ///
    /// # Errors
    ///
    /// The peer has closed the stream, the session is over, there is no memory, or the timeout passed.
    pub fn reserve(&mut self, len: usize) -> Result<Reserved<'_>, StreamError> {
        self.judge_open()?;
        if len > LARGEST_RESERVATION {
            return Err(too_large(len, LARGEST_RESERVATION));
        }
        let space = if self.is_over_socket() {
            Space::Private(vec![0; len])
        } else {
            self.reserve_shared(len, len, self.deadline())?
        };
        let capacity = self.capacity_of(&space).max(len);
        Ok(Reserved { writer: self, space, capacity, written: 0 })
    }

    /// As [`Self::reserve`], but for fewer bytes if `len` are many or memory is short; at least one.
    pub fn reserve_some(&mut self, len: usize) -> Result<Reserved<'_>, StreamError> {
        self.judge_open()?;
        let len = len.clamp(1, PART);
        let space = if self.is_over_socket() {
            Space::Private(vec![0; len])
        } else {
            self.reserve_shared(len, 1, self.deadline())?
        };
        let capacity = self.capacity_of(&space);
        Ok(Reserved { writer: self, space, capacity, written: 0 })
    }

    /// Sends all of `bytes`, in parts if they are many.
    ///
    /// # Errors
    ///
    /// As [`Self::reserve`]. Of many parts, some may have been sent before a failure; [`io::Write::write`] tells how many bytes were.
    pub fn send(&mut self, mut bytes: &[u8]) -> Result<(), StreamError> {
        let deadline = self.deadline();
        while !bytes.is_empty() {
            let sent = self.send_part(bytes, deadline)?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Sends as many of `bytes` as one message takes; at least one.
    fn send_part(&mut self, bytes: &[u8], deadline: Option<Instant>) -> Result<usize, StreamError> {
        self.judge_open()?;
        let part = &bytes[..bytes.len().min(PART)];
        if self.is_over_socket() {
            self.send_over_socket(part, deadline)?;
            return Ok(part.len());
        }
        let space = self.reserve_shared(part.len(), 1, deadline)?;
        let capacity = self.capacity_of(&space);
        let mut reserved = Reserved { writer: self, space, capacity, written: 0 };
        let sent = reserved.write(part);
        reserved.commit_until(deadline)?;
        Ok(sent)
    }

    /// Sends without waiting; if there is no room now, nothing was sent.
    #[cfg(feature = "tokio")]
    pub(crate) fn try_send_part(
        &mut self,
        bytes: &[u8],
    ) -> Result<Result<usize, NoRoom>, StreamError> {
        self.judge_open()?;
        let part = &bytes[..bytes.len().min(PART)];
        if self.is_over_socket() {
            return self.try_send_part_over_socket(part);
        }
        let Some(space) = self.try_reserve_shared(part.len(), 1)? else {
            return Ok(Err(NoRoom::MemoryExhausted));
        };
        let capacity = self.capacity_of(&space);
        let mut reserved = Reserved { writer: self, space, capacity, written: 0 };
        let sent = reserved.write(part);
        Ok(if reserved.try_commit()? { Ok(sent) } else { Err(NoRoom::QueueFull) })
    }

    /// As [`Self::try_send_part`], over the socket whatever came before.
    #[cfg(feature = "tokio")]
    pub(crate) fn try_send_part_over_socket(
        &self,
        bytes: &[u8],
    ) -> Result<Result<usize, NoRoom>, StreamError> {
        let part = &bytes[..bytes.len().min(SOCKET_PART)];
        let sent = self.try_send_over_socket(part)?;
        Ok(if sent { Ok(part.len()) } else { Err(NoRoom::SocketFull) })
    }

    fn judge_open(&self) -> Result<(), StreamError> {
        let Handle { core, state } = &*self.handle;
        if core.ended().is_some() {
            return Err(core.end_error());
        }
        if state.is_closed() { Err(StreamError::Closed) } else { Ok(()) }
    }

    /// Shared memory for `len` bytes, or for at least `enough`; else what the options say.
    fn reserve_shared(
        &mut self,
        len: usize,
        enough: usize,
        deadline: Option<Instant>,
    ) -> Result<Space, StreamError> {
        if let Some(space) = self.try_reserve_shared(len, enough)? {
            return Ok(space);
        }
        let options = &self.handle.core.options;
        match options.when_exhausted {
            WhenExhausted::Fail => Err(StreamError::MemoryExhausted(len)),
            WhenExhausted::Wait => {
                self.judge_possible(len)?;
                self.wait_for_memory(len, enough, deadline)
            }
            WhenExhausted::UseSocket => {
                let patience = Instant::now().checked_add(options.patience);
                let patience = [patience, deadline].into_iter().flatten().min();
                match self.wait_for_memory(len, enough, patience) {
                    Err(StreamError::TimedOut) => Ok(Space::Private(vec![0; len])),
                    outcome => outcome,
                }
            }
        }
    }

    fn wait_for_memory(
        &mut self,
        len: usize,
        enough: usize,
        deadline: Option<Instant>,
    ) -> Result<Space, StreamError> {
        let core = Arc::clone(&self.handle.core);
        core.wait_for_room(deadline, || self.try_reserve_shared(len, enough))
    }

    /// `None` if not even `enough` can be had now.
    fn try_reserve_shared(
        &mut self,
        len: usize,
        enough: usize,
    ) -> Result<Option<Space>, StreamError> {
        let mut slices = std::mem::take(&mut self.slices);
        let outcome = self.handle.core.reserve(len.max(1), &mut slices);
        if outcome.as_ref().is_ok_and(|missing| len.max(1) - missing >= enough) {
            return Ok(Some(Space::Shared(slices)));
        }
        self.handle.core.give(slices.drain(..));
        self.slices = slices;
        outcome?;
        Ok(None)
    }

    /// Waiting for more than there ever was would be for ever.
    fn judge_possible(&self, len: usize) -> Result<(), StreamError> {
        let largest = self.handle.core.layout.room();
        if len > largest { Err(too_large(len, largest)) } else { Ok(()) }
    }

    fn capacity_of(&self, space: &Space) -> usize {
        let lists = self.handle.core.layout.lists();
        match space {
            Space::Shared(slices) => {
                slices.iter().map(|slice| lists[slice.list].capacity as usize).sum()
            }
            Space::Private(bytes) => bytes.len(),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }

    fn is_over_socket(&self) -> bool {
        self.handle.state.over_socket.load(Ordering::Relaxed)
    }

    fn send_over_socket(&self, bytes: &[u8], deadline: Option<Instant>) -> Result<(), StreamError> {
        let core = &self.handle.core;
        for part in bytes.chunks(SOCKET_PART) {
            core.wait_for_room(deadline, || Ok(self.try_send_over_socket(part)?.then_some(())))?;
        }
        // All was accepted. The rest of this only sees to it that it goes out soon; if the time is over, later operations go on with it.
        match core.wait_for_room(deadline, || Ok(core.flush_socket()?.then_some(()))) {
            Err(StreamError::TimedOut) => Ok(()),
            outcome => outcome,
        }
    }

    /// One message over the socket; false if others are still pending.
    fn try_send_over_socket(&self, part: &[u8]) -> Result<bool, StreamError> {
        let Handle { core, state } = &*self.handle;
        let header = wire::fallback_header(core.version, state.id, part.len());
        if !core.send_payload_behind_queue(&[&header, part])? {
            return Ok(false);
        }
        core.leave_queue(state);
        Ok(true)
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.handle.core
    }
}

fn too_large(len: usize, largest: usize) -> StreamError {
    StreamError::TooLarge { len, largest, option: "buffer_size" }
}

/// Why nothing could be sent without waiting.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The peer has not taken what was sent before.
    QueueFull,
    /// There are no free slices.
    MemoryExhausted,
    /// The socket takes no more.
    SocketFull,
}

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let deadline = self.deadline();
        Ok(self.send_part(bytes, deadline)?)
    }

    /// Nothing is held back, so there is nothing to do.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where reserved bytes lie.
enum Space {
    Shared(Vec<SliceId>),
    Private(Vec<u8>),
}

/// Space for a message, filled from front to back and then committed. What is not committed goes back.
pub struct Reserved<'a> {
    writer: &'a mut Writer,
    space: Space,
    capacity: usize,
    written: usize,
}

impl Reserved<'_> {
    /// How many bytes fit in all; at least what was reserved.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many bytes were filled.
    pub fn filled(&self) -> usize {
        self.written
    }

    /// Copies as many of `bytes` as still fit behind what was filled; gives how many that were.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while !rest.is_empty() && self.written < self.capacity {
            let count = match &mut self.space {
                Space::Private(space) => {
                    let count = rest.len().min(space.len() - self.written);
                    space[self.written..][..count].copy_from_slice(&rest[..count]);
                    count
                }
                Space::Shared(_) => {
                    let (at, room) = self.next_run();
                    let count = rest.len().min(room as usize);
                    self.writer.handle.core.buffer.copy_from(at, &rest[..count]);
                    count
                }
            };
            self.written += count;
            rest = &rest[count..];
        }
        bytes.len() - rest.len()
    }

    /// Copies as many of the first received bytes as still fit, without a stop in between; gives how many that were.
    pub fn write_peeked(&mut self, peeked: &Peeked<'_>) -> usize {
        let before = self.written;
        for run in peeked.runs() {
            let mut skip = 0;
            while skip < run.len() && self.written < self.capacity {
                skip += self.write_run(&run, skip);
            }
        }
        self.written - before
    }

    /// Copies what fits into one run of space; at least one byte.
    fn write_run(&mut self, run: &Run<'_>, skip: usize) -> usize {
        let (at, room) = self.next_run();
        let count = match &mut self.space {
            Space::Private(space) => {
                let count = (run.len() - skip).min(space.len() - self.written);
                run.copy_part(skip, &mut space[self.written..][..count]);
                count
            }
            Space::Shared(_) => {
                let count = (run.len() - skip).min(room as usize);
                run.copy_into(skip, &self.writer.handle.core.buffer, at, count);
                count
            }
        };
        self.written += count;
        count
    }

    /// The next run of space, to be filled in place and counted with [`Self::advance`]; empty when all is filled. It holds whatever was there before.
    ///
    /// `proof` is the word of its maker that the peer does not write what is ours.
    #[allow(unsafe_code, reason = "the slice's exclusiveness is known here only")]
    pub fn run_mut(&mut self, proof: TrustedPeer) -> &mut [u8] {
        if self.written == self.capacity {
            return &mut [];
        }
        if matches!(self.space, Space::Shared(_)) {
            let (at, room) = self.next_run();
            // SAFETY: the slice was taken for this reservation alone, which is borrowed exclusively as long as the result lives.
            return unsafe { self.writer.handle.core.buffer.slice_mut(at, room, proof) };
        }
        match &mut self.space {
            Space::Private(bytes) => &mut bytes[self.written..],
            Space::Shared(_) => &mut [],
        }
    }

    /// Counts `len` bytes of [`Self::run_mut`] as filled.
    ///
    /// # Panics
    ///
    /// If there is not so much space.
    pub fn advance(&mut self, len: usize) {
        assert!(len <= self.capacity - self.written, "{len} bytes do not fit");
        self.written += len;
    }

    /// Sends what was filled. On an error nothing was sent and everything stays, so that this can be called again; without that the space goes back. What was filled can
    /// be read by the peer from the moment it is written, as all of the region.
    ///
    /// # Errors
    ///
    /// As [`Writer::reserve`].
    pub fn commit(&mut self) -> Result<(), StreamError> {
        let deadline = self.writer.deadline();
        self.commit_until(deadline)
    }

    fn commit_until(&mut self, deadline: Option<Instant>) -> Result<(), StreamError> {
        self.writer.judge_open()?;
        if self.try_commit()? {
            return Ok(());
        }
        let core = Arc::clone(&self.writer.handle.core);
        if core.options.when_full == WhenFull::Fail && matches!(self.space, Space::Shared(_)) {
            return Err(StreamError::QueueFull);
        }
        core.wait_for_room(deadline, || Ok(self.try_commit()?.then_some(())))
    }

    /// False if there is no room for the message now.
    fn try_commit(&mut self) -> Result<bool, StreamError> {
        if self.written == 0 {
            return Ok(true);
        }
        let over_socket = self.writer.is_over_socket();
        match &mut self.space {
            Space::Shared(_) if over_socket => self.move_to_private(),
            Space::Shared(slices) => {
                let Handle { core, state } = &*self.writer.handle;
                let spare = message::link(&core.buffer, &core.layout, slices, self.written);
                let used = slices.len() - spare.len();
                if !core.publish(state.id, &slices[..used])? {
                    return Ok(false);
                }
                core.give(slices.drain(used..));
                slices.clear();
                (self.written, self.capacity) = (0, 0);
                return Ok(true);
            }
            Space::Private(_) => {}
        }
        self.commit_private()
    }

    /// The peer has sent over the socket since the space was reserved; from then on so do we.
    fn move_to_private(&mut self) {
        let Space::Shared(slices) = &mut self.space else { return };
        let core = &self.writer.handle.core;
        let mut bytes = vec![0; self.written];
        let mut rest = &mut bytes[..];
        for slice in slices.iter() {
            let count = rest.len().min(core.layout.lists()[slice.list].capacity as usize);
            let (now, later) = rest.split_at_mut(count);
            core.buffer.copy_to(slice.offset + SLICE_HEADER, now);
            rest = later;
        }
        core.give(slices.drain(..));
        self.space = Space::Private(bytes);
        self.capacity = self.written;
    }

    /// Part after part; those that went are taken off, so that a later try goes on behind them.
    fn commit_private(&mut self) -> Result<bool, StreamError> {
        let Space::Private(bytes) = &mut self.space else { return Ok(true) };
        while self.written > 0 {
            let count = self.written.min(SOCKET_PART);
            if !self.writer.try_send_over_socket(&bytes[..count])? {
                return Ok(false);
            }
            bytes.drain(..count);
            self.written -= count;
            self.capacity -= count;
        }
        Ok(true)
    }

    /// Where the next byte goes, and how many fit there.
    fn next_run(&self) -> (u32, u32) {
        let Space::Shared(slices) = &self.space else { return (0, 0) };
        let lists = self.writer.handle.core.layout.lists();
        let mut skip = self.written;
        for slice in slices {
            let capacity = lists[slice.list].capacity;
            if skip < capacity as usize {
                let skip = skip as u32;
                return (slice.offset + SLICE_HEADER + skip, capacity - skip);
            }
            skip -= capacity as usize;
        }
        (0, 0)
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if let Space::Shared(slices) = &mut self.space {
            let mut slices = std::mem::take(slices);
            self.writer.handle.core.give(slices.drain(..));
            self.writer.slices = slices;
        }
    }
}
