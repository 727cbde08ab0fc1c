//! The socket that clients connect to: made without a race, taken over only from the dead or by wish, removed at the end.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FileType, Mode, Stat, chmod, fchmod, lstat, rename, unlink};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
    sockopt,
};

use crate::address::Address;
use crate::error::ServeError;
use crate::socket::connect_unix;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;
/// How long a probe of a socket file may take.
const PROBE: Duration = Duration::from_millis(200);

/// A listening socket; one with a file owns it.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: OwnedFd,
    address: Address,
    /// The file's path, device and inode, so that only our own is removed, and the process that made it.
    file: Option<(PathBuf, (u64, u64), u32)>,
}

impl Listener {
    /// Listens at `address`. A socket file that nobody serves is replaced; one that is served only if `take_over` says so.
    pub(crate) fn bind(address: &Address, mode: u32, take_over: bool) -> Result<Self, ServeError> {
        match address {
            Address::Unix(path) => Self::bind_unix(path, mode, take_over),
            Address::Tcp(socket) => Self::bind_tcp(socket),
        }
    }

    fn bind_tcp(text: &str) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Listen { address: format!("tcp:{text}"), source };
        let listener = TcpListener::bind(text).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        // The port may have been left to the kernel.
        let address = Address::Tcp(listener.local_addr().map_err(failed)?.to_string());
        Ok(Self { socket: listener.into(), address, file: None })
    }

    /// Binds under a name of its own and renames that over the path: at no moment is there nothing to connect to.
    fn bind_unix(path: &Path, mode: u32, take_over: bool) -> Result<Self, ServeError> {
        let failed = |errno: Errno| ServeError::Listen {
            address: path.display().to_string(),
            source: errno.into(),
        };
        judge_place(path, take_over)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(failed)?;
        let mode = Mode::from_raw_mode(mode);
        fchmod(&socket, mode).map_err(failed)?;
        let own = own_name(path);
        let address = SocketAddrUnix::new(&own).map_err(failed)?;
        // Before this the name is somebody else's, if anybody's.
        bind(&socket, &address).map_err(failed)?;
        let bound = chmod(&own, mode)
            .and_then(|()| listen(&socket, BACKLOG))
            .and_then(|()| lstat(&own))
            .and_then(|stat| rename(&own, path).map(|()| identity(&stat)));
        let identity = bound.map_err(|errno| {
            let _ = unlink(&own);
            failed(errno)
        })?;
        let file = Some((path.to_owned(), identity, std::process::id()));
        Ok(Self { socket, address: Address::Unix(path.to_owned()), file })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Takes the next connection; `None` if there is none.
    pub(crate) fn accept(&self) -> io::Result<Option<OwnedFd>> {
        match accept_with(&self.socket, SocketFlags::CLOEXEC) {
            Ok(socket) => {
                ioctl_fionbio(&socket, false)?;
                if matches!(self.address, Address::Tcp(_)) {
                    sockopt::set_tcp_nodelay(&socket, true)?;
                }
                Ok(Some(socket))
            }
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let Some((path, own, process)) = &self.file else { return };
        if *process == std::process::id() && lstat(path).is_ok_and(|stat| identity(&stat) == *own) {
            // Somebody else may have removed it just now: then there is nothing left to do.
            let _ = unlink(path);
        }
    }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Beside the path, so that renaming is possible, and short, since socket paths are.
fn own_name(path: &Path) -> PathBuf {
    path.with_file_name(format!(".{:x}", std::process::id() ^ breezeway_shm::clock::ticks() as u32))
}

/// Whether the path may be used: free, a left-over on which, as a failed connect proves, nobody listens, or one to be taken over.
fn judge_place(path: &Path, take_over: bool) -> Result<(), ServeError> {
    let stat = match lstat(path) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => {
            let address = path.display().to_string();
            return Err(ServeError::Listen { address, source: errno.into() });
        }
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return Err(ServeError::NotASocket(path.to_owned()));
    }
    let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    match connect_unix(path, PROBE) {
        _ if take_over => Ok(()),
        Err(error) if refused(&error) => Ok(()),
        _ => Err(ServeError::InUse(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn bind_at(path: &Path, take_over: bool) -> Result<Listener, ServeError> {
        Listener::bind(&Address::Unix(path.to_owned()), 0o600, take_over)
    }

    #[test]
    fn the_socket_file_has_its_mode_and_goes_with_the_listener() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("echo.sock");
        let listener = bind_at(&path, false).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop(listener);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_left_over_is_replaced_a_running_server_and_a_file_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("echo.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let _first = bind_at(&path, false).unwrap();
        assert!(matches!(bind_at(&path, false), Err(ServeError::InUse(_))));
        let file = folder.path().join("file");
        std::fs::write(&file, "precious").unwrap();
        assert!(matches!(bind_at(&file, true), Err(ServeError::NotASocket(_))));
        assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    }

    #[test]
    fn an_address_that_was_taken_over_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("echo.sock");
        let first = bind_at(&path, false).unwrap();
        let _second = bind_at(&path, true).unwrap();
        drop(first);
        assert!(connect_unix(&path, PROBE).is_ok());
    }
}
