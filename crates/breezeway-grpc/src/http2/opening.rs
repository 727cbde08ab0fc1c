//! The opening of a client's connection: the settings of the server come before any call.
//!
//! hyper opens up to 100 concurrent streams until it has read the server's settings, and a server
//! with a lower limit refuses the others. hyper has no option to wait. The preface is therefore
//! sent and the settings are awaited here: hyper reads them before it opens a stream.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;

use super::frame::Head;
use crate::connection::Connection;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Maximum size of a server's settings that are awaited: that of the largest frame by default.
const SETTINGS: usize = 16 << 10;

/// A client's connection after its preface was sent.
pub(crate) struct Opened {
    connection: Connection,
    /// Bytes of hyper's own preface that are still to be dropped.
    preface: usize,
    /// Bytes of the server that hyper reads first.
    read: BytesMut,
}

impl Opened {
    /// Sends the preface and waits for the server's settings. If they do not arrive within `time`,
    /// hyper waits for them.
    pub(crate) async fn open(mut connection: Connection, time: Duration) -> io::Result<Self> {
        connection.write_all(PREFACE).await?;
        connection.flush().await?;
        let mut read = BytesMut::new();
        let settings = async {
            // hyper handles the end of the connection too.
            while !has_settings(&read) && connection.read_buf(&mut read).await? > 0 {}
            Ok::<_, io::Error>(())
        };
        timeout(time, settings).await.unwrap_or(Ok(()))?;
        Ok(Self { connection, preface: PREFACE.len(), read })
    }

    fn connection(self: Pin<&mut Self>) -> Pin<&mut Connection> {
        Pin::new(&mut self.get_mut().connection)
    }
}

/// Returns true if the first frame has arrived, or is longer than settings are.
fn has_settings(read: &[u8]) -> bool {
    Head::read(read).is_some_and(|head| head.len > SETTINGS || read.len() >= head.frame_len())
}

impl AsyncRead for Opened {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read.is_empty() {
            return self.connection().poll_read(cx, buffer);
        }
        let count = self.read.len().min(buffer.remaining());
        buffer.put_slice(&self.read[..count]);
        self.read.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Opened {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.preface > 0 {
            let count = self.preface.min(bytes.len());
            self.preface -= count;
            return Poll::Ready(Ok(count));
        }
        self.connection().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match pieces.iter().find(|piece| !piece.is_empty()) {
            Some(piece) if self.preface > 0 => self.poll_write(cx, piece),
            _ => self.connection().poll_write_vectored(cx, pieces),
        }
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
