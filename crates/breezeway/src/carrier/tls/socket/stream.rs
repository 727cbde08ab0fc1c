//! A socket within TLS as a stream of bytes, which waits as the socket is set.

use std::io::{self, IoSlice};

use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};

use super::TlsSocket;
use crate::carrier::LinkError;
use crate::carrier::plain::{Read, Write};

/// Consecutive reads of a stream of bytes that may bring none before its reader gets an error.
const MAX_READS_WITHOUT_PLAINTEXT: usize = 16;

impl TlsSocket {
    /// Reads like a stream. An end without a farewell is an error, as an attacker may have cut the
    /// connection. A peer that keeps sending records without bytes interrupts the read.
    pub(crate) fn read_stream(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        let mut outcome = self.read(room, true);
        for _ in 1..MAX_READS_WITHOUT_PLAINTEXT {
            if !matches!(outcome, Ok(Read::NoPlaintext(_))) {
                break;
            }
            outcome = self.read(room, true);
        }
        match outcome {
            Ok(Read::Bytes { len, .. }) => Ok(len),
            Ok(Read::NoPlaintext(_)) => Err(io::ErrorKind::Interrupted.into()),
            Ok(Read::Nothing) => Err(io::ErrorKind::WouldBlock.into()),
            Ok(Read::End) if self.said_goodbye => Ok(0),
            Ok(Read::End) => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the connection ended without TLS's farewell (close_notify)",
            )),
            Err(LinkError::Io(errno)) => Err(errno.into()),
            Err(LinkError::Tls(error)) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            Err(LinkError::Forked) => {
                Err(io::Error::other("this is a forked child of the process that connected"))
            }
            Err(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    pub(crate) fn write_stream(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.write_with(pieces, SendFlags::empty())? {
            Write::Bytes(len) => Ok(len),
            Write::Full => Err(io::ErrorKind::WouldBlock.into()),
            Write::End => Err(self.why_unread()),
        }
    }

    pub(crate) fn flush_stream(&mut self) -> io::Result<()> {
        match self.flush_with(SendFlags::empty())? {
            Write::Bytes(_) => Ok(()),
            Write::Full => Err(io::ErrorKind::WouldBlock.into()),
            Write::End => Err(self.why_unread()),
        }
    }

    /// Returns the reason why the peer reads no more, if it has sent one: it may have arrived by
    /// now.
    fn why_unread(&mut self) -> io::Error {
        while self.origin.is_here() && self.failure.is_none() && self.connection.wants_read() {
            if self.start < self.end {
                let _ = self.decrypt();
                continue;
            }
            match self.receive(RecvFlags::DONTWAIT) {
                Ok(Read::Bytes { .. }) => {}
                _ => break,
            }
        }
        match &self.failure {
            Some(_) => io::Error::new(io::ErrorKind::InvalidData, self.explain()),
            None => io::ErrorKind::BrokenPipe.into(),
        }
    }

    /// Ends the writing direction of this side.
    pub(crate) fn end_writing(&mut self) -> io::Result<()> {
        self.connection.send_close_notify();
        self.flush_stream()?;
        Ok(shutdown(&self.socket, Shutdown::Write)?)
    }
}
