//! Streams of a session as streams of bytes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use breezeway::unstable::gather;
use breezeway::{
    Address, AddressError, ErrorCode, MessageBytes, OwnedSpace, ServeError, ServerOptions,
    StreamError,
};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::server::Server;
use crate::stopper::Stopper;
use crate::stream::{ReceiveHalf, SendHalf, Stream};

/// Stream of a session as a stream of bytes: `AsyncRead`, `AsyncBufRead` and `AsyncWrite`.
///
/// Each write is sent as a message at once. Message boundaries mean nothing to the reader. Messages
/// in shared memory of a trusted peer are read in place. An end of file is the peer's shutdown.
///
/// A stream that is dropped before its shutdown is reset. If it is dropped after its shutdown, the
/// peer reads all bytes that were written, as with TCP, and its later writes fail.
pub struct ByteStream {
    send: SendHalf,
    receive: ReceiveHalf,
    received: MessageBytes,
    gathered: Vec<u8>,
    is_shut_down: bool,
}

/// Number of empty messages that a read skips before other tasks run.
const MOST_EMPTY: u32 = 64;

impl ByteStream {
    /// Creates a byte stream from a stream that carries only bytes.
    pub fn new(stream: Stream) -> Self {
        let (send, receive) = stream.split();
        Self {
            send,
            receive,
            received: MessageBytes::default(),
            gathered: Vec::new(),
            is_shut_down: false,
        }
    }

    /// Reserves space for `len` bytes, to be filled in place and written by [`Self::write_space`]
    /// without a copy. Waits while the memory is lent or reserved.
    pub async fn reserve(&mut self, len: usize) -> io::Result<OwnedSpace> {
        Ok(self.send.reserve(len).await.map_err(StreamError::from)?)
    }

    /// Writes the content of `space`, which belongs to this session. A dropped future
    /// has written all or nothing.
    pub async fn write_space(&mut self, space: OwnedSpace) -> io::Result<()> {
        Ok(self.send.send_space(space).await?)
    }
}

impl AsyncBufRead for ByteStream {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        this.received.retry()?;
        let mut passed = 0;
        while this.received.is_empty() {
            if passed == MOST_EMPTY {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            passed += 1;
            match ready!(this.receive.poll_receive(cx))? {
                Some(message) => this.received.put(message)?,
                None => return Poll::Ready(Ok(&[])),
            }
        }
        Poll::Ready(Ok(this.received.remaining()))
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        self.received.consume(count);
    }
}

impl AsyncRead for ByteStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let available = ready!(self.as_mut().poll_fill_buf(cx))?;
        let count = available.len().min(buffer.remaining());
        buffer.put_slice(&available[..count]);
        self.consume(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ByteStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let message = gather(pieces, &mut this.gathered);
        if !message.is_empty() {
            ready!(this.send.poll_send(cx, message))?;
        }
        Poll::Ready(Ok(message.len()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: written bytes are sent already.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Ends the sending direction: the peer's reader comes to its end.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut_down {
            ready!(self.send.poll_finish(cx))?;
            self.is_shut_down = true;
        }
        Poll::Ready(Ok(()))
    }
}

/// Listener for byte streams: each stream that a client opens, on any session.
pub struct ByteListener {
    address: Address,
    streams: mpsc::Receiver<Stream>,
    stopper: Stopper,
    /// Task that serves, until its result was returned.
    serving: Option<JoinHandle<Result<(), ServeError>>>,
}

/// Maximum number of streams that were not accepted. Further ones are refused.
const BACKLOG: usize = 128;

impl ByteListener {
    /// Listens with default options.
    pub fn bind(
        address: impl TryInto<Address, Error: Into<AddressError>>,
    ) -> Result<Self, ServeError> {
        Self::bind_with(address, ServerOptions::new())
    }

    /// Listens at all places of the address, with these options. A task serves the sessions until
    /// this is dropped.
    pub fn bind_with(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: ServerOptions,
    ) -> Result<Self, ServeError> {
        let server = Server::bind_with(address, options)?;
        let (address, stopper) = (server.address(), server.stopper());
        let (sender, streams) = mpsc::channel(BACKLOG);
        let hand_over = move |_, stream: Stream| {
            if let Err(refused) = sender.try_send(stream) {
                let code = match refused {
                    mpsc::error::TrySendError::Full(_) => ErrorCode::Overloaded,
                    mpsc::error::TrySendError::Closed(_) => ErrorCode::Refused,
                };
                refused.into_inner().reset(code);
            }
            std::future::ready(())
        };
        let refuse = |call: breezeway::OwnedCall| {
            std::future::ready(
                call.fail(ErrorCode::Refused, "only streams of bytes are served here"),
            )
        };
        let serving = tokio::spawn(server.serve_streams(refuse, hand_over));
        Ok(Self { address, streams, stopper, serving: Some(serving) })
    }

    /// Returns the address of the listener, with the assigned ports in place of 0.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Waits for the next stream that a client opens. Fails after serving has ended, the first time
    /// with the error that ended it.
    pub async fn accept(&mut self) -> Result<ByteStream, ServeError> {
        if let Some(stream) = self.streams.recv().await {
            return Ok(ByteStream::new(stream));
        }
        if let Some(serving) = &mut self.serving {
            let ended = serving.await;
            self.serving = None;
            ended.map_err(io::Error::from)??;
        }
        Err(io::Error::other("the listener was stopped").into())
    }
}

impl Drop for ByteListener {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}
