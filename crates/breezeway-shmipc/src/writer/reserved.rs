//! Space for one message of a stream: filled from front to back, then sent.

use std::sync::Arc;

use breezeway_os::{Deadline, TrustedPeer};

use super::{SOCKET_PART, Writer};
use crate::error::StreamError;
use crate::handle::Handle;
use crate::layout::buffer::{SLICE_HEADER, SliceId};
use crate::message;
use crate::options::WhenFull;
use crate::reader::{Peeked, Run};

/// Memory of reserved bytes.
pub(crate) enum Space {
    Shared(Vec<SliceId>),
    Private(Vec<u8>),
}

/// Space for a message, filled from front to back and then committed. Uncommitted space is given
/// back.
pub struct Reserved<'a> {
    writer: &'a mut Writer,
    space: Space,
    capacity: usize,
    written: usize,
}

impl<'a> Reserved<'a> {
    pub(super) fn new(writer: &'a mut Writer, space: Space) -> Self {
        let capacity = match &space {
            Space::Shared(slices) => {
                let lists = writer.handle.core.layout.lists();
                slices.iter().map(|slice| lists[slice.list].capacity as usize).sum()
            }
            Space::Private(bytes) => bytes.len(),
        };
        Self { writer, space, capacity, written: 0 }
    }

    /// Returns the capacity in bytes; at least the reserved size.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the number of filled bytes.
    pub fn filled(&self) -> usize {
        self.written
    }

    /// Makes room for `len` more bytes behind the present capacity: for a message of a length
    /// unknown until it is written. Upstream's `BufferWriter` grows so with each write.
    ///
    /// # Errors
    ///
    /// Those of [`Writer::reserve`]. The filled bytes stay.
    pub fn grow(&mut self, len: usize) -> Result<(), StreamError> {
        let deadline = self.writer.deadline();
        if matches!(self.space, Space::Shared(_)) && self.writer.is_over_socket() {
            self.move_to_private();
        }
        if let Space::Shared(slices) = &mut self.space {
            match self.writer.reserve_shared(len, len, deadline)? {
                Space::Shared(mut more) => {
                    slices.append(&mut more);
                    let lists = self.writer.handle.core.layout.lists();
                    let room = |slice: &SliceId| lists[slice.list].capacity as usize;
                    self.capacity = slices.iter().map(room).sum();
                    return Ok(());
                }
                // The memory is exhausted: the whole message goes over the socket.
                Space::Private(_) => self.move_to_private(),
            }
        }
        if let Space::Private(bytes) = &mut self.space {
            bytes.resize(bytes.len() + len, 0);
            self.capacity = bytes.len();
        }
        Ok(())
    }

    /// Copies all of `bytes` behind the filled ones, growing as needed.
    ///
    /// # Errors
    ///
    /// Those of [`Self::grow`]. As many bytes as fitted before were copied.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        let written = self.write(bytes);
        if written < bytes.len() {
            self.grow(bytes.len() - written)?;
            self.write(&bytes[written..]);
        }
        Ok(())
    }

    /// Copies as many of `bytes` as still fit behind the filled ones. Returns their number.
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

    /// Copies as many of the first received bytes as still fit, without an intermediate buffer.
    /// Returns their number.
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

    /// Copies the bytes that fit into one run of space; at least one byte.
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

    /// Returns the next run of space, to be filled in place and counted with [`Self::advance`];
    /// empty when all is filled. It holds arbitrary bytes.
    ///
    /// `proof` asserts that the peer does not write memory of this side.
    #[allow(unsafe_code, reason = "the slice's exclusiveness is known here only")]
    pub fn run_mut(&mut self, proof: TrustedPeer) -> &mut [u8] {
        if self.written == self.capacity {
            return &mut [];
        }
        if matches!(self.space, Space::Shared(_)) {
            let (at, room) = self.next_run();
            // SAFETY: the slice was taken for this reservation alone, which is borrowed exclusively
            // as long as the result lives.
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
    /// If there is less space.
    pub fn advance(&mut self, len: usize) {
        assert!(len <= self.capacity - self.written, "{len} bytes do not fit");
        self.written += len;
    }

    /// Sends the filled bytes, and releases the borrow of the stream. The peer can read filled
    /// bytes from the moment they are written, like all of the region.
    ///
    /// # Errors
    ///
    /// Those of [`Writer::reserve`]. Then nothing was sent, and the filled bytes are lost: see
    /// [`Self::try_commit`].
    /// [`Self::try_commit`].
    pub fn commit(mut self) -> Result<(), StreamError> {
        self.try_commit()
    }

    /// Sends like [`commit`](Self::commit), but keeps everything on an error, so that the call can
    /// be repeated; otherwise dropping this gives the space back.
    ///
    /// # Errors
    ///
    /// Those of [`Writer::reserve`].
    pub fn try_commit(&mut self) -> Result<(), StreamError> {
        let deadline = self.writer.deadline();
        self.commit_until(deadline)
    }

    pub(super) fn commit_until(&mut self, deadline: Deadline) -> Result<(), StreamError> {
        self.writer.judge_open()?;
        if !self.commit_now()? {
            self.commit_later(deadline)?;
        }
        // Bytes sent over the socket may not all have been accepted.
        if matches!(self.space, Space::Private(_)) { self.writer.see_off(deadline) } else { Ok(()) }
    }

    fn commit_later(&mut self, deadline: Deadline) -> Result<(), StreamError> {
        let core = Arc::clone(&self.writer.handle.core);
        if core.options.when_full == WhenFull::Fail && matches!(self.space, Space::Shared(_)) {
            return Err(StreamError::QueueFull);
        }
        core.wait_for_room(deadline, || {
            self.writer.judge_open()?;
            Ok(self.commit_now()?.then_some(()))
        })
    }

    /// Sends the filled bytes. Returns false if the message has no room now.
    pub(crate) fn commit_now(&mut self) -> Result<bool, StreamError> {
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
                if !core.publish(state.id, &slices[..used], self.written)? {
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

    /// Moves the message to private memory, to be sent over the socket: the peer has used the
    /// socket since the space was reserved, or the shared memory is exhausted.
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

    /// Sends part after part; sent parts are removed, so that a later try continues behind them.
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

    #[cfg(feature = "tokio")]
    pub(crate) fn core(&self) -> &Arc<crate::core::Core> {
        &self.writer.handle.core
    }

    /// Returns true if it is in shared memory.
    #[cfg(feature = "tokio")]
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.space, Space::Shared(_))
    }

    /// Returns the offset of the next byte, and the number of bytes that fit there.
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
