//! The sending half of a stream.

mod reserved;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use breezeway_os::Deadline;

#[cfg(feature = "tokio")]
use crate::core::Core;
use crate::error::StreamError;
use crate::handle::Handle;
use crate::layout::buffer::SliceId;
use crate::options::WhenExhausted;
use crate::reader::Reader;
use crate::wire;

pub use reserved::Reserved;

pub(crate) use reserved::Space;

/// Size of the largest message that [`Writer::send`] makes: the peer can read one part while the
/// next is written, and its memory comes back early.
const PART: usize = 256 * 1024;
/// Maximum payload of one message over the socket.
const SOCKET_PART: usize = 256 * 1024;

/// Size above any region's.
const LARGEST_RESERVATION: usize = u32::MAX as usize;

/// The sending half of a stream.
pub struct Writer {
    handle: Arc<Handle>,
    /// Memory for the list of a reservation's slices, reused.
    slices: Vec<SliceId>,
    timeout: Option<Duration>,
}

impl Writer {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self { handle, slices: Vec::new(), timeout: None }
    }

    /// Returns the stream's number in the session.
    pub fn id(&self) -> u32 {
        self.handle.state.id
    }

    /// Sets the time that a send waits for room; `None` for ever, the default.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Reserves space for `len` bytes, to be filled and committed. It is in shared memory, in one
    /// or more runs; if that is exhausted and the options allow it, in private memory, which the
    /// commit sends over the socket.
    ///
    /// # Errors
    ///
    /// The peer has closed the stream, also while this waits, or an [`Interrupter`] has given it
    /// up; the session is over, memory is exhausted, or the timeout passed.
    ///
    /// [`Interrupter`]: crate::Interrupter
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
        Ok(Reserved::new(self, space))
    }

    /// Reserves space like [`reserve`](Self::reserve), but for fewer bytes if `len` is large or
    /// memory is short; at least one.
    pub fn reserve_some(&mut self, len: usize) -> Result<Reserved<'_>, StreamError> {
        self.judge_open()?;
        let len = len.clamp(1, PART);
        let space = if self.is_over_socket() {
            Space::Private(vec![0; len])
        } else {
            self.reserve_shared(len, 1, self.deadline())?
        };
        Ok(Reserved::new(self, space))
    }

    /// Sends all of `bytes`, in parts if they are many.
    ///
    /// # Errors
    ///
    /// Those of [`Self::reserve`]. If there are many parts, some may have been sent before a
    /// failure; [`io::Write::write`] returns the number of bytes sent.
    pub fn send(&mut self, mut bytes: &[u8]) -> Result<(), StreamError> {
        let deadline = self.deadline();
        while !bytes.is_empty() {
            let sent = self.send_part(bytes, deadline)?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Ends this direction: the peer reads the bytes sent before, and then the end. Bytes that it
    /// has sent, or sends until it sees the end, can still be read here. The protocol has one
    /// close, for both directions: peers that have seen it, upstream's and ours, send nothing more,
    /// not even an end of theirs. So read a known number of bytes, or set a deadline.
    ///
    /// # Errors
    ///
    /// The session is over.
    pub fn shutdown(&mut self) -> Result<(), StreamError> {
        let Handle { core, state } = &*self.handle;
        core.finish_stream(state, self.is_over_socket());
        core.flush_later();
        match core.ended() {
            Some(_) => Err(core.end_error()),
            None => Ok(()),
        }
    }

    /// Forwards received bytes of `reader`, copying them once, from shared memory to shared memory.
    /// Returns the number of bytes. Does not wait for bytes, only for room to send them: 0 if none
    /// are there. For an echo server or a proxy:
    ///
    /// ```no_run
    /// # use breezeway_shmipc::{Server, ServerOptions, Trust};
    /// # let address = "shmipc:/tmp/echo.sock".parse()?;
    /// let server = Server::bind(&address, ServerOptions::new(Trust::SameUser))?;
    /// server.serve(|stream| {
    ///     let (reader, writer) = stream.halves();
    ///     writer.forward(reader)?;
    ///     Ok(())
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Self::reserve`] and [`Reader::try_peek`]. Unsent bytes are not released.
    pub fn forward(&mut self, reader: &mut Reader) -> Result<usize, StreamError> {
        let mut sent = 0;
        while let Some(arrived) = reader.try_peek()? {
            let mut reserved = self.reserve_some(arrived.len())?;
            let copied = reserved.write_peeked(&arrived);
            reserved.commit()?;
            reader.release(copied);
            sent += copied;
        }
        Ok(sent)
    }

    /// Sends as many of `bytes` as fit into one message; at least one.
    fn send_part(&mut self, bytes: &[u8], deadline: Deadline) -> Result<usize, StreamError> {
        self.judge_open()?;
        let part = &bytes[..bytes.len().min(PART)];
        if self.is_over_socket() {
            self.send_over_socket(part, deadline)?;
            return Ok(part.len());
        }
        let space = self.reserve_shared(part.len(), 1, deadline)?;
        let mut reserved = Reserved::new(self, space);
        let sent = reserved.write(part);
        reserved.commit_until(deadline)?;
        Ok(sent)
    }

    /// Sends without waiting; if room is lacking now, nothing is sent.
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
        let mut reserved = Reserved::new(self, space);
        let sent = reserved.write(part);
        Ok(if reserved.commit_now()? { Ok(sent) } else { Err(NoRoom::QueueFull) })
    }

    /// Sends like [`try_send_part`](Self::try_send_part), over the socket whatever was used before.
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
        let is_over = state.is_closed()
            || state.finished.load(Ordering::Relaxed)
            || state.given_up.load(Ordering::SeqCst);
        if is_over { Err(StreamError::Closed) } else { Ok(()) }
    }

    /// Takes space for `len` bytes, without waiting.
    #[cfg(feature = "tokio")]
    pub(crate) fn try_space(&mut self, len: usize) -> Result<Option<Space>, StreamError> {
        self.judge_open()?;
        if len > LARGEST_RESERVATION {
            return Err(too_large(len, LARGEST_RESERVATION));
        }
        if self.is_over_socket() {
            return Ok(Some(Self::private_space(len)));
        }
        if self.handle.core.options.when_exhausted == WhenExhausted::Wait {
            self.judge_possible(len)?;
        }
        self.try_reserve_shared(len, len)
    }

    /// Returns space that goes over the socket.
    #[cfg(feature = "tokio")]
    pub(crate) fn private_space(len: usize) -> Space {
        Space::Private(vec![0; len])
    }

    /// Wraps space that was taken here, for filling.
    #[cfg(feature = "tokio")]
    pub(crate) fn fill(&mut self, space: Space) -> Reserved<'_> {
        Reserved::new(self, space)
    }

    /// Takes shared memory for `len` bytes, or for at least `enough`; otherwise acts as the options
    /// require.
    fn reserve_shared(
        &mut self,
        len: usize,
        enough: usize,
        deadline: Deadline,
    ) -> Result<Space, StreamError> {
        if let Some(space) = self.try_reserve_shared(len, enough)? {
            return Ok(space);
        }
        let options = &self.handle.core.options;
        match options.when_exhausted {
            WhenExhausted::Fail => Err(self.handle.core.memory_exhausted(len)),
            WhenExhausted::Wait => {
                self.judge_possible(len)?;
                self.wait_for_memory(len, enough, deadline)
            }
            WhenExhausted::UseSocket => {
                let patience = Deadline::after(options.patience);
                match self.wait_for_memory(len, enough, deadline.min(patience)) {
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
        deadline: Deadline,
    ) -> Result<Space, StreamError> {
        let core = Arc::clone(&self.handle.core);
        core.wait_for_room(deadline, || {
            self.judge_open()?;
            self.try_reserve_shared(len, enough)
        })
    }

    /// Takes shared memory; `None` if not even `enough` is available now.
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
        self.handle.core.counters.memory_exhausted.add(1);
        Ok(None)
    }

    /// Fails if more is needed than there ever was, for which a wait would be endless.
    fn judge_possible(&self, len: usize) -> Result<(), StreamError> {
        let largest = self.handle.core.layout.room();
        if len > largest { Err(too_large(len, largest)) } else { Ok(()) }
    }

    fn deadline(&self) -> Deadline {
        self.timeout.into()
    }

    pub(crate) fn is_over_socket(&self) -> bool {
        self.handle.state.over_socket.load(Ordering::Relaxed)
    }

    fn send_over_socket(&self, bytes: &[u8], deadline: Deadline) -> Result<(), StreamError> {
        let core = &self.handle.core;
        for part in bytes.chunks(SOCKET_PART) {
            core.wait_for_room(deadline, || {
                self.judge_open()?;
                Ok(self.try_send_over_socket(part)?.then_some(()))
            })?;
        }
        self.see_off(deadline)
    }

    /// Waits until the socket has accepted the bytes sent over it.
    fn see_off(&self, deadline: Deadline) -> Result<(), StreamError> {
        let core = &self.handle.core;
        if !core.is_socket_full() {
            return Ok(());
        }
        // All bytes were accepted for sending. The rest of this only makes them leave soon.
        let flushed = core.wait_for_room(deadline, || {
            if core.flush_socket()? {
                return Ok(Some(()));
            }
            self.judge_open()?;
            Ok(None)
        });
        match flushed {
            Err(StreamError::TimedOut | StreamError::Closed) => {
                core.flush_later();
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Sends one message over the socket. Returns false if others are still pending.
    fn try_send_over_socket(&self, part: &[u8]) -> Result<bool, StreamError> {
        let Handle { core, state } = &*self.handle;
        let header = wire::fallback_header(core.version, state.id, part.len());
        if !core.send_payload_behind_queue(&[&header, part])? {
            return Ok(false);
        }
        core.leave_queue(state);
        core.count_fallback(part.len());
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

/// Reason why nothing could be sent without waiting.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The peer has not taken earlier messages.
    QueueFull,
    /// No slice is free.
    MemoryExhausted,
    /// The socket accepts no more.
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

    /// Does nothing, because nothing is held back.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
