//! Connecting without waiting for a server that hangs.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::SocketAddrUnix;

use crate::deadline::Deadline;
use crate::socket_file::stream_socket;
use crate::tcp::prepare_tcp;

/// Pause between two tries while the server's backlog is full: nothing reports the end of that.
const BACKLOG_PAUSE: Duration = Duration::from_millis(2);
/// What each address of a host is given at least, as none cannot be waited for.
const SHORTEST_TRY: Duration = Duration::from_millis(2);

/// `connect(2)` to the socket file at `path`, until `deadline` while the server's backlog is full
/// ([`io::ErrorKind::TimedOut`]). [`io::ErrorKind::ConnectionRefused`] means that the file is there
/// and nobody listens.
pub fn unix(path: &Path, deadline: Deadline) -> io::Result<OwnedFd> {
    unix_at(&SocketAddrUnix::new(path)?, deadline)
}

/// As [`unix`], to a name in the abstract namespace (unix(7)).
pub fn abstract_unix(name: &[u8], deadline: Deadline) -> io::Result<OwnedFd> {
    unix_at(&SocketAddrUnix::new_abstract_name(name)?, deadline)
}

fn unix_at(address: &SocketAddrUnix, deadline: Deadline) -> io::Result<OwnedFd> {
    let socket = stream_socket()?;
    loop {
        match rustix::net::connect(&socket, address) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if !deadline.has_passed() => std::thread::sleep(BACKLOG_PAUSE),
            Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
            Err(errno) => return Err(errno.into()),
        }
    }
    // From here on each read says itself whether it may block.
    ioctl_fionbio(&socket, false)?;
    Ok(socket)
}

/// Connects to the first of a host's addresses that answers, until `deadline`
/// ([`io::ErrorKind::TimedOut`]) for all of them together. What connects is prepared as
/// [`prepare_tcp`] does. The error is that of the last address.
pub fn tcp(addresses: &[SocketAddr], deadline: Deadline) -> io::Result<OwnedFd> {
    let mut last = io::ErrorKind::AddrNotAvailable.into();
    for (index, address) in addresses.iter().enumerate() {
        // A host that does not answer at one address may at the next.
        let rest = (addresses.len() - index) as u32;
        let connected = match deadline.time_left() {
            None => TcpStream::connect(address),
            Some(left) => TcpStream::connect_timeout(address, (left / rest).max(SHORTEST_TRY)),
        };
        match connected {
            Ok(stream) => {
                prepare_tcp(&stream)?;
                return Ok(stream.into());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsFd;
    use std::time::Instant;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

    use super::*;

    /// A port that accepts nobody: its backlog is full.
    fn full() -> (OwnedFd, SocketAddr, Vec<TcpStream>) {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
        bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        listen(&socket, 0).unwrap();
        let address = rustix::net::getsockname(socket.as_fd()).unwrap().try_into().unwrap();
        let mut kept = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(50)) {
            kept.push(stream);
        }
        (socket, address, kept)
    }

    #[test]
    fn addresses_that_do_not_answer_share_one_deadline() {
        let (_socket, address, _kept) = full();
        let timeout = Duration::from_millis(200);
        let start = Instant::now();
        let error = tcp(&[address; 10], Deadline::after(timeout)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(start.elapsed() < 5 * timeout, "{:?}", start.elapsed());
    }

    #[test]
    fn an_address_that_does_not_answer_leaves_time_for_the_next() {
        let (_socket, silent, _kept) = full();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addresses = [silent, listener.local_addr().unwrap()];
        tcp(&addresses, Deadline::after(Duration::from_millis(400))).unwrap();
    }

    #[test]
    fn a_host_without_an_address_is_not_available() {
        let error = tcp(&[], Deadline::NEVER).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn a_full_backlog_is_waited_for_until_the_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("full.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut kept = Vec::new();
        let error = loop {
            match unix(&path, Deadline::after(Duration::from_millis(20))) {
                Ok(socket) => kept.push(socket),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
