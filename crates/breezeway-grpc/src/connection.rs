//! A connection for HTTP/2: a byte stream of a session, or a socket.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use breezeway_tokio::{ByteStream, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, oneshot};
use tonic::transport::server::Connected;

use crate::connect_info::{ConnectInfo, Gear};

trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// A connection that a client has made: what [`incoming`](crate::incoming) gives to tonic's server.
///
/// Each write becomes visible to the other side at once. Dropped, it is closed.
pub struct Connection {
    /// There until this is dropped.
    bytes: Option<Box<dyn Bytes>>,
    info: ConnectInfo,
    /// Dropped with the connection: whoever waits for its end learns it.
    end: Option<oneshot::Sender<()>>,
    is_shut_down: bool,
}

/// A stream of a session that is dropped before the other side has ended it is reset, which takes
/// from the other side what it has not read. So one that was shut down is read to its end first.
impl Drop for Connection {
    fn drop(&mut self) {
        let (Some(mut bytes), Some(end)) = (self.bytes.take(), self.end.take()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.is_shut_down {
            runtime.spawn(async move {
                // An error is an end as well.
                let _ = tokio::io::copy(&mut bytes, &mut tokio::io::sink()).await;
                drop(end);
            });
        }
    }
}

impl Connection {
    pub(crate) fn new(
        bytes: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        info: ConnectInfo,
    ) -> Self {
        Self { bytes: Some(Box::new(bytes)), info, end: None, is_shut_down: false }
    }

    pub(crate) fn info(&self) -> ConnectInfo {
        self.info.clone()
    }

    /// A stream of a session, and what ends with it.
    pub(crate) fn of_session(stream: Stream) -> (Self, oneshot::Receiver<()>) {
        let info = ConnectInfo::of_stream(&stream, Gear::Http2);
        let mut connection = Self::new(ByteStream::new(stream), info);
        let (sender, end) = oneshot::channel();
        connection.end = Some(sender);
        (connection, end)
    }

    fn bytes(self: Pin<&mut Self>) -> Pin<&mut dyn Bytes> {
        let bytes = self.get_mut().bytes.as_mut();
        Pin::new(bytes.expect("taken only when this is dropped"))
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
        self.bytes().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.bytes().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.bytes().poll_write_vectored(cx, pieces)
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

/// Connections as tonic's server takes them. Clones take from the same ones.
#[derive(Clone)]
pub(crate) struct Connections(Arc<Mutex<mpsc::Receiver<Connection>>>);

impl Connections {
    pub(crate) fn new(connections: mpsc::Receiver<Connection>) -> Self {
        Self(Arc::new(Mutex::new(connections)))
    }

    fn lock(&self) -> MutexGuard<'_, mpsc::Receiver<Connection>> {
        self.0.lock().expect("nobody panics with the lock")
    }

    /// Refuses those that come from now on.
    pub(crate) fn close(&self) {
        let mut connections = self.lock();
        connections.close();
        while connections.try_recv().is_ok() {}
    }
}

impl futures_core::Stream for Connections {
    type Item = io::Result<Connection>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.lock().poll_recv(cx).map(|connection| connection.map(Ok))
    }
}
