//! The socket that clients connect to; where it is a file, that file: made without a race, taken over only from the dead, removed at the end.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FileType, FlockOperation, Mode, Stat, chmod, fchmod, flock, lstat, unlink};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};

use crate::address::Place;
use crate::carrier::Carrier;
use crate::connect::{connect_unix, prepare_tcp};
use crate::error::{ConnectError, ServeError};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;
/// How long a probe of a socket file may take.
const PROBE: Duration = Duration::from_millis(200);

/// Tries for the lock that two servers take turns by, and the pause between them: 200 ms in all.
const TURN_TRIES: u32 = 100;
const TURN_PAUSE: Duration = Duration::from_millis(2);

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: OwnedFd,
    place: Place,
    /// Where the socket is a file.
    _file: Option<SocketFile>,
}

impl Listener {
    /// Listens at `place`, if that is a file with the permission bits `mode`. A socket file that nobody serves is replaced.
    pub(crate) fn bind(place: &Place, mode: u32) -> Result<Self, ServeError> {
        match place {
            Place::Shm(path) | Place::Unix(path) => Self::bind_unix(place, path, mode),
            Place::Tcp { host, port } => Self::bind_tcp(place, (host, *port)),
        }
    }

    fn bind_tcp(place: &Place, (host, port): (&str, u16)) -> Result<Self, ServeError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::InUse(place.clone()),
            _ => ServeError::Listen { place: place.clone(), source },
        };
        let listener = TcpListener::bind((host, port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let place = Place::Tcp { host: host.to_owned(), port };
        Ok(Self { socket: listener.into(), place, _file: None })
    }

    fn bind_unix(place: &Place, path: &Path, mode: u32) -> Result<Self, ServeError> {
        let failed =
            |errno: Errno| ServeError::Listen { place: place.clone(), source: errno.into() };
        let address = SocketAddrUnix::new(path).map_err(failed)?;
        // Two servers that find the same left-over take turns.
        let _turn = take_turn(path);
        remove_left_over(place, path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(failed)?;
        // The file inherits the socket's mode at bind, less the umask, so at no moment may more connect than should; the rest comes after.
        let mode = Mode::from_raw_mode(mode);
        fchmod(&socket, mode).map_err(failed)?;
        bind(&socket, &address).map_err(|errno| match errno {
            Errno::ADDRINUSE => ServeError::InUse(place.clone()),
            other => failed(other),
        })?;
        let identity = identity(&lstat(path).map_err(failed)?);
        let file = SocketFile { path: path.into(), identity, process: std::process::id() };
        chmod(path, mode).map_err(failed)?;
        listen(&socket, BACKLOG).map_err(failed)?;
        Ok(Self { socket, place: place.clone(), _file: Some(file) })
    }

    /// Where it listens, with the port that it has.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// What is spoken there.
    pub(crate) fn carrier(&self) -> Carrier {
        self.place.carrier()
    }

    /// Takes the next connection; `None` if there is none.
    pub(crate) fn accept(&self) -> io::Result<Option<OwnedFd>> {
        match accept_with(&self.socket, SocketFlags::CLOEXEC) {
            Ok(socket) if self.carrier() == Carrier::Tcp => {
                prepare_tcp(&socket)?;
                Ok(Some(socket))
            }
            Ok(socket) => Ok(Some(socket)),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            // What the network had already done to a TCP connection (accept(2)).
            Err(
                Errno::NETDOWN
                | Errno::PROTO
                | Errno::NOPROTOOPT
                | Errno::HOSTDOWN
                | Errno::NONET
                | Errno::HOSTUNREACH
                | Errno::OPNOTSUPP
                | Errno::NETUNREACH,
            ) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A socket's file, removed with this.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Device and inode of the file, so that only our own is removed.
    identity: (u64, u64),
    /// The process that made it: a forked child has a copy of this, but not the file.
    process: u32,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        let _turn = take_turn(&self.path);
        if lstat(&self.path).is_ok_and(|stat| identity(&stat) == self.identity) {
            // Somebody else may have removed it just now: then there is nothing left to do.
            let _ = unlink(&self.path);
        }
    }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// A lock on the folder, for as long as the file is open. Best effort: a folder that cannot be read cannot be locked, and a stranger may hold its lock for ever.
fn take_turn(path: &Path) -> Option<File> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = File::open(parent.unwrap_or(Path::new("."))).ok()?;
    for _ in 0..TURN_TRIES {
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(folder),
            Err(Errno::AGAIN | Errno::INTR) => std::thread::sleep(TURN_PAUSE),
            Err(_) => return None,
        }
    }
    None
}

/// Removes a socket file on which, as a failed connect proves, nobody listens.
fn remove_left_over(place: &Place, path: &Path) -> Result<(), ServeError> {
    let failed = |errno: Errno| ServeError::Listen { place: place.clone(), source: errno.into() };
    let stat = match lstat(path) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(failed(errno)),
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return Err(ServeError::NotASocket(path.into()));
    }
    match connect_unix(place, path, PROBE) {
        Err(ConnectError::NobodyListens(_)) => unlink(path).map_err(failed),
        Err(ConnectError::NoSocket(_)) => Ok(()),
        _ => Err(ServeError::InUse(place.clone())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn path_in(folder: &tempfile::TempDir) -> PathBuf {
        folder.path().join("echo.sock")
    }

    fn bind(path: &Path) -> Result<Listener, ServeError> {
        Listener::bind(&Place::Shm(path.into()), 0o600)
    }

    fn probe(path: &Path) -> Result<OwnedFd, ConnectError> {
        connect_unix(&Place::Shm(path.into()), path, PROBE)
    }

    #[test]
    fn the_socket_file_has_its_mode_from_the_start_and_goes_with_the_listener() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(&folder);
        let listener = bind(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn a_left_over_socket_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(&folder);
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let _listener = bind(&path).unwrap();
        assert!(probe(&path).is_ok());
    }

    #[test]
    fn a_socket_that_is_served_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(&folder);
        let _first = bind(&path).unwrap();
        assert!(matches!(bind(&path), Err(ServeError::InUse(_))));
        assert!(probe(&path).is_ok());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(&folder);
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(bind(&path), Err(ServeError::NotASocket(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }

    #[test]
    fn the_file_of_a_successor_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(&folder);
        let first = bind(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let _second = bind(&path).unwrap();
        drop(first);
        assert!(path.exists());
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = bind(Path::new("/no/such/folder/x.sock")).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder/x.sock"), "{error}");
    }

    #[test]
    fn a_free_port_is_told_and_one_in_use_is_left_alone() {
        let any: Place = "tcp:127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(&any, 0o600).unwrap();
        assert_ne!(listener.place(), &any);
        let taken = Listener::bind(listener.place(), 0o600);
        assert!(matches!(taken, Err(ServeError::InUse(_))));
    }
}
