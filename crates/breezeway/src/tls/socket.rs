//! A socket whose bytes are within TLS. It decides when to read and write; TLS itself is rustls's,
//! which does no IO.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::{Deadline, Identity, Origin, ready, scm};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};
use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription, CertificateError, ClientConnection, Connection, InvalidMessage,
    ServerConnection,
};

use super::identity::identity_of;
use super::{Tls, TlsError};
use crate::handshake::HandshakeError;
use crate::link::{LinkError, Read, Write, read, write};

/// Bytes that one system call takes out of the socket. Fewer until the peer's hello is known, as an
/// unknown peer must not make this side allocate the memory.
const ROOM: usize = 64 * 1024;
const FIRST_ROOM: usize = 4 * 1024;
/// Consecutive reads of a stream of bytes that may bring none before its reader gets an error.
const MAX_READS_WITHOUT_PLAINTEXT: usize = 16;

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
        (deadline, timeout): (Deadline, Duration),
    ) -> Result<Self, HandshakeError> {
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
                return Err(HandshakeError::Timeout(timeout));
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
    pub(crate) fn shake(&mut self) -> Result<bool, HandshakeError> {
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

    // ---- as a stream of bytes, which waits as the socket is set ----

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

    // ---- the end ----

    /// Ends the writing direction of this side.
    pub(crate) fn end_writing(&mut self) -> io::Result<()> {
        self.connection.send_close_notify();
        self.flush_stream()?;
        Ok(shutdown(&self.socket, Shutdown::Write)?)
    }

    /// Announces to the peer that this side sends no more, if the socket takes that at once.
    pub(crate) fn say_goodbye(&mut self) {
        self.connection.send_close_notify();
        let _ = self.flush();
    }

    /// Closes like [`Wire::close`](crate::wire::Wire::close). A forked child's copy ends nothing.
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

/// Converts an error of TLS to one that names the remedy.
fn describe(error: rustls::Error, host: Option<&str>, is_shaking: bool) -> TlsError {
    use rustls::Error;
    match error {
        // The bytes do not begin with a valid record header. Any other malformed message is TLS, if
        // invalid.
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) if is_shaking => TlsError::NotTls,
        Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                TlsError::Expired
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                TlsError::NotYetValid
            }
            CertificateError::UnknownIssuer => TlsError::UnknownIssuer,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TlsError::WrongName(host.unwrap_or_default().to_owned())
            }
            error => TlsError::Certificate(error.to_string()),
        },
        Error::NoCertificatesPresented => TlsError::NoClientCertificate,
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) => TlsError::OtherProtocol,
        Error::AlertReceived(alert) => TlsError::Alert(name_of(alert)),
        error => TlsError::Protocol(error.to_string()),
    }
}

/// Returns the name of an alert in RFC 8446, section 6.
fn name_of(alert: AlertDescription) -> String {
    let mut name = String::new();
    let mut was_lower = false;
    for char in format!("{alert:?}").chars() {
        if char.is_uppercase() && was_lower {
            name.push('_');
        }
        was_lower = char.is_lowercase();
        name.push(char.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::channel;

    use breezeway_adversary::certificates::{Authority, Valid};
    use breezeway_adversary::interception::{Which, with_faults};
    use breezeway_adversary::stopwatch::eventually;
    use rustix::net::sockopt::set_socket_send_buffer_size;
    use rustls::StreamOwned;
    use rustls::server::{ServerConfig, ServerSessionMemoryCache};
    use tempfile::TempDir;

    use super::*;
    use crate::tls::SESSION;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// Certificates of both sides: those of a client and of a server, and the configuration of a
    /// server driven by hand.
    struct Sides {
        client: Tls,
        server: Tls,
        by_hand: ServerConfig,
        _folder: TempDir,
    }

    impl Sides {
        fn new() -> Self {
            Self::of(&["localhost"])
        }

        fn of(names: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let authority = Authority::new(folder.path());
            let issued = authority.issue(names, Valid::Now);
            let server = Tls::new().certificate(&issued.chain, &issued.key).unwrap();
            let by_hand = Arc::unwrap_or_clone(Tls::server(Some(&server)).unwrap());
            let client = Tls::new().roots(authority.root()).unwrap();
            Self { client, server, by_hand, _folder: folder }
        }

        fn connect(&self, socket: UnixStream) -> TlsSocket {
            let deadline = (Deadline::after(PATIENCE), PATIENCE);
            TlsSocket::connect(socket.into(), "localhost", Some(&self.client), SESSION, deadline)
                .unwrap()
        }

        fn by_hand(&self, socket: UnixStream) -> ByHand {
            let connection = ServerConnection::new(Arc::new(self.by_hand.clone())).unwrap();
            StreamOwned::new(connection, socket)
        }

        /// Connects a client and a server driven by hand.
        fn connected(&self) -> (TlsSocket, ByHand) {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let mut server = self.by_hand(theirs);
            let serving = std::thread::spawn(move || {
                while server.conn.is_handshaking() {
                    server.conn.complete_io(&mut server.sock).unwrap();
                }
                server
            });
            let client = self.connect(ours);
            (client, serving.join().unwrap())
        }
    }

    type ByHand = StreamOwned<ServerConnection, UnixStream>;

    #[test]
    fn a_read_ends_where_records_without_plaintext_come() {
        let mut sides = Sides::new();
        // More bytes than all the reads below take.
        sides.by_hand.session_storage = ServerSessionMemoryCache::new(1);
        sides.by_hand.send_tls13_tickets = 5000;
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut server = sides.by_hand(theirs);
        // Serves until the client ends.
        let serving = std::thread::spawn(move || drop(server.read(&mut [0])));
        let mut client = sides.connect(ours);
        let room = &mut [0; 10];
        for _ in 0..8 {
            match client.read(room, true).unwrap() {
                Read::NoPlaintext(len) => assert!(len <= FIRST_ROOM, "{len} before it is known"),
                other => panic!("{other:?}"),
            }
        }
        drop(client);
        serving.join().unwrap();
    }

    /// Fills a socket, and returns the number of bytes.
    fn fill(socket: &UnixStream) -> usize {
        socket.set_nonblocking(true).unwrap();
        let mut filled = 0;
        for piece in [4096, 1] {
            while let Ok(written) = (&*socket).write(&vec![0; piece]) {
                filled += written;
            }
        }
        socket.set_nonblocking(false).unwrap();
        filled
    }

    #[test]
    fn client_handshake_waits_for_socket_room() {
        let sides = Sides::new();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let filled = fill(&ours);
        let mut server = sides.by_hand(theirs.try_clone().unwrap());
        std::thread::scope(|scope| {
            let (sender, thread) = channel();
            let connecting = scope.spawn(move || {
                sender.send(rustix::thread::gettid()).unwrap();
                sides.connect(ours)
            });
            let thread = thread.recv().unwrap().as_raw_nonzero();
            eventually("it sleeps until there is room", || {
                let state = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
                state.unwrap().rsplit(')').next().unwrap().starts_with(" S")
            });
            theirs.read_exact(&mut vec![0; filled]).unwrap();
            server.write_all(b"welcome").unwrap();
            let mut client = connecting.join().unwrap();
            let room = &mut [0; 7];
            while client.read(room, true).unwrap() != (Read::Bytes { len: 7, more: true }) {}
            assert_eq!(room, b"welcome");
        });
    }

    #[test]
    fn partly_written_flight_continues_in_next_turns() {
        let names: Vec<String> =
            (0..800).map(|number| format!("{number}.{}", ["a"; 30].concat())).collect();
        let sides = Sides::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        set_socket_send_buffer_size(&ours, 1).unwrap();
        let mut server = TlsSocket::accept(ours.into(), Some(&sides.server)).unwrap();
        let config = Tls::client(Some(&sides.client)).unwrap();
        let name = ServerName::try_from(names[0].clone()).unwrap();
        let mut client = ClientConnection::new(config, name).unwrap();
        client.write_tls(&mut theirs).unwrap();
        assert!(!server.shake().unwrap());
        assert!(server.has_unwritten(), "the certificate alone has more than the socket holds");
        let mut turns = 0;
        while client.is_handshaking() {
            if client.wants_write() {
                client.write_tls(&mut theirs).unwrap();
            } else {
                assert_ne!(client.read_tls(&mut (&theirs).take(1000)).unwrap(), 0);
                client.process_new_packets().unwrap();
            }
            server.shake().unwrap();
            turns += 1;
            assert!(turns < 1000, "each turn takes some");
        }
        while client.wants_write() {
            client.write_tls(&mut theirs).unwrap();
        }
        assert!(server.shake().unwrap());
        assert!(!server.has_unwritten());
    }

    #[test]
    fn bytes_before_an_error_are_read_first() {
        // An invalid record, behind a valid one.
        let (mut client, mut server) = Sides::new().connected();
        server.write_all(b"hello").unwrap();
        server.conn.writer().write_all(b"spoiled").unwrap();
        let mut record = Vec::new();
        server.conn.write_tls(&mut record).unwrap();
        *record.last_mut().unwrap() ^= 1;
        server.sock.write_all(&record).unwrap();
        let room = &mut [0; 100];
        let read = client.read(room, true).unwrap();
        assert_eq!((read, &room[..5]), (Read::Bytes { len: 5, more: true }, &b"hello"[..]));
        assert!(client.has_buffered(), "the socket does not report the error");
        let failed = client.read(room, true);
        assert!(matches!(failed, Err(LinkError::Tls(TlsError::Protocol(_)))), "{failed:?}");

        // A socket that fails, behind bytes that were decrypted.
        let (mut client, mut server) = Sides::new().connected();
        server.write_all(b"hello").unwrap();
        let read = client.read(&mut room[..1], true).unwrap();
        assert_eq!(read, Read::Bytes { len: 1, more: true });
        client.socket = File::open("/dev/null").unwrap().into();
        let read = client.read(room, true).unwrap();
        assert_eq!((read, &room[..4]), (Read::Bytes { len: 4, more: true }, &b"ello"[..]));
        assert!(client.has_buffered(), "the error is kept");
        let failed = client.read(room, true);
        assert!(matches!(failed, Err(LinkError::Io(Errno::NOTSOCK))), "{failed:?}");

        // An end.
        let (mut client, mut server) = Sides::new().connected();
        server.write_all(b"hello").unwrap();
        drop(server);
        let read = client.read(room, true).unwrap();
        let Read::Bytes { len: 5, .. } = read else { panic!("{read:?}") };
        assert_eq!(client.read(room, true).unwrap(), Read::End);
    }

    #[test]
    fn known_peer_is_read_in_larger_pieces_without_loss() {
        let (mut client, mut server) = Sides::new().connected();
        let sent: Vec<u8> = (0..40_000u32).map(|number| (number / 7) as u8).collect();
        // All of it is in the socket before any is read.
        server.write_all(&sent).unwrap();
        let mut came: Vec<u8> = Vec::new();
        let mut read = |client: &mut TlsSocket| {
            let mut room = vec![0; ROOM];
            match client.read(&mut room, true).unwrap() {
                Read::Bytes { len, .. } => came.extend(&room[..len]),
                Read::NoPlaintext(_) => {}
                other => panic!("{other:?}"),
            }
            (client.received.len(), came.len())
        };
        let (room, before) = read(&mut client);
        assert_eq!(room, FIRST_ROOM);
        assert!(before <= FIRST_ROOM, "{before}");
        client.read_in_bulk();
        let (room, after) = read(&mut client);
        assert_eq!(room, ROOM);
        assert_eq!(after, sent.len(), "all the rest by one system call");
        assert!(came == sent, "in order");
    }

    #[test]
    fn kernel_shortage_of_a_call_is_retried() {
        let (mut client, mut server) = Sides::new().connected();
        server.write_all(b"hello").unwrap();
        // The first of each.
        let mut failed = Vec::new();
        let calls = [libc::SYS_recvfrom, libc::SYS_sendto];
        let outcome = with_faults(
            &calls.map(|call| (call, Which::All)),
            |call| {
                let is_first = !failed.contains(&call.number);
                failed.extend(is_first.then_some(call.number));
                is_first.then_some(Errno::NOMEM)
            },
            || (client.write(&[IoSlice::new(b"hi")]), client.read(&mut [0; 5], true)),
        );
        let (written, read) = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return println!("SKIPPED: no system calls can be intercepted: {error}"),
        };
        assert_eq!(written, Ok(Write::Bytes(2)));
        assert!(matches!(read, Ok(Read::Bytes { len: 5, .. })), "{read:?}");
        assert_eq!(failed.len(), calls.len(), "{failed:?}");
    }

    #[test]
    fn alerts_have_the_names_of_their_standard() {
        assert_eq!(name_of(AlertDescription::CertificateExpired), "certificate_expired");
        assert_eq!(name_of(AlertDescription::UnknownCA), "unknown_ca");
    }
}
