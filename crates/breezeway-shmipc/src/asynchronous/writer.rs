//! The sending half of a stream, for tasks.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use breezeway_os::Deadline;
use tokio::io::AsyncWrite;

use super::Session;
use super::reserved::Reserved;
use crate::core::Core;
use crate::error::StreamError;
use crate::lock::lock;
use crate::options::{WhenExhausted, WhenFull};
use crate::writer::{NoRoom, Space};
use crate::{session, writer};

/// The sending half of a stream, the awaited form of [`crate::Writer`].
pub struct Writer {
    writer: writer::Writer,
    /// Deadline of the wait for memory, if there was none to send.
    patience: Option<Deadline>,
    /// True if the present send has waited for room.
    has_waited: bool,
}

impl Writer {
    /// Wraps a writer of a session with a driver.
    pub(super) fn new(writer: writer::Writer) -> Self {
        Self { writer, patience: None, has_waited: false }
    }

    /// Returns the blocking half.
    pub(super) fn into_blocking(self) -> writer::Writer {
        self.writer
    }

    /// Returns the stream's number in the session.
    pub fn id(&self) -> u32 {
        self.writer.id()
    }

    /// Returns the stream's session, also for its counters.
    pub fn session(&self) -> Session {
        Session::driven(session::Session { core: Arc::clone(self.writer.core()) })
    }

    /// Sends all of `bytes`, in parts if they are many.
    pub async fn send(&mut self, mut bytes: &[u8]) -> Result<(), StreamError> {
        while !bytes.is_empty() {
            let sent = poll_fn(|context| self.poll_send(context, bytes)).await?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Reserves space for `len` bytes in shared memory, to be filled and committed. See
    /// [`crate::Writer::reserve`].
    pub async fn reserve(&mut self, len: usize) -> Result<Reserved<'_>, StreamError> {
        // Nothing awaits from here to the reservation, so that no space is lost.
        let space = poll_fn(|context| self.poll_space(context, len)).await?;
        Ok(Reserved::new(self.writer.fill(space)))
    }

    /// Ends this direction of the stream. See [`crate::Writer::shutdown`].
    pub fn shutdown(&mut self) -> Result<(), StreamError> {
        self.writer.shutdown()
    }

    fn poll_space(
        &mut self,
        context: &mut Context<'_>,
        len: usize,
    ) -> Poll<Result<Space, StreamError>> {
        let space = match self.writer.try_space(len)? {
            Some(space) => Some(space),
            None if self.exhausted(len)? => Some(writer::Writer::private_space(len)),
            None => None,
        };
        match space {
            Some(space) => {
                self.found_room();
                Poll::Ready(Ok(space))
            }
            None => self.wait(context),
        }
    }

    /// Returns ready when some bytes were sent.
    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize, StreamError>> {
        let mut outcome = self.writer.try_send_part(bytes)?;
        if outcome == Err(NoRoom::MemoryExhausted) && self.exhausted(bytes.len())? {
            outcome = self.writer.try_send_part_over_socket(bytes)?;
        }
        let core = self.writer.core();
        match outcome {
            Ok(sent) => {
                if core.is_socket_full() {
                    core.driver.attend();
                }
                self.found_room();
                Poll::Ready(Ok(sent))
            }
            Err(NoRoom::QueueFull) if core.options.when_full == WhenFull::Fail => {
                Poll::Ready(Err(StreamError::QueueFull))
            }
            Err(_) => self.wait(context),
        }
    }

    /// Handles exhausted memory. Returns true if the socket must be used now.
    fn exhausted(&mut self, len: usize) -> Result<bool, StreamError> {
        let core = self.writer.core();
        let patience = *self.patience.get_or_insert_with(|| Deadline::after(core.options.patience));
        match core.options.when_exhausted {
            WhenExhausted::Fail => Err(core.memory_exhausted(len)),
            WhenExhausted::UseSocket => Ok(patience.has_passed()),
            WhenExhausted::Wait => Ok(false),
        }
    }

    fn found_room(&mut self) {
        self.patience = None;
        if std::mem::take(&mut self.has_waited) {
            self.writer.core().driver.note_progress();
        }
    }

    fn wait<T>(&mut self, context: &Context<'_>) -> Poll<T> {
        self.has_waited = true;
        wait_for_room(self.writer.core(), context);
        Poll::Pending
    }
}

/// Registers the task to be woken to try again.
pub(super) fn wait_for_room(core: &Core, context: &Context<'_>) {
    let mut senders = lock(&core.senders);
    if !senders.iter().any(|known| known.will_wake(context.waker())) {
        senders.push(context.waker().clone());
    }
    drop(senders);
    if core.ended().is_some() {
        // The session may have ended, on another thread, before this task was registered.
        core.wake_senders();
    }
    core.driver.attend_sender();
}

impl AsyncWrite for Writer {
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

    /// Waits until the socket has accepted this stream's bytes that go over it, which the session's
    /// end would lose. In shared memory nothing is held back.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let core = self.writer.core();
        if !self.writer.is_over_socket() || core.flush_socket().map_err(StreamError::from)? {
            return Poll::Ready(Ok(()));
        }
        // The driver has been flushing the socket since the send that left bytes, and wakes this
        // task.
        wait_for_room(core, context);
        Poll::Pending
    }

    /// Ends this direction like [`Writer::shutdown`].
    fn poll_shutdown(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.writer.shutdown().map_err(io::Error::from))
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Wake, Waker};

    use super::*;
    use crate::options::{ClientOptions, ServerOptions, SessionOptions, Trust};

    struct Task;

    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }

    #[tokio::test]
    async fn a_task_that_polls_again_and_again_for_room_waits_once() {
        let session = SessionOptions::new().when_exhausted(WhenExhausted::Wait);
        let options = ClientOptions::new(Trust::SameUser).buffer_size(1 << 20).session(session);
        let server = ServerOptions::new(Trust::SameUser);
        let (client, _server) = session::Session::pair(&options, &server).unwrap();
        let mut stream = super::super::Stream::new(client.open().unwrap()).unwrap();
        let (_, writer) = stream.halves();
        let tasks = [Waker::from(Arc::new(Task)), Waker::from(Arc::new(Task))];
        let poll = |writer: &mut Writer, task: &Waker| {
            writer.poll_send(&mut Context::from_waker(task), &[0; 4096]).is_pending()
        };
        while !poll(writer, &tasks[0]) {}
        for _ in 0..100 {
            assert!(tasks.iter().all(|task| poll(writer, task)));
        }
        assert_eq!(lock(&client.core.senders).len(), tasks.len());
    }
}
