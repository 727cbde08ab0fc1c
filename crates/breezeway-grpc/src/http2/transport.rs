//! The bytes of a connection beneath hyper, whose reading is divided into turns.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::settings::TURN;
use crate::connection::Connection;

/// The preface and the head of the first frame.
const BEGINNING: u64 = 24 + 9;

/// The reading of a connection, as its task and its transport see it.
#[derive(Clone)]
pub(crate) struct Progress(Arc<Counts>);

struct Counts {
    /// Bytes that may still be read in this turn.
    left: AtomicUsize,
    /// Bytes that were read.
    bytes: AtomicU64,
    has_answered: AtomicBool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Counts {
            left: AtomicUsize::new(0),
            bytes: AtomicU64::new(0),
            has_answered: AtomicBool::new(false),
        }))
    }

    /// Begins a turn of the connection's task, which accepts what it has read in the one before.
    pub(crate) fn begin_turn(&self) {
        self.0.left.store(TURN, Ordering::Release);
    }

    /// Returns how many bytes the client has sent.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Acquire)
    }

    /// Returns true if the client has sent the beginning of HTTP/2.
    pub(crate) fn has_begun(&self) -> bool {
        self.bytes() >= BEGINNING
    }

    /// Returns true if the client has answered the PING that the server sends when it stops.
    pub(crate) fn has_answered(&self) -> bool {
        self.0.has_answered.load(Ordering::Acquire)
    }

    fn left(&self) -> usize {
        self.0.left.load(Ordering::Acquire)
    }

    fn add(&self, bytes: usize) {
        self.0.left.store(self.left().saturating_sub(bytes), Ordering::Release);
        self.0.bytes.fetch_add(bytes as u64, Ordering::AcqRel);
    }
}

pub(crate) struct Transport {
    connection: Connection,
    progress: Progress,
}

impl Transport {
    pub(crate) fn new(connection: Connection, progress: Progress) -> Self {
        Self { connection, progress }
    }

    fn connection(self: Pin<&mut Self>) -> Pin<&mut Connection> {
        Pin::new(&mut self.get_mut().connection)
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let left = this.progress.left();
        if left == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let room = left.min(buffer.remaining());
        let mut room = ReadBuf::new(buffer.initialize_unfilled_to(room));
        ready!(Pin::new(&mut this.connection).poll_read(cx, &mut room))?;
        let count = room.filled().len();
        buffer.advance(count);
        this.progress.add(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Transport {
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
        let written = Pin::new(&mut this.connection).poll_write_vectored(cx, pieces);
        if this.connection.has_answered() {
            this.progress.0.has_answered.store(true, Ordering::Release);
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection().poll_shutdown(cx)
    }
}
