//! A connection that two tasks use, and whose end a third can check.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll};

use breezeway_tokio::ForeignStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::client::Bytes;
use crate::kitex::socket::has_hung_up;

/// A connection whose end can be seen while bytes of it are unread.
pub(super) trait Ends {
    /// Returns true once its client has ended it.
    fn has_ended(&self) -> bool;
}

impl Ends for ForeignStream {
    fn has_ended(&self) -> bool {
        has_hung_up(self)
    }
}

#[cfg(feature = "shmipc")]
impl Ends for breezeway_shmipc::asynchronous::Stream {
    fn has_ended(&self) -> bool {
        self.is_closed() || self.session().get().ended().is_some()
    }
}

/// A connection for the reading and the writing task. It is closed with the last handle.
pub(super) struct Watched<T>(Arc<Mutex<T>>);

/// Handle that sees the end of a connection, and does not keep it open.
pub(super) type Watcher = Weak<Mutex<dyn WatchedBytes>>;

/// Bounds of a watched connection.
pub(super) trait WatchedBytes: Ends + Send {}
impl<T: Ends + Send> WatchedBytes for T {}

/// Returns true once a connection's client has ended it, or it is closed here.
pub(super) fn has_ended(watcher: &Watcher) -> bool {
    watcher.upgrade().is_none_or(|stream| lock(&stream).has_ended())
}

impl<T: Bytes + Ends + 'static> Watched<T> {
    pub(super) fn new(stream: T) -> (Self, Watcher) {
        let stream = Arc::new(Mutex::new(stream));
        let watched: Arc<Mutex<dyn WatchedBytes>> = Arc::clone(&stream) as _;
        (Self(stream), Arc::downgrade(&watched))
    }
}

impl<T> Clone for Watched<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

fn lock<T: ?Sized>(stream: &Mutex<T>) -> MutexGuard<'_, T> {
    stream.lock().expect("no panic under the lock")
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.0)).poll_read(cx, room)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *lock(&self.0)).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.0)).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.0)).poll_shutdown(cx)
    }
}
