//! A socket whose bytes are within TLS. It decides when to read and write; TLS itself is rustls's,
//! which does no IO.

mod stream;

use std::io::{self, IoSlice, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use breezeway_os::{Deadline, Identity, Origin, ready, scm};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use super::describe::describe;
use super::identity::identity_of;
use super::{Tls, TlsError};
use crate::carrier::LinkError;
use crate::carrier::plain::{Read, Write, read, write};

/// Bytes that one system call takes out of the socket. Fewer until the peer's hello is known, as an
/// unknown peer must not make this side allocate the memory.
const ROOM: usize = 64 * 1024;
const FIRST_ROOM: usize = 4 * 1024;

/// A connected stream socket within TLS.
#[derive(Debug)]
pub(crate) struct TlsSocket {
    /// A forked child has a copy of all this, keys and counters too. Its encrypted bytes would use
    /// the nonces that its parent uses for other bytes, which reveals the keys.
    origin: Origin,
    socket: OwnedFd,
    connection: Connection,
    /// Received bytes not yet passed to TLS.
    received: Vec<u8>,
    start: usize,
    end: usize,
    /// Number of bytes taken out of the socket at once.
    room: usize,
    /// True if the last read left something that a further one returns without the socket.
    has_buffered: bool,
    /// True if the peer has announced that it sends no more. The end of the socket without this may
    /// be the work of an attacker between the two.
    said_goodbye: bool,
    has_ended: bool,
    /// True if the peer reads no more: bytes not written yet stay here.
    is_unread: bool,
    /// The error that has ended it.
    failure: Option<rustls::Error>,
    /// Error of the socket that the next read is to report.
    errno: Option<Errno>,
    /// The host that the server's certificate must be for.
    host: Option<String>,
}

impl TlsSocket {
    /// Creates the client's end, once the client's part of the handshake is complete and written.
    /// `protocol` is the ALPN name that it offers; empty for none.
    pub(crate) fn connect(
        socket: OwnedFd,
        host: &str,
        tls: Option<&Tls>,
        protocol: &[u8],
        deadline: Deadline,
    ) -> Result<Self, LinkError> {
        let config = Tls::client(tls)?;
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| TlsError::HostName(host.to_owned()))?;
        let protocols = if protocol.is_empty() { Vec::new() } else { vec![protocol.to_vec()] };
        let connection = ClientConnection::new_with_alpn(config, name, protocols);
        let connection = connection.map_err(|error| describe(error, Some(host), false))?;
        let mut this = Self::new(socket, connection.into(), Some(host.to_owned()));
        loop {
            let is_complete = this.shake()?;
            let has_unwritten = this.has_unwritten();
            if is_complete && !has_unwritten {
                return Ok(this);
            }
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::IN, !is_complete);
            wanted.set(PollFlags::OUT, has_unwritten);
            if !ready(&this.socket, wanted, deadline)? {
                return Err(LinkError::DeadlinePassed);
            }
        }
    }

    /// Creates the server's end, before its handshake.
    pub(crate) fn accept(socket: OwnedFd, tls: Option<&Tls>) -> Result<Self, TlsError> {
        let connection = ServerConnection::new(Tls::server(tls)?);
        let connection = connection.map_err(|error| describe(error, None, false))?;
        Ok(Self::new(socket, connection.into(), None))
    }

    fn new(socket: OwnedFd, connection: Connection, host: Option<String>) -> Self {
        Self {
            origin: Origin::here(),
            socket,
            connection,
            received: Vec::new(),
            start: 0,
            end: 0,
            room: FIRST_ROOM,
            has_buffered: false,
            said_goodbye: false,
            has_ended: false,
            is_unread: false,
            failure: None,
            errno: None,
            host,
        }
    }

    // ---- the handshake ----

    /// Returns true while the handshake is not complete.
    pub(crate) fn is_shaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Continues the handshake as far as possible without waiting; returns true once it is
    /// complete.
    pub(crate) fn shake(&mut self) -> Result<bool, LinkError> {
        loop {
            // A peer that reads no more may have sent the reason before.
            self.flush()?;
            if !self.is_shaking() {
                // The peer may have sent more at once.
                self.has_buffered = true;
                return Ok(true);
            }
            if self.start < self.end {
                if self.decrypt().is_err() {
                    return Err(self.explain().into());
                }
                continue;
            }
            match self.receive(RecvFlags::DONTWAIT)? {
                Read::Nothing => return Ok(false),
                Read::End => return Err(TlsError::Closed.into()),
                Read::Bytes { .. } | Read::NoPlaintext(_) => {}
            }
        }
    }

    /// Returns the identity in the peer's certificate, if it has sent one.
    pub(crate) fn identity(&self) -> Option<Arc<Identity>> {
        let certificate = self.connection.peer_certificates()?.first()?;
        Some(Arc::new(identity_of(certificate)))
    }

    // ---- reading ----

    /// Returns the error of [`Self::decrypt`].
    fn explain(&self) -> TlsError {
        match &self.failure {
            Some(error) => {
                describe(error.clone(), self.host.as_deref(), self.connection.is_handshaking())
            }
            None => TlsError::Closed,
        }
    }

    /// Reads with the semantics of [`Read`] for a socket: fills `room` as far as bytes are there,
    /// and if `blocking` waits for the first one.
    ///
    /// Makes at most one system call that finds something, so that other sessions are served too,
    /// whatever the peer sends.
    pub(crate) fn read(&mut self, room: &mut [u8], blocking: bool) -> Result<Read, LinkError> {
        if !self.origin.is_here() {
            return Err(LinkError::Forked);
        }
        if let Some(errno) = self.errno.take() {
            return Err(errno.into());
        }
        let mut len = 0;
        let mut received = None;
        self.has_buffered = false;
        loop {
            len += self.take_plaintext(&mut room[len..]);
            if len == room.len() {
                self.has_buffered = true;
                return Ok(Read::Bytes { len, more: true });
            }
            let is_over = self.said_goodbye || self.failure.is_some();
            if len > 0 && (is_over || self.has_ended && self.start == self.end) {
                // Decrypted bytes come first, and then the reason for the end.
                self.has_buffered = true;
                return Ok(Read::Bytes { len, more: true });
            }
            if self.failure.is_some() {
                return Err(self.explain().into());
            }
            if is_over || self.has_ended && self.start == self.end {
                return Ok(Read::End);
            }
            if self.start < self.end {
                // Its error is found above, behind the bytes before it.
                let _ = self.decrypt();
                continue;
            }
            if let Some((bytes, more)) = received {
                return Ok(match len {
                    0 => Read::NoPlaintext(bytes),
                    len => Read::Bytes { len, more },
                });
            }
            let waits = blocking && len == 0;
            let flags = if waits { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
            // The peer may expect an answer to TLS's own messages beside the bytes.
            match self.flush().and_then(|_| self.receive(flags)) {
                Ok(Read::Bytes { len, more }) => received = Some((len, more)),
                Ok(Read::End) => self.has_ended = true,
                Ok(_) if len > 0 => return Ok(Read::Bytes { len, more: false }),
                Ok(nothing) => return Ok(nothing),
                Err(errno) if len > 0 => {
                    self.errno = Some(errno);
                    self.has_buffered = true;
                    return Ok(Read::Bytes { len, more: true });
                }
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Makes each system call take as much as a busy connection brings, from now on.
    pub(crate) fn read_in_bulk(&mut self) {
        self.room = ROOM;
    }

    /// Returns true if the last read left something that a further one may return without an event
    /// of the socket.
    pub(crate) fn has_buffered(&self) -> bool {
        self.has_buffered
    }

    /// Copies decrypted bytes to `room`, as many as there are and fit.
    fn take_plaintext(&mut self, room: &mut [u8]) -> usize {
        let mut reader = self.connection.reader();
        let mut len = 0;
        while len < room.len() {
            match reader.read(&mut room[len..]) {
                Ok(count) if count > 0 => len += count,
                // There are none now, or ever again, which other fields record.
                _ => break,
            }
        }
        len
    }

    /// Passes some of the received bytes to TLS.
    fn decrypt(&mut self) -> Result<(), ()> {
        let mut bytes = &self.received[self.start..self.end];
        match self.connection.read_tls(&mut bytes) {
            // Bytes behind a farewell do not belong to the conversation.
            Ok(0) => self.start = self.end,
            Ok(count) => self.start += count,
            Err(error) => {
                self.failure = Some(rustls::Error::General(error.to_string()));
                return Err(());
            }
        }
        match self.connection.process_new_packets() {
            Ok(state) => {
                self.said_goodbye |= state.peer_has_closed();
                Ok(())
            }
            Err(error) => {
                // Sends the alert, if the peer still exists.
                let _ = self.flush();
                self.failure = Some(error);
                Err(())
            }
        }
    }

    /// Reads the socket, once TLS has all bytes read before.
    fn receive(&mut self, flags: RecvFlags) -> Result<Read, Errno> {
        if self.received.len() < self.room {
            self.received = vec![0; self.room];
        }
        let read = read(&self.socket, &mut self.received, flags)?;
        if let Read::Bytes { len, .. } = read {
            (self.start, self.end) = (0, len);
        }
        Ok(read)
    }

    // ---- writing ----

    /// Writes with the semantics of [`Write`] for a socket. Takes nothing more while bytes taken
    /// before are not written.
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> Result<Write, Errno> {
        self.write_with(slices, SendFlags::DONTWAIT)
    }

    fn write_with(&mut self, slices: &[IoSlice<'_>], flags: SendFlags) -> Result<Write, Errno> {
        match self.flush_with(flags)? {
            Write::Bytes(_) => {}
            full_or_end => return Ok(full_or_end),
        }
        let Ok(len) = self.connection.writer().write_vectored(slices) else {
            return Ok(Write::End);
        };
        match self.flush_with(flags)? {
            Write::End => Ok(Write::End),
            Write::Bytes(_) | Write::Full => Ok(Write::Bytes(len)),
        }
    }

    /// Writes the encrypted bytes that are not written yet.
    pub(crate) fn flush(&mut self) -> Result<Write, Errno> {
        self.flush_with(SendFlags::DONTWAIT)
    }

    fn flush_with(&mut self, flags: SendFlags) -> Result<Write, Errno> {
        if self.is_unread || !self.origin.is_here() {
            return Ok(Write::End);
        }
        let mut output = Output { socket: &self.socket, flags, stopped: None };
        while self.connection.wants_write() {
            if self.connection.write_tls(&mut output).is_err() {
                let stopped = output.stopped.take().unwrap_or(Err(Errno::IO));
                self.is_unread |= stopped == Ok(Write::End);
                return stopped;
            }
        }
        Ok(Write::Bytes(0))
    }

    /// Returns true if encrypted bytes are not written yet.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.connection.wants_write() && !self.is_unread
    }

    // ---- the end ----

    /// Announces to the peer that this side sends no more, if the socket takes that at once.
    pub(crate) fn say_goodbye(&mut self) {
        self.connection.send_close_notify();
        let _ = self.flush();
    }

    /// Closes like [`Wire::close`](crate::carrier::wire::Wire::close). A forked child's copy ends
    /// nothing.
    pub(crate) fn close(mut self) {
        if self.origin.is_here() {
            self.say_goodbye();
            scm::close_connection(self.socket);
        }
    }
}

impl AsFd for TlsSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Destination of encrypted bytes.
struct Output<'s> {
    socket: &'s OwnedFd,
    flags: SendFlags,
    /// The reason why the last write took nothing.
    stopped: Option<Result<Write, Errno>>,
}

impl io::Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match write(self.socket, slices, self.flags) {
            Ok(Write::Bytes(len)) => Ok(len),
            stopped => {
                self.stopped = Some(stopped);
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
