//! A stream of shmipc as a connection, of which each wait ends at a deadline.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use breezeway_shmipc::{Interrupter, Reader, Session, StreamError, Writer};

use super::socket::time_left;
use crate::error::Error;

/// Whoever reads and whoever writes have a half each: two threads use it at once.
pub(crate) struct Stream {
    session: Session,
    reader: Mutex<Reader>,
    writer: Mutex<Writer>,
    interrupter: Interrupter,
    /// How long a server waits for bytes before the first message is whole.
    patience: Option<Duration>,
    /// Whether it is.
    has_message: AtomicBool,
    /// No more bytes are waited for.
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
    /// Of a client that is to send a message: a wait for bytes of the first one ends after this
    /// time.
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// The first message is whole: the next may come whenever its client has one.
    pub(super) fn note_message(&self) {
        self.has_message.store(true, Ordering::SeqCst);
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// Writes all, also where a little fits at a time.
    pub(super) fn write(&self, mut bytes: &[u8], deadline: Option<Instant>) -> Result<(), Error> {
        let mut writer = lock(&self.writer);
        while !bytes.is_empty() {
            writer.set_timeout(time_left(deadline)?);
            match writer.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                // The deadline says so itself.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads what comes next, at least a byte; 0 at the end.
    pub(super) fn read(&self, room: &mut [u8], deadline: Option<Instant>) -> Result<usize, Error> {
        let deadline = deadline.or_else(|| self.end_of_patience());
        let mut reader = lock(&self.reader);
        while !self.is_read.load(Ordering::SeqCst) {
            match time_left(deadline) {
                Ok(left) => reader.set_timeout(left),
                // What has come came in time, as far as anybody can tell.
                Err(late) => return received(&mut reader, room)?.ok_or(late),
            }
            match reader.receive(room) {
                // The deadline says so itself, and so does the end.
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

    /// As [`Self::read`], of what has come; nothing if nothing has.
    pub(super) fn try_read(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        received(&mut lock(&self.reader), room)
    }

    /// Whether an idle connection is as it was left, and its session goes on.
    pub(super) fn is_usable(&self) -> bool {
        self.session.is_usable() && matches!(self.try_read(&mut [0]), Ok(None))
    }

    /// Whoever reads is given what has come, and then the end.
    pub(super) fn end_reading(&self) {
        self.is_read.store(true, Ordering::SeqCst);
        self.interrupter.interrupt();
    }

    /// Returns true once the client has closed it, its session is over or reading has ended here,
    /// whatever is still unread.
    pub(super) fn has_ended(&self) -> bool {
        self.is_read.load(Ordering::SeqCst)
            || lock(&self.reader).is_closed()
            || self.session.ended().is_some()
    }

    /// Ends it in both directions: whoever waits for bytes learns that.
    pub(super) fn shut_down(&self) {
        self.end_reading();
        self.interrupter.give_up();
        // Where somebody writes, the other side sees the end once both halves are gone.
        if let Ok(mut writer) = self.writer.try_lock() {
            // Fails if the session is over.
            let _ = writer.shutdown();
        }
    }
}

/// What has come of a stream: nothing, or bytes, none at the end.
fn received(reader: &mut Reader, room: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match reader.try_peek().map(|peeked| peeked.is_some()) {
            Ok(false) if !reader.is_at_end() => return Ok(None),
            // Nothing to wait for: bytes are there, or the end.
            Ok(_) => return Ok(Some(reader.receive(room)?)),
            Err(StreamError::Interrupted) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn lock<T>(half: &Mutex<T>) -> MutexGuard<'_, T> {
    half.lock().expect("nobody panics with the lock")
}
