//! Streams of bytes: the handles that applications hold.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use breezeway_os::Deadline;

use crate::core::Core;
use crate::error::StreamError;
use crate::reader::{Peeked, Reader};
use crate::session::Session;
use crate::stream_state::StreamState;
use crate::writer::{Reserved, Writer};

/// Both halves' hold on their stream; the last to go closes it.
pub(crate) struct Handle {
    pub(crate) core: Arc<Core>,
    pub(crate) state: Arc<StreamState>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.core.is_elsewhere() {
            self.core.close_stream(&self.state, true);
            self.core.flush_later();
        }
    }
}

/// A bidirectional stream of bytes inside a session. Message boundaries are not kept.
///
/// A stream that goes out of scope is closed: the peer reads what was sent before, and then the
/// end. The handle keeps the session's memory mapped, so whatever it gives out stays valid after
/// the peer is gone.
///
/// ```
/// # use std::io::{Read, Write};
/// # use breezeway_shmipc::{ClientOptions, ServerOptions, Session, Trust};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = ServerOptions::new(Trust::SameUser);
/// let (client, server) = Session::pair(&ClientOptions::new(Trust::SameUser), &options)?;
/// let mut stream = client.open()?;
/// stream.write_all(b"hello")?;
/// let mut served = server.accept()?;
/// let mut bytes = [0; 5];
/// served.read_exact(&mut bytes)?;
/// assert_eq!(&bytes, b"hello");
/// # Ok(())
/// # }
/// ```
pub struct Stream {
    reader: Reader,
    writer: Writer,
}

impl Stream {
    pub(crate) fn new(core: Arc<Core>, state: Arc<StreamState>) -> Self {
        let handle = Arc::new(Handle { core, state });
        Self { reader: Reader::new(Arc::clone(&handle)), writer: Writer::new(handle) }
    }

    /// Its number in the session.
    pub fn id(&self) -> u32 {
        self.reader.id()
    }

    /// The session that it belongs to. A kept stream whose session was
    /// [replaced](crate::Session::is_replaced) goes on for a while, and one whose session has
    /// [ended](crate::Session::ended) is of no more use: open another one at the client.
    pub fn session(&self) -> Session {
        Session { core: Arc::clone(self.reader.core()) }
    }

    /// Splits it into halves that two threads can use at once. The stream is closed when both are
    /// gone.
    pub fn split(self) -> (Reader, Writer) {
        (self.reader, self.writer)
    }

    /// Both halves at once, to send from what is being read.
    pub fn halves(&mut self) -> (&mut Reader, &mut Writer) {
        (&mut self.reader, &mut self.writer)
    }

    /// Takes space for `len` bytes in shared memory, to be filled and committed. See
    /// [`Writer::reserve`].
    ///
    /// ```
    /// # use breezeway_shmipc::{ClientOptions, ServerOptions, Session, Trust};
    /// # let server = ServerOptions::new(Trust::SameUser);
    /// # let (client, server) = Session::pair(&ClientOptions::new(Trust::SameUser), &server)?;
    /// # std::thread::spawn(move || server.serve(|stream| {
    /// #     let (reader, writer) = stream.halves();
    /// #     writer.forward(reader).map(|_| ())
    /// # }));
    /// let mut stream = client.open()?;
    /// let mut request = stream.reserve(5)?;
    /// request.write(b"hello");
    /// request.commit()?;
    /// let reply = stream.peek()?.expect("the server answers");
    /// assert_eq!(reply.to_vec(), b"hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve(&mut self, len: usize) -> Result<Reserved<'_>, StreamError> {
        self.writer.reserve(len)
    }

    /// Sends all of `bytes`. See [`Writer::send`].
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.writer.send(bytes)
    }

    /// Ends this side's direction of the stream. See [`Writer::shutdown`].
    pub fn shutdown(&mut self) -> Result<(), StreamError> {
        self.writer.shutdown()
    }

    /// Waits for bytes and shows them where they lie; `None` at the end of the stream. See
    /// [`Reader::peek`].
    pub fn peek(&mut self) -> Result<Option<Peeked<'_>>, StreamError> {
        self.reader.peek()
    }

    /// As [`Self::peek`], with at least `len` bytes if the stream has so many; an error if so many
    /// can never come. See [`Reader::peek_at_least`].
    pub fn peek_at_least(&mut self, len: usize) -> Result<Option<Peeked<'_>>, StreamError> {
        self.reader.peek_at_least(len)
    }

    /// What has already come, without waiting; `None` if nothing has. See [`Reader::try_peek`].
    pub fn try_peek(&mut self) -> Result<Option<Peeked<'_>>, StreamError> {
        self.reader.try_peek()
    }

    /// Gives the first `len` of the bytes that were shown back. See [`Reader::release`].
    pub fn release(&mut self, len: usize) {
        self.reader.release(len);
    }

    /// Whether the peer has closed the stream and everything it sent was read.
    pub fn is_at_end(&self) -> bool {
        self.reader.is_at_end()
    }

    /// How long a read waits; `None` for ever, the default.
    pub fn set_read_timeout(&mut self, timeout: Option<Duration>) {
        self.reader.set_timeout(timeout);
    }

    /// When reads give up, whatever the timeout; [`Deadline::NEVER`] is the default.
    pub fn set_read_deadline(&mut self, deadline: Deadline) {
        self.reader.set_deadline(deadline);
    }

    /// How long a send waits for room; `None` for ever, the default.
    pub fn set_write_timeout(&mut self, timeout: Option<Duration>) {
        self.writer.set_timeout(timeout);
    }

    /// Something that ends waits from another thread.
    pub fn interrupter(&self) -> Result<Interrupter, StreamError> {
        self.reader.interrupter()
    }

    /// Closes the stream: the peer reads what was sent before, and then the end. What it sends from
    /// now on is dropped.
    pub fn close(self) {}

    pub(crate) fn state(&self) -> &Arc<StreamState> {
        self.reader.state()
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn join(reader: Reader, writer: Writer) -> Self {
        Self { reader, writer }
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn core(&self) -> &Arc<Core> {
        self.reader.core()
    }

    pub(crate) fn has_arrivals(&self) -> bool {
        self.reader.has_arrivals()
    }
}

impl io::Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl io::Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Ends waits of a stream from another thread.
#[derive(Clone)]
pub struct Interrupter {
    pub(crate) core: Arc<Core>,
    pub(crate) state: Arc<StreamState>,
}

impl Interrupter {
    /// The present wait, or else the next, fails with [`StreamError::Interrupted`]. Bytes that came
    /// are not lost.
    pub fn interrupt(&self) {
        self.state.interrupt();
        self.core.notify_leader();
    }

    /// Nothing more is sent: sends fail with [`StreamError::Closed`], also one that waits for room,
    /// within an eighth of the time that it has waited, or a second. The peer reads what was sent
    /// before, and the end once the stream's handles are gone.
    pub fn give_up(&self) {
        self.state.given_up.store(true, Ordering::SeqCst);
    }
}
