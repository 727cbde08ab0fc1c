//! Connections of clients that speak another protocol, as streams of bytes.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use breezeway::unstable::has_buffered;
use breezeway::{Carrier, ForeignConnection, Peer};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use crate::drive::watch;

/// Connection of another protocol as a stream of bytes that includes the first ones: `AsyncRead`
/// and `AsyncWrite`. The rules of [`ForeignConnection`] about limits and ends apply.
///
/// ```
/// use breezeway_tokio::{ForeignStream, Server, ServerOptions};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("both.sock").display().to_string();
/// let options = ServerOptions::new().on_foreign_connection(|connection| {
///     tokio::spawn(async move {
///         let mut stream = ForeignStream::new(connection)?;
///         let mut line = [0; 14];
///         stream.read_exact(&mut line).await?;
///         stream.write_all(b"you said ").await?;
///         stream.write_all(&line).await?;
///         // Over TLS some of it may still want room, and would be lost.
///         stream.shutdown().await
///     });
/// });
/// let server = Server::bind_with(format!("shm:{path}"), options)?;
/// let stopper = server.stopper();
/// let serving = tokio::spawn(server.serve(|call| async move { call.echo() }));
///
/// let mut client = tokio::net::UnixStream::connect(&path).await?;
/// client.write_all(b"GET / HTTP/1.1").await?;
/// let mut answer = String::new();
/// client.read_to_string(&mut answer).await?;
/// assert_eq!(answer, "you said GET / HTTP/1.1");
/// stopper.stop();
/// serving.await??;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ForeignStream {
    connection: AsyncFd<Connection>,
}

#[derive(Debug)]
struct Connection(ForeignConnection);

impl AsRawFd for Connection {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl ForeignStream {
    /// Registers a connection at the current runtime. Panics outside one.
    pub fn new(connection: ForeignConnection) -> io::Result<Self> {
        connection.set_nonblocking(true)?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        Ok(Self { connection: watch(Connection(connection), interest)? })
    }

    /// Returns the first bytes, as [`ForeignConnection::first_bytes`] does.
    pub fn first_bytes(&self) -> &[u8] {
        self.connection.get_ref().0.first_bytes()
    }

    /// Returns the credentials of the peer, as [`ForeignConnection::peer`] does.
    pub fn peer(&self) -> &Peer {
        self.connection.get_ref().0.peer()
    }

    /// Returns the carrier, as [`ForeignConnection::carrier`] does.
    pub fn carrier(&self) -> Carrier {
        self.connection.get_ref().0.carrier()
    }
}

impl AsFd for ForeignStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.get_ref().0.as_fd()
    }
}

impl ForeignStream {
    /// Does work that may need room in the socket, which only TLS does.
    fn poll_out(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        work: impl Fn(&mut ForeignConnection) -> io::Result<()>,
    ) -> Poll<io::Result<()>> {
        if self.carrier() != Carrier::Tls {
            return Poll::Ready(work(&mut self.connection.get_mut().0));
        }
        loop {
            let mut ready = ready!(self.connection.poll_write_ready_mut(cx))?;
            if let Ok(done) = ready.try_io(|socket| work(&mut socket.get_mut().0)) {
                return Poll::Ready(done);
            }
        }
    }
}

/// Lets other tasks run first: the client sends much, but no data within TLS.
fn later(cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

impl AsyncRead for ForeignStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.initialize_unfilled();
        if has_buffered(&self.connection.get_ref().0) {
            match self.connection.get_mut().0.read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return later(cx),
                read => {
                    buffer.advance(read?);
                    return Poll::Ready(Ok(()));
                }
            }
        }
        let count = loop {
            let mut ready = ready!(self.connection.poll_read_ready_mut(cx))?;
            match ready.try_io(|socket| socket.get_mut().0.read(room)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => return later(cx),
                Ok(read) => break read?,
                Err(_) => {}
            }
        };
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ForeignStream {
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
        loop {
            let mut ready = ready!(self.connection.poll_write_ready_mut(cx))?;
            if let Ok(written) = ready.try_io(|socket| socket.get_mut().0.write_vectored(pieces)) {
                return Poll::Ready(written);
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Waits until bytes that were written over TLS are sent. Other carriers send them at once.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_out(cx, |connection| connection.flush())
    }

    /// Ends the sending direction.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_out(cx, ForeignConnection::shutdown_write)
    }
}
