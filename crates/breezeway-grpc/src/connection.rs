//! A connection for HTTP/2: a byte stream of a session, or a socket.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use breezeway_tokio::{ByteStream, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tonic::transport::server::Connected;

use crate::connect_info::{ConnectInfo, Gear};
use crate::http2::{Progress, Refusals, Rewriter};

/// Maximum number of bytes read at once for rewriting.
const CHUNK: usize = 16 << 10;

trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// A connection from a client: an item of [`incoming`](crate::incoming) for tonic's server.
///
/// Each write becomes visible to the peer at once. Dropping it closes the connection.
pub struct Connection {
    /// Present until this is dropped.
    bytes: Option<Box<dyn Bytes>>,
    info: ConnectInfo,
    /// Dropped with the connection, whose end others await; and the time that the peer has to
    /// end the stream once this side has.
    end: Option<(oneshot::Sender<()>, Duration)>,
    is_shut_down: bool,
    /// Rewriter of a server's input, until it has nothing to rewrite any more.
    rewriter: Option<Box<Rewriter>>,
    /// Log of refusals, on a server.
    refusals: Option<Refusals>,
    /// Turns of the reading, on a server that divides it.
    progress: Option<Progress>,
}

/// A stream of a session that is dropped before the peer has ended it is reset, which
/// discards its unread data on the other side. A stream that was shut down is therefore read to its
/// end first.
impl Drop for Connection {
    fn drop(&mut self) {
        let (Some(mut bytes), Some((end, time))) = (self.bytes.take(), self.end.take()) else {
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.is_shut_down {
            runtime.spawn(async move {
                // An error is an end as well.
                let _ = timeout(time, tokio::io::copy(&mut bytes, &mut tokio::io::sink())).await;
                drop((bytes, end));
            });
        }
    }
}

impl Connection {
    pub(crate) fn new(
        bytes: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        info: ConnectInfo,
    ) -> Self {
        Self {
            bytes: Some(Box::new(bytes)),
            info,
            end: None,
            is_shut_down: false,
            rewriter: None,
            refusals: None,
            progress: None,
        }
    }

    /// Prepares a connection for a server: requests that h2 would refuse are rewritten, others that
    /// it refuses are logged.
    pub(crate) fn served(mut self) -> Self {
        self.rewriter = Some(Box::new(Rewriter::new()));
        self.refusals = Some(Refusals::default());
        self
    }

    /// Divides the reading into the turns of `progress`.
    pub(crate) fn in_turns(mut self, progress: Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    pub(crate) fn info(&self) -> ConnectInfo {
        self.info.clone()
    }

    /// Returns the connection of a stream, and a receiver that ends with it. Once this side has
    /// ended the stream, the peer has `time` to do so.
    pub(crate) fn of_session(stream: Stream, time: Duration) -> (Self, oneshot::Receiver<()>) {
        let info = ConnectInfo::of_stream(&stream, Gear::Http2);
        let mut connection = Self::new(ByteStream::new(stream), info);
        let (sender, end) = oneshot::channel();
        connection.end = Some((sender, time));
        (connection, end)
    }

    fn bytes(self: Pin<&mut Self>) -> Pin<&mut dyn Bytes> {
        let bytes = self.get_mut().bytes.as_mut();
        Pin::new(bytes.expect("taken only when this is dropped"))
    }
}

impl Connection {
    fn poll_rewritten(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(rewriter) = &mut self.rewriter {
            let rewritten = rewriter.pull(buffer.remaining());
            if !rewritten.is_empty() {
                buffer.put_slice(rewritten);
                return Poll::Ready(Ok(()));
            }
            if rewriter.is_through() {
                self.rewriter = None;
                break;
            }
            let mut chunk = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut chunk);
            let bytes = self.bytes.as_mut().expect("taken only when this is dropped");
            ready!(Pin::new(bytes).poll_read(cx, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            rewriter.push(chunk.filled());
        }
        Pin::new(self).bytes().poll_read(cx, buffer)
    }
}

impl Connected for Connection {
    type ConnectInfo = ConnectInfo;

    fn connect_info(&self) -> ConnectInfo {
        self.info.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(left) = this.progress.as_ref().map(Progress::left) else {
            return this.poll_rewritten(cx, buffer);
        };
        if left == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let room = left.min(buffer.remaining());
        let mut room = ReadBuf::new(buffer.initialize_unfilled_to(room));
        ready!(this.poll_rewritten(cx, &mut room))?;
        let count = room.filled().len();
        buffer.advance(count);
        this.progress.as_ref().inspect(|progress| progress.add(count));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(self.as_mut().bytes().poll_write_vectored(cx, pieces))?;
        let this = self.get_mut();
        if let Some(refusals) = &mut this.refusals {
            let mut rest = written;
            for piece in pieces {
                let sent = &piece[..rest.min(piece.len())];
                refusals.sent(sent, &this.info.peer);
                rest -= sent.len();
            }
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.bytes.as_ref().is_some_and(|bytes| bytes.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.bytes().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.is_shut_down = true;
        self.bytes().poll_shutdown(cx)
    }
}

/// Refuses connections from now on, and drops those that were not taken.
pub(crate) fn close(connections: &mut mpsc::Receiver<Connection>) {
    connections.close();
    while connections.try_recv().is_ok() {}
}
