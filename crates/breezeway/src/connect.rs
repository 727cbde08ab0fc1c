//! Connecting to a server's socket without waiting for a server that hangs.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::error::ConnectError;

/// Pause between two tries while the server's backlog is full, which nothing tells the end of.
const BACKLOG_PAUSE: Duration = Duration::from_millis(2);

/// Connects, and tells what is wrong where that fails. Takes at most `timeout`.
pub(crate) fn connect_socket(path: &Path, timeout: Duration) -> Result<OwnedFd, ConnectError> {
    let failed = |errno: Errno| match errno {
        Errno::NOENT => ConnectError::NoSocket(path.into()),
        Errno::CONNREFUSED => ConnectError::NobodyListens(path.into()),
        Errno::ACCESS | Errno::PERM => ConnectError::Permission(path.into()),
        other => ConnectError::Io { path: path.into(), source: other.into() },
    };
    let address = SocketAddrUnix::new(path).map_err(failed)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(failed)?;
    let deadline = Instant::now() + timeout;
    loop {
        match connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if Instant::now() < deadline => std::thread::sleep(BACKLOG_PAUSE),
            Err(Errno::AGAIN) => {
                return Err(ConnectError::NotAccepting { path: path.into(), timeout });
            }
            Err(errno) => return Err(failed(errno)),
        }
    }
    // From here on each read says itself whether it may block.
    ioctl_fionbio(&socket, false).map_err(failed)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> ConnectError {
        connect_socket(path, Duration::from_millis(50)).unwrap_err()
    }

    #[test]
    fn an_absent_server_is_told_apart_from_a_left_over_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("echo.sock");
        assert!(matches!(refused(&path), ConnectError::NoSocket(_)));
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(matches!(refused(&path), ConnectError::NobodyListens(_)));
    }

    #[test]
    fn a_plain_file_is_no_server() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(refused(file.path()), ConnectError::NobodyListens(_)));
    }

    #[test]
    fn a_server_that_never_accepts_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("echo.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut kept = Vec::new();
        let error = loop {
            match connect_socket(&path, Duration::from_millis(50)) {
                Ok(socket) => kept.push(socket),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ConnectError::NotAccepting { .. }), "{error}");
    }
}
