//! A connected socket of which each wait ends at a deadline.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use breezeway::{CallError, Place};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, recv, send,
};

use crate::error::Error;

/// How long connecting to one address of a host may take, at most.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

impl From<OwnedFd> for Socket {
    fn from(socket: OwnedFd) -> Self {
        Self(socket)
    }
}

impl Socket {
    pub(super) fn connect(place: &Place, deadline: Option<Instant>) -> io::Result<Self> {
        match place {
            Place::Shm(path) | Place::Unix(path) => Ok(Self(connect_unix(path, deadline)?)),
            Place::Tcp { host, port } => Ok(Self(connect_tcp(host, *port, deadline)?)),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Ends it in both directions: whoever waits on it learns that.
    pub(super) fn shut_down(&self) {
        // Fails if the other side has ended it.
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Both);
    }

    /// Whether an idle connection is as it was left: nothing came, not even its end.
    pub(super) fn is_usable(&self) -> bool {
        let mut asked = [PollFd::new(&self.0, PollFlags::IN | PollFlags::RDHUP)];
        matches!(poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
    }

    /// Writes all, also to one that takes a little at a time.
    pub(super) fn write(&self, mut bytes: &[u8], deadline: Option<Instant>) -> Result<(), Error> {
        while !bytes.is_empty() {
            time_left(deadline)?;
            match send(&self.0, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, deadline)?,
                Err(Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Ok(())
    }

    /// Reads what comes next, at least a byte; 0 at the end.
    pub(super) fn read(&self, room: &mut [u8], deadline: Option<Instant>) -> Result<usize, Error> {
        loop {
            self.wait(PollFlags::IN, deadline)?;
            match recv(&self.0, &mut *room, RecvFlags::DONTWAIT) {
                Ok((count, _)) => return Ok(count),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    fn wait(&self, event: PollFlags, deadline: Option<Instant>) -> Result<(), Error> {
        loop {
            // What no clock can say is for ever.
            let left = time_left(deadline)?.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut [PollFd::new(&self.0, event)], left.as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }
}

/// How long a call may still wait; an error once it may not.
fn time_left(deadline: Option<Instant>) -> Result<Option<Duration>, Error> {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    match left {
        Some(Duration::ZERO) => Err(CallError::DeadlinePassed.into()),
        left => Ok(left),
    }
}

fn connect_timeout(deadline: Option<Instant>) -> io::Result<Duration> {
    match time_left(deadline) {
        Ok(left) => Ok(left.map_or(CONNECT_TIMEOUT, |left| left.min(CONNECT_TIMEOUT))),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// A listener whose backlog is full lets connecting wait, without end unless told otherwise.
fn connect_unix(path: &Path, deadline: Option<Instant>) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new(path)?;
    loop {
        set_socket_timeout(&socket, Timeout::Send, Some(connect_timeout(deadline)?))?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) => return Ok(socket),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn connect_tcp(host: &str, port: u16, deadline: Option<Instant>) -> io::Result<OwnedFd> {
    let mut outcome = Err(io::ErrorKind::NotFound.into());
    for address in (host, port).to_socket_addrs()? {
        outcome = TcpStream::connect_timeout(&address, connect_timeout(deadline)?);
        if outcome.is_ok() {
            break;
        }
    }
    let socket = outcome?;
    socket.set_nodelay(true)?;
    Ok(socket.into())
}
