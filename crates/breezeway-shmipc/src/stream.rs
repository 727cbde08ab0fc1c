//! Streams of bytes: the handles for applications.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::Deadline;

use crate::core::Core;
use crate::error::StreamError;
use crate::handle::Handle;
use crate::interrupter::Interrupter;
use crate::reader::{Peeked, Reader};
use crate::stream_state::StreamState;
use crate::writer::{Reserved, Writer};

/// A bidirectional stream of bytes inside a session. Message boundaries are not kept.
///
/// Dropping a stream closes it: the peer reads the bytes sent before, and then the end. The handle
/// keeps the session's memory mapped, so the slices it returns stay valid after the peer is gone.
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

    /// Returns its number in the session.
    pub fn id(&self) -> u32 {
        self.reader.id()
    }

    /// Splits it into halves that two threads can use at the same time. The stream is closed when
    /// both are dropped.
    pub fn split(self) -> (Reader, Writer) {
        (self.reader, self.writer)
    }

    /// Returns both halves, to send from received bytes.
    pub fn halves(&mut self) -> (&mut Reader, &mut Writer) {
        (&mut self.reader, &mut self.writer)
    }

    /// Reserves space for `len` bytes in shared memory, to be filled and committed. See
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

    /// Waits for bytes and returns them in place; `None` at the end of the stream. See
    /// [`Reader::peek`].
    pub fn peek(&mut self) -> Result<Option<Peeked<'_>>, StreamError> {
        self.reader.peek()
    }

    /// Waits like [`peek`](Self::peek) for at least `len` bytes, fewer at the end of the stream; an
    /// error if that many can never come. See [`Reader::peek_at_least`].
    pub fn peek_at_least(&mut self, len: usize) -> Result<Option<Peeked<'_>>, StreamError> {
        self.reader.peek_at_least(len)
    }

    /// Returns the bytes that have already arrived, without waiting; `None` if there are none. See
    /// [`Reader::try_peek`].
    pub fn try_peek(&mut self) -> Result<Option<Peeked<'_>>, StreamError> {
        self.reader.try_peek()
    }

    /// Releases the first `len` of the peeked bytes. See [`Reader::release`].
    pub fn release(&mut self, len: usize) {
        self.reader.release(len);
    }

    /// Returns true if the peer has closed the stream and all of its bytes were read.
    pub fn is_at_end(&self) -> bool {
        self.reader.is_at_end()
    }

    /// Sets the timeout of reads; `None` for ever, the default.
    pub fn set_read_timeout(&mut self, timeout: Option<Duration>) {
        self.reader.set_timeout(timeout);
    }

    /// Sets the deadline of reads, whatever the timeout; [`Deadline::NEVER`] is the default.
    pub fn set_read_deadline(&mut self, deadline: Deadline) {
        self.reader.set_deadline(deadline);
    }

    /// Sets the time that a send waits for room; `None` for ever, the default.
    pub fn set_write_timeout(&mut self, timeout: Option<Duration>) {
        self.writer.set_timeout(timeout);
    }

    /// Returns a handle that ends waits from another thread.
    pub fn interrupter(&self) -> Result<Interrupter, StreamError> {
        self.reader.interrupter()
    }

    /// Closes the stream: the peer reads the bytes sent before, and then the end. Bytes that it
    /// sends from now on are dropped.
    pub fn close(self) {}

    pub(crate) fn state(&self) -> &Arc<StreamState> {
        self.reader.state()
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn join(reader: Reader, writer: Writer) -> Self {
        Self { reader, writer }
    }

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
