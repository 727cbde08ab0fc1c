//! The receiving half of a stream.

mod peeked;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use breezeway_os::Deadline;

use crate::core::Core;
use crate::error::{SessionEnd, StreamError};
use crate::handle::Handle;
use crate::interrupter::Interrupter;
use crate::message::Piece;
use crate::stream_state::{Arrival, StreamState};

pub use peeked::{Peeked, Run};

/// The receiving half of a stream.
pub struct Reader {
    handle: Arc<Handle>,
    /// Pieces taken from the unread ones and not yet released.
    reading: VecDeque<Piece>,
    buffered: usize,
    at_end: bool,
    timeout: Option<Duration>,
    deadline: Deadline,
}

impl Reader {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self {
            handle,
            reading: VecDeque::new(),
            buffered: 0,
            at_end: false,
            timeout: None,
            deadline: Deadline::NEVER,
        }
    }

    /// Returns the stream's number in the session.
    pub fn id(&self) -> u32 {
        self.handle.state.id
    }

    /// Waits for bytes and returns all received ones in place. `None` at the end: the peer has
    /// closed the stream, and all of its bytes were released.
    ///
    /// # Errors
    ///
    /// The timeout, an interrupter, or the end of the session. Bytes received before the session's
    /// end are returned first.
    pub fn peek(&mut self) -> Result<Option<Peeked<'_>>, StreamError> {
        self.peek_until(1)
    }

    /// Waits like [`peek`](Self::peek) until `len` bytes came, or the stream's end, which leaves
    /// fewer.
    ///
    /// Unreleased bytes take room, in the buffer region or, if they came over the socket, in
    /// private memory up to [`fallback_limit`](crate::SessionOptions::fallback_limit). Both
    /// together are the maximum that can arrive before something is released. The peer determines
    /// how much of that arrives: by the filling of its slices, and by the use of the socket once
    /// the region is exhausted.
    ///
    /// # Errors
    ///
    /// Those of [`Self::peek`]; [`StreamError::TooLarge`] at once for more than both together have
    /// room for, whenever the stream may end, and later if this stream alone holds all that may
    /// come over the socket.
    pub fn peek_at_least(&mut self, len: usize) -> Result<Option<Peeked<'_>>, StreamError> {
        self.judge_room(len)?;
        self.peek_until(len)
    }

    /// Fails for more bytes than there is room for, which would never come.
    pub(crate) fn judge_room(&self, len: usize) -> Result<(), StreamError> {
        let core = &self.handle.core;
        let largest = core.layout.room().saturating_add(core.options.fallback_limit);
        if len > largest { Err(too_large(len, largest)) } else { Ok(()) }
    }

    /// Returns true if the peer has closed the stream, even if bytes are unread.
    #[cfg(feature = "tokio")]
    pub(crate) fn has_ended(&self) -> bool {
        self.at_end
    }

    fn peek_until(&mut self, len: usize) -> Result<Option<Peeked<'_>>, StreamError> {
        let deadline = self.deadline_of_wait();
        while self.buffered < len && !self.at_end {
            self.judge_waiting(len)?;
            self.wait_for_more(deadline)?;
        }
        Ok((self.buffered > 0).then(|| self.peeked()))
    }

    /// Fails if waiting is of no use: once bytes came over the socket all of a stream's bytes do,
    /// and the socket is not read while too many are held, in this case by this stream alone.
    pub(crate) fn judge_waiting(&self, len: usize) -> Result<(), StreamError> {
        let Handle { core, state } = &*self.handle;
        if !state.over_socket.load(Ordering::Relaxed) || state.is_closed() {
            return Ok(());
        }
        let from_socket = |piece: &&Piece| matches!(piece, Piece::Heap { .. });
        let held: usize = self.reading.iter().filter(from_socket).map(Piece::len).sum();
        let all = held >= core.options.fallback_limit && core.is_overfull();
        if all { Err(too_large(len, self.buffered)) } else { Ok(()) }
    }

    /// Returns the bytes that have already arrived; `None` if there are none, and then
    /// [`Self::is_at_end`] shows whether more can come.
    pub fn try_peek(&mut self) -> Result<Option<Peeked<'_>>, StreamError> {
        if self.buffered == 0 && !self.at_end {
            let outcome = self.poll_more(None).or_else(|| {
                self.receive_now();
                self.poll_more(None)
            });
            outcome.transpose()?;
        } else if !self.at_end && self.handle.state.has_arrivals() {
            // Behind the bytes left unread.
            self.poll_more(None).transpose()?;
        }
        Ok((self.buffered > 0).then(|| self.peeked()))
    }

    /// Receives without waiting; from the socket only if bytes are known to come there, because
    /// that costs a system call. Not at all where one thread receives for all streams that it
    /// serves.
    fn receive_now(&self) {
        let Handle { core, state } = &*self.handle;
        if core.serving.load(Ordering::Relaxed) {
            return;
        }
        if state.over_socket.load(Ordering::Relaxed) {
            core.help_receive();
        } else {
            core.receive_now();
        }
    }

    /// Releases the first `len` of the peeked bytes: their memory is used for other messages from
    /// now on.
    ///
    /// # Panics
    ///
    /// If fewer bytes were peeked.
    pub fn release(&mut self, len: usize) {
        assert!(len <= self.buffered, "release of {len} bytes, {} were shown", self.buffered);
        self.consume(len);
    }

    /// Returns true if the peer has closed the stream and all of its bytes were released.
    pub fn is_at_end(&self) -> bool {
        self.at_end && self.buffered == 0
    }

    /// Returns true once the peer has closed the stream, even if bytes are unread.
    pub fn is_closed(&self) -> bool {
        self.handle.state.is_closed()
    }

    /// Sets the timeout of reads; `None` for ever, the default.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Sets the deadline of reads, whatever the timeout; [`Deadline::NEVER`] is the default.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    /// Returns a handle that ends a wait from another thread. From then on, a sleep of the session
    /// costs one more system call.
    pub fn interrupter(&self) -> Result<Interrupter, StreamError> {
        let core = &self.handle.core;
        core.make_leader_notifier().map_err(SessionEnd::from)?;
        Ok(Interrupter { core: Arc::clone(core), state: Arc::clone(&self.handle.state) })
    }

    /// Copies received bytes into `buffer`; waits for at least one byte. 0 at the end of the
    /// stream.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.buffered == 0 && self.peek()?.is_none() {
            return Ok(0);
        }
        Ok(self.copy_out(buffer))
    }

    /// Copies as many bytes as there are into `buffer`, and releases them.
    pub(crate) fn copy_out(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.buffered);
        self.peeked().copy_to(&mut buffer[..count]);
        self.consume(count);
        count
    }

    fn consume(&mut self, mut len: usize) {
        self.buffered -= len;
        while len > 0 {
            let Some(piece) = self.reading.front_mut() else { return };
            let count = len.min(piece.len());
            if let Piece::Heap { .. } = piece {
                self.handle.core.forget_fallback(count);
            }
            piece.advance(count);
            len -= count;
            if piece.len() == 0 {
                let piece = self.reading.pop_front();
                self.handle.core.discard(piece);
            }
        }
    }

    pub(crate) fn peeked(&self) -> Peeked<'_> {
        Peeked { core: &self.handle.core, pieces: &self.reading, len: self.buffered }
    }

    fn deadline_of_wait(&self) -> Deadline {
        self.deadline.min(self.timeout.into())
    }

    #[inline]
    fn wait_for_more(&mut self, deadline: Deadline) -> Result<(), StreamError> {
        let handle = Arc::clone(&self.handle);
        handle.core.wait(deadline, &mut |waker: Option<&Waker>| self.poll_more(waker))?
    }

    /// Takes received bytes, or the end; `None` if there are none, and then `waker` is woken when
    /// some come.
    #[inline]
    pub(crate) fn poll_more(&mut self, waker: Option<&Waker>) -> Option<Result<(), StreamError>> {
        let Handle { core, state } = &*self.handle;
        // Read before collecting: data delivered before the session ended is collected first.
        let ended = core.ended().is_some();
        match state.collect(&mut self.reading, waker) {
            Some(Arrival::Bytes) => {
                self.buffered = self.reading.iter().map(Piece::len).sum();
                Some(Ok(()))
            }
            Some(Arrival::End) => {
                self.at_end = true;
                Some(Ok(()))
            }
            None if state.interrupted.load(Ordering::Relaxed) => {
                state.interrupted.store(false, Ordering::SeqCst);
                Some(Err(StreamError::Interrupted))
            }
            None if ended => Some(Err(core.end_error())),
            None => None,
        }
    }

    /// Returns the number of bytes taken from the unread ones and not yet released.
    #[cfg(feature = "tokio")]
    pub(crate) fn buffered(&self) -> usize {
        self.buffered
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.handle.core
    }

    pub(crate) fn state(&self) -> &Arc<StreamState> {
        &self.handle.state
    }

    pub(crate) fn has_arrivals(&self) -> bool {
        self.buffered > 0 || self.handle.state.has_arrivals()
    }
}

fn too_large(len: usize, largest: usize) -> StreamError {
    StreamError::TooLarge { len, largest, option: "fallback_limit" }
}

impl io::Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.receive(buffer)?)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if !self.reading.is_empty() && !self.handle.core.is_elsewhere() {
            self.handle.core.discard(self.reading.drain(..));
        }
    }
}
