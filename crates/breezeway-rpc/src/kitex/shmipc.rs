//! A stream of shmipc as a connection, where each wait ends at a deadline.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use breezeway_shmipc::{Interrupter, Reader, Session, StreamError, Writer};

use super::socket::time_left;
use crate::error::Error;

/// A stream of shmipc. Its reading and its writing thread have a half each, and use it at the same
/// time.
pub(crate) struct Stream {
    session: Session,
    reader: Mutex<Reader>,
    writer: Mutex<Writer>,
    interrupter: Interrupter,
    /// Time that a server waits for bytes before the first message is complete.
    patience: Option<Duration>,
    /// True once the first message is complete.
    has_message: AtomicBool,
    /// Set to stop waiting for bytes.
    is_read: AtomicBool,
}

impl TryFrom<breezeway_shmipc::Stream> for Stream {
    type Error = StreamError;

    fn try_from(stream: breezeway_shmipc::Stream) -> Result<Self, StreamError> {
        let (session, interrupter) = (stream.session(), stream.interrupter()?);
        let (reader, writer) = stream.split();
        let (reader, writer) = (Mutex::new(reader), Mutex::new(writer));
        Ok(Self {
            session,
            reader,
            writer,
            interrupter,
            patience: None,
            has_message: AtomicBool::default(),
            is_read: AtomicBool::default(),
        })
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stream").field("is_read", &self.is_read).finish_non_exhaustive()
    }
}

impl Stream {
    /// Limits the time that a wait for bytes of the client's first message may take.
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// Notes that the first message is complete: the next may come at any time.
    pub(super) fn note_message(&self) {
        self.has_message.store(true, Ordering::SeqCst);
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// Writes all bytes, possibly in many small parts.
    pub(super) fn write(&self, mut bytes: &[u8], deadline: Option<Instant>) -> Result<(), Error> {
        let mut writer = lock(&self.writer);
        while !bytes.is_empty() {
            writer.set_timeout(time_left(deadline)?);
            match writer.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                // The deadline is checked by the loop.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads the next bytes, at least one; 0 at the end.
    pub(super) fn read(&self, room: &mut [u8], deadline: Option<Instant>) -> Result<usize, Error> {
        let deadline = deadline.or_else(|| self.end_of_patience());
        let mut reader = lock(&self.reader);
        while !self.is_read.load(Ordering::SeqCst) {
            match time_left(deadline) {
                Ok(left) => reader.set_timeout(left),
                // Bytes that are there are taken as having arrived in time.
                Err(late) => return received(&mut reader, room)?.ok_or(late),
            }
            match reader.receive(room) {
                // The deadline and the end are checked by the loop.
                Err(StreamError::TimedOut | StreamError::Interrupted) => {}
                read => return Ok(read.map_err(io::Error::from)?),
            }
        }
        Ok(received(&mut reader, room)?.unwrap_or(0))
    }

    fn end_of_patience(&self) -> Option<Instant> {
        let patience = self.patience.filter(|_| !self.has_message.load(Ordering::SeqCst));
        patience.and_then(|patience| Instant::now().checked_add(patience))
    }

    /// Reads received bytes like [`read`](Self::read); `None` if there are none.
    pub(super) fn try_read(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        received(&mut lock(&self.reader), room)
    }

    /// Returns true if an idle connection is unchanged, and its session continues.
    pub(super) fn is_usable(&self) -> bool {
        self.session.is_usable() && matches!(self.try_read(&mut [0]), Ok(None))
    }

    /// Ends reading: the reader gets the received bytes, and then the end.
    pub(super) fn end_reading(&self) {
        self.is_read.store(true, Ordering::SeqCst);
        self.interrupter.interrupt();
    }

    /// Returns true once the client has closed it, its session is over or reading has ended here,
    /// even if bytes are unread.
    pub(super) fn has_ended(&self) -> bool {
        self.is_read.load(Ordering::SeqCst)
            || lock(&self.reader).is_closed()
            || self.session.ended().is_some()
    }

    /// Ends both directions: a thread that waits for bytes sees the end.
    pub(super) fn shut_down(&self) {
        self.end_reading();
        self.interrupter.give_up();
        // If another thread writes, the peer sees the end once both halves are gone.
        if let Ok(mut writer) = self.writer.try_lock() {
            // Fails if the session is over.
            let _ = writer.shutdown();
        }
    }
}

/// Returns the bytes received on a stream: `None`, or their number, 0 at the end.
fn received(reader: &mut Reader, room: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match reader.try_peek().map(|peeked| peeked.is_some()) {
            Ok(false) if !reader.is_at_end() => return Ok(None),
            // Does not wait: bytes are there, or the end.
            Ok(_) => return Ok(Some(reader.receive(room)?)),
            Err(StreamError::Interrupted) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn lock<T>(half: &Mutex<T>) -> MutexGuard<'_, T> {
    half.lock().expect("no panic under the lock")
}
