//! The receiving half of a stream, for tasks.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::Session;
use crate::error::StreamError;
use crate::reader::Peeked;
use crate::{reader, session};

/// The receiving half of a stream, the awaited form of [`crate::Reader`].
pub struct Reader {
    reader: reader::Reader,
}

impl Reader {
    /// Wraps a reader of a session with a driver.
    pub(super) fn new(reader: reader::Reader) -> Self {
        Self { reader }
    }

    /// Returns the blocking half.
    pub(super) fn into_blocking(self) -> reader::Reader {
        self.reader
    }

    /// Returns the stream's number in the session.
    pub fn id(&self) -> u32 {
        self.reader.id()
    }

    /// Returns the stream's session, also for its counters.
    pub fn session(&self) -> Session {
        Session::driven(session::Session { core: self.reader.core().clone() })
    }

    /// Waits for bytes and returns them in place; `None` at the end of the stream. See
    /// [`crate::Reader::peek`].
    pub async fn peek(&mut self) -> Result<Option<Peeked<'_>>, StreamError> {
        self.peek_at_least(1).await
    }

    /// Waits like [`peek`](Self::peek) for at least `len` bytes, fewer at the end of the stream.
    /// See [`crate::Reader::peek_at_least`].
    pub async fn peek_at_least(&mut self, len: usize) -> Result<Option<Peeked<'_>>, StreamError> {
        self.reader.judge_room(len)?;
        poll_fn(|context| self.poll_arrival(context, len)).await?;
        Ok((self.reader.buffered() > 0).then(|| self.reader.peeked()))
    }

    /// Releases the first `len` of the peeked bytes. See [`crate::Reader::release`].
    pub fn release(&mut self, len: usize) {
        self.reader.release(len);
    }

    /// Returns true if the peer has closed the stream and all of its bytes were released.
    pub fn is_at_end(&self) -> bool {
        self.reader.is_at_end()
    }

    /// Returns true once the peer has closed the stream, even if bytes are unread.
    pub fn is_closed(&self) -> bool {
        self.reader.is_closed()
    }

    /// Returns ready when there are `len` bytes, or at the end.
    fn poll_arrival(
        &mut self,
        context: &mut Context<'_>,
        len: usize,
    ) -> Poll<Result<(), StreamError>> {
        while self.reader.buffered() < len && !self.reader.has_ended() {
            self.reader.judge_waiting(len)?;
            if let Some(arrived) = self.reader.poll_more(None) {
                arrived?;
                continue;
            }
            let core = self.reader.core().clone();
            core.receive_if_due();
            match self.reader.poll_more(Some(context.waker())) {
                Some(arrived) => arrived?,
                None => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_arrival(context, 1))?;
        let count = self.reader.buffered().min(buffer.remaining());
        let copied = self.reader.copy_out(buffer.initialize_unfilled_to(count));
        buffer.advance(copied);
        Poll::Ready(Ok(()))
    }
}
