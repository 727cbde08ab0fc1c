//! A stream for tasks.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use breezeway_os::Deadline;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::driver;
use crate::error::{SessionEnd, StreamError};
use crate::lock::lock;
use crate::options::{WhenExhausted, WhenFull};
use crate::reader::Peeked;
use crate::writer::NoRoom;

/// A bidirectional stream of bytes, as [`crate::Stream`], for tasks. Dropping a future of its
/// methods loses nothing.
pub struct Stream {
    stream: crate::Stream,
    /// Until when memory is waited for, if there was none to send.
    patience: Option<Deadline>,
}

impl Stream {
    /// In the current runtime.
    pub fn new(stream: crate::Stream) -> Result<Self, StreamError> {
        driver::ensure(stream.core()).map_err(SessionEnd::from)?;
        Ok(Self { stream, patience: None })
    }

    /// Its number in the session.
    pub fn id(&self) -> u32 {
        self.stream.id()
    }

    /// Waits for bytes and shows them where they lie; `None` at the end of the stream. See
    /// [`crate::Reader::peek`].
    pub async fn peek(&mut self) -> Result<Option<Peeked<'_>>, StreamError> {
        std::future::poll_fn(|context| self.poll_arrival(context)).await?;
        Ok(self.stream.shown())
    }

    /// Gives the first `len` of the bytes that were shown back. See [`crate::Reader::release`].
    pub fn release(&mut self, len: usize) {
        self.stream.release(len);
    }

    /// Sends all of `bytes`, in parts if they are many.
    pub async fn send(&mut self, mut bytes: &[u8]) -> Result<(), StreamError> {
        while !bytes.is_empty() {
            let sent = std::future::poll_fn(|context| self.poll_send(context, bytes)).await?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Closes the stream: the peer reads what was sent before, and then the end.
    pub fn close(self) {}

    /// Ready when there are bytes, or the end.
    fn poll_arrival(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        let (reader, _) = self.stream.halves();
        if reader.buffered() > 0 || reader.is_at_end() {
            return Poll::Ready(Ok(()));
        }
        if let Some(arrived) = reader.poll_more(None) {
            return Poll::Ready(arrived);
        }
        let core = reader.core().clone();
        core.receive_if_due();
        reader.poll_more(Some(context.waker())).map_or(Poll::Pending, Poll::Ready)
    }

    /// Ready when some bytes were sent.
    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize, StreamError>> {
        let (_, writer) = self.stream.halves();
        let mut outcome = writer.try_send_part(bytes)?;
        if outcome == Err(NoRoom::MemoryExhausted) {
            let core = writer.core();
            let patience =
                *self.patience.get_or_insert_with(|| Deadline::after(core.options.patience));
            match core.options.when_exhausted {
                WhenExhausted::Fail => {
                    return Poll::Ready(Err(StreamError::MemoryExhausted(bytes.len())));
                }
                WhenExhausted::UseSocket if patience.has_passed() => {
                    outcome = writer.try_send_part_over_socket(bytes)?;
                }
                _ => {}
            }
        }
        let core = writer.core();
        match outcome {
            Ok(sent) => {
                self.patience = None;
                if core.is_socket_full() {
                    core.driver.attend();
                }
                Poll::Ready(Ok(sent))
            }
            Err(NoRoom::QueueFull) if core.options.when_full == WhenFull::Fail => {
                Poll::Ready(Err(StreamError::QueueFull))
            }
            Err(_) => {
                lock(&core.senders).push(context.waker().clone());
                core.driver.attend();
                Poll::Pending
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_arrival(context))?;
        let (reader, _) = self.stream.halves();
        let count = reader.buffered().min(buffer.remaining());
        let copied = reader.copy_out(buffer.initialize_unfilled_to(count));
        buffer.advance(copied);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll_send(context, bytes).map_err(io::Error::from)
    }

    /// Nothing is held back, so there is nothing to do.
    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// A stream is closed when it is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
