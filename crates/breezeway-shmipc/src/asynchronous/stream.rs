//! A stream for tasks.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::reader::Reader;
use super::reserved::Reserved;
use super::writer::Writer;
use super::{Session, driver};
use crate::error::{SessionEnd, StreamError};
use crate::reader::Peeked;
use crate::stream;

/// A bidirectional stream of bytes, the awaited form of [`crate::Stream`]. Dropping a future of its
/// methods loses nothing.
///
/// ```
/// # use breezeway_shmipc::{ClientOptions, ServerOptions, Session, Trust, asynchronous};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = ServerOptions::new(Trust::SameUser);
/// # let (client, server) = Session::pair(&ClientOptions::new(Trust::SameUser), &server)?;
/// # let (client, server) =
/// #     (asynchronous::Session::new(client)?, asynchronous::Session::new(server)?);
/// let mut stream = client.open()?;
/// let mut request = stream.reserve(5).await?;
/// request.write(b"hello");
/// request.commit().await?;
/// # let mut served = server.accept().await?;
/// # served.send(b"world").await?;
/// let reply = stream.peek_at_least(5).await?.expect("the server answers");
/// assert_eq!(reply.to_vec(), b"world");
/// stream.release(5);
/// # Ok(())
/// # }
/// ```
pub struct Stream {
    reader: Reader,
    writer: Writer,
}

impl Stream {
    /// Wraps a stream, with a driver in the current runtime.
    pub fn new(stream: stream::Stream) -> Result<Self, StreamError> {
        driver::ensure(stream.core()).map_err(SessionEnd::from)?;
        let (reader, writer) = stream.split();
        Ok(Self { reader: Reader::new(reader), writer: Writer::new(writer) })
    }

    /// Returns the blocking stream.
    pub(super) fn into_blocking(self) -> stream::Stream {
        stream::Stream::join(self.reader.into_blocking(), self.writer.into_blocking())
    }

    /// Returns its number in the session.
    pub fn id(&self) -> u32 {
        self.reader.id()
    }

    /// Returns the session that it belongs to, also for its counters.
    pub fn session(&self) -> Session {
        self.reader.session()
    }

    /// Splits it into halves that two tasks can use at the same time. The stream is closed when
    /// both are dropped.
    pub fn split(self) -> (Reader, Writer) {
        (self.reader, self.writer)
    }

    /// Returns both halves, to send from received bytes.
    pub fn halves(&mut self) -> (&mut Reader, &mut Writer) {
        (&mut self.reader, &mut self.writer)
    }

    /// Waits for bytes and returns them in place; `None` at the end of the stream. See
    /// [`crate::Reader::peek`].
    pub async fn peek(&mut self) -> Result<Option<Peeked<'_>>, StreamError> {
        self.reader.peek().await
    }

    /// Waits like [`peek`](Self::peek) for at least `len` bytes, fewer at the end of the stream.
    /// See [`crate::Reader::peek_at_least`].
    pub async fn peek_at_least(&mut self, len: usize) -> Result<Option<Peeked<'_>>, StreamError> {
        self.reader.peek_at_least(len).await
    }

    /// Releases the first `len` of the peeked bytes. See [`crate::Reader::release`].
    pub fn release(&mut self, len: usize) {
        self.reader.release(len);
    }

    /// Reserves space for `len` bytes in shared memory, to be filled and committed. See
    /// [`crate::Writer::reserve`].
    pub async fn reserve(&mut self, len: usize) -> Result<Reserved<'_>, StreamError> {
        self.writer.reserve(len).await
    }

    /// Sends all of `bytes`, in parts if they are many.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.writer.send(bytes).await
    }

    /// Ends this side's direction of the stream. See [`crate::Writer::shutdown`].
    pub fn shutdown(&mut self) -> Result<(), StreamError> {
        self.writer.shutdown()
    }

    /// Returns true once the peer has closed the stream, even if bytes are unread.
    pub fn is_closed(&self) -> bool {
        self.reader.is_closed()
    }

    /// Closes the stream: the peer reads the bytes sent before, and then the end.
    pub fn close(self) {}
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Stream({})", self.id())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}
