//! A connected socket where each wait ends at a deadline.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use breezeway::unstable::connect_foreign;
use breezeway::{CallError, ForeignConnection, Place, SessionOptions};
use breezeway_os::{Deadline, connect};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::error::Error;

/// TLS protocol name: Kitex's protocols have none.
pub(super) const UNNAMED: &[u8] = b"";

/// Deadline of a call, and maximum time for connecting to one place.
pub(super) type Limits = (Option<Instant>, Duration);

/// Bytes of a connection, plain or within TLS.
#[derive(Debug)]
pub(super) enum Socket {
    Plain(OwnedFd),
    Tls(Tls),
}

/// A side of TLS, whose single state the reading and the writing thread share: no thread waits with
/// the lock.
#[derive(Debug)]
pub(super) struct Tls {
    connection: Mutex<ForeignConnection>,
    /// Socket to wait for.
    socket: OwnedFd,
}

impl From<OwnedFd> for Socket {
    fn from(socket: OwnedFd) -> Self {
        Self::Plain(socket)
    }
}

impl Tls {
    fn lock(&self) -> MutexGuard<'_, ForeignConnection> {
        self.connection.lock().expect("no panic under the lock")
    }
}

impl Socket {
    pub(super) fn connect(place: &Place, limits: Limits) -> io::Result<Self> {
        Ok(Self::Plain(connect(place, Deadline::after(connect_timeout(limits)?))?))
    }

    /// Connects like [`connect`](Self::connect), with TLS's handshake, to a place that has one.
    pub(super) fn connect_within_tls(
        place: &Place,
        options: &SessionOptions,
        (deadline, timeout): Limits,
    ) -> Result<Self, Error> {
        let timeout = time_left(deadline)?.map_or(timeout, |left| left.min(timeout));
        let options = options.clone().handshake_timeout(timeout);
        let connection = connect_foreign(place, &options, UNNAMED)?;
        Self::within_tls(connection).map_err(|error| Error::Connecting(place.clone().into(), error))
    }

    /// Wraps a connection within TLS.
    pub(super) fn within_tls(connection: ForeignConnection) -> io::Result<Self> {
        connection.set_nonblocking(true)?;
        let socket = connection.as_fd().try_clone_to_owned()?;
        Ok(Self::Tls(Tls { connection: Mutex::new(connection), socket }))
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(socket) | Self::Tls(Tls { socket, .. }) => socket.as_fd(),
        }
    }

    /// Ends both directions: a thread that waits on it sees the end.
    pub(super) fn shut_down(&self) {
        if let Self::Tls(tls) = self {
            // TLS's close message, if there is room for it.
            let _ = tls.lock().shutdown_write();
        }
        // Fails if the peer has ended it.
        let _ = rustix::net::shutdown(self.descriptor(), rustix::net::Shutdown::Both);
    }

    /// Returns true if an idle connection is unchanged: nothing was received, not even its end.
    /// (TLS may have received messages of its own.)
    pub(super) fn is_usable(&self) -> bool {
        matches!(self.try_read(&mut [0]), Ok(None))
    }

    /// Returns true once either side has ended the direction that is read here, even if bytes are
    /// unread.
    pub(super) fn has_hung_up(&self) -> bool {
        has_hung_up(self.descriptor())
    }

    /// Writes all bytes, possibly in many small parts.
    pub(super) fn write(&self, mut bytes: &[u8], deadline: Option<Instant>) -> Result<(), Error> {
        while !bytes.is_empty() {
            time_left(deadline)?;
            let written = match self {
                Self::Plain(socket) => {
                    send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
                        .map_err(io::Error::from)
                }
                Self::Tls(tls) => tls.lock().write(bytes),
            };
            if let Some(count) = self.or_wait(written, PollFlags::OUT, deadline)? {
                bytes = &bytes[count..];
            }
        }
        self.flush(deadline)
    }

    /// Flushes data that TLS has accepted and that may still need room.
    fn flush(&self, deadline: Option<Instant>) -> Result<(), Error> {
        let Self::Tls(tls) = self else { return Ok(()) };
        loop {
            let flushed = tls.lock().flush();
            if self.or_wait(flushed, PollFlags::OUT, deadline)?.is_some() {
                return Ok(());
            }
        }
    }

    /// Returns the outcome, or `None` once the operation can be tried again.
    fn or_wait<T>(
        &self,
        outcome: io::Result<T>,
        event: PollFlags,
        deadline: Option<Instant>,
    ) -> Result<Option<T>, Error> {
        match outcome {
            Ok(done) => Ok(Some(done)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.wait(event, deadline)?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the next bytes, at least one; 0 at the end.
    pub(super) fn read(&self, room: &mut [u8], deadline: Option<Instant>) -> Result<usize, Error> {
        // Polling the socket does not show bytes that TLS has already decrypted.
        if let Self::Tls(_) = self
            && let Some(count) = self.try_read(room)?
        {
            return Ok(count);
        }
        loop {
            self.wait(PollFlags::IN, deadline)?;
            if let Some(count) = self.try_read(room)? {
                return Ok(count);
            }
        }
    }

    /// Reads received bytes like [`read`](Self::read); `None` if there are none.
    pub(super) fn try_read(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        let read = match self {
            Self::Plain(socket) => recv(socket, &mut *room, RecvFlags::DONTWAIT)
                .map(|(count, _)| count)
                .map_err(io::Error::from),
            Self::Tls(tls) => tls.lock().read(room),
        };
        match read {
            Ok(count) => Ok(Some(count)),
            Err(error) => match error.kind() {
                // Over TLS, many records hold no byte for the reader.
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            },
        }
    }

    fn wait(&self, event: PollFlags, deadline: Option<Instant>) -> Result<(), Error> {
        loop {
            // A deadline that the clock cannot represent is never reached.
            let left = time_left(deadline)?.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut [PollFd::new(&self.descriptor(), event)], left.as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }
}

/// Returns true once either side has ended the direction that is read here (poll(2)).
pub(super) fn has_hung_up(socket: impl AsFd) -> bool {
    let mut sockets = [PollFd::new(&socket, PollFlags::RDHUP)];
    // If interrupted, the caller checks again later.
    poll(&mut sockets, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// Returns the time that a call may still wait; an error once it is over.
pub(super) fn time_left(deadline: Option<Instant>) -> Result<Option<Duration>, Error> {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    match left {
        Some(Duration::ZERO) => Err(CallError::DeadlinePassed.into()),
        left => Ok(left),
    }
}

/// Connects to a place without TLS, until `deadline`, even while its server's backlog is full.
pub(super) fn connect(place: &Place, deadline: Deadline) -> io::Result<OwnedFd> {
    match place {
        Place::Shm(path) | Place::Unix(path) => connect::unix(path, deadline),
        Place::Tcp { host, port } => {
            connect::tcp(&connect::resolve(host, *port, deadline)?, deadline)
        }
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Returns the maximum time for connecting.
fn connect_timeout((deadline, timeout): Limits) -> io::Result<Duration> {
    match time_left(deadline) {
        Ok(left) => Ok(left.map_or(timeout, |left| left.min(timeout))),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
