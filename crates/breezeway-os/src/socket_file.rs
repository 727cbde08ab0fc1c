//! The socket file at which a client finds a server: taken from a server that ended, or from a
//! running one on request, and removed at the end.
//!
//! Detecting a server and then replacing or removing its file are two steps, between which another
//! server may do the same. No system call joins them, so servers take turns by a lock on the
//! folder, which excludes this race. A folder that may not be read cannot be locked, and any
//! process that may read it may hold its lock for ever, as with `/tmp`. A server then continues
//! without the lock: of two servers that start at one path at the same moment one may remove the
//! other's file, and the other then listens without a file; and a server that ends may remove a
//! file that replaced its own at that moment. A folder that only its servers' user may read and
//! write excludes that.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    FileType, FlockOperation, Mode, Stat, chmod, fchmod, flock, lstat, rename, unlink,
};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, listen, shutdown,
    socket_with,
};
use thiserror::Error;

use crate::clock;
use crate::connect::unix;
use crate::deadline::Deadline;
use crate::scm::close_listener;

/// Connections that wait to be accepted. Some clients of other systems fail at once if there is no
/// room for one more, so the limit is high.
pub(crate) const BACKLOG: i32 = 1024;
/// Maximum time to probe a socket file.
const PROBE: Duration = Duration::from_millis(200);

/// Tries for the lock that servers take turns by, and the pause between them: 200 ms in all.
const TURN_TRIES: u32 = 100;
const TURN_PAUSE: Duration = Duration::from_millis(2);

/// Process of a socket that another process has to end, and identity of a missing file.
const NOBODY: u32 = 0;
const NO_FILE: (u64, u64) = (0, 0);

/// The error for a file that can be neither removed nor replaced.
const MOUNTED: &str = "the socket file alone is mounted there, so that no server can replace it; \
    mount its folder instead";

/// Digits for temporary names.
const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// Tries for a free name beside a path, as many as there are with one digit.
const NAME_TRIES: u32 = DIGITS.len() as u32;
/// The error for a path beside which no name is free.
const NO_NAME: &str = "every temporary name beside it is taken; remove the left-over sockets of \
    its folder, or use a path shorter than the longest of a socket, 107 bytes";

/// The longest path of a unix socket, without its terminating zero (`sun_path`, unix(7)).
pub const LONGEST_PATH: usize = 107;

/// Reason why a server cannot listen at a path. The caller adds the path.
#[derive(Debug, Error)]
pub enum ListenError {
    /// A server already listens there.
    #[error("in use by a running server")]
    InUse,
    /// A file that is not a socket is in the way.
    #[error("exists and is not a socket")]
    NotASocket,
    /// Another user's socket is there. Without the right to connect to it, a user cannot detect
    /// whether it is served.
    #[error("belongs to user {owner}, and this user may not connect to it")]
    MayNotConnect {
        /// The user id that the file belongs to.
        owner: u32,
    },
    /// A socket without a server is there, in a folder from which this user may not remove it.
    #[error("is a left-over of user {owner}, which this user may not remove")]
    MayNotRemove {
        /// The user id that the file belongs to.
        owner: u32,
    },
    /// The folder of the path does not exist.
    #[error("its folder does not exist")]
    NoFolder,
    /// The socket cannot be created there.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for ListenError {
    fn from(errno: Errno) -> Self {
        Self::Io(match errno {
            // unlink(2) and rename(2), of a mount point.
            Errno::BUSY => io::Error::new(io::ErrorKind::ResourceBusy, MOUNTED),
            _ => errno.into(),
        })
    }
}

/// A listening socket and its file. The file is removed on drop: by the process that made it, and
/// only while it is the same file.
#[derive(Debug)]
pub struct SocketFile {
    /// Open socket. While it is open the kernel keeps the file's inode, removed or not, so that no
    /// other file can get the same identity. Present until dropped.
    socket: Option<OwnedFd>,
    path: PathBuf,
    /// Device and inode of the file, so that only our own is removed.
    identity: (u64, u64),
    /// Process that made it: a forked child has a copy of this value, but does not own the file.
    process: u32,
}

impl SocketFile {
    /// Listens at `path` on a non-blocking stream socket, in a file with the permission bits
    /// `mode`. The file of a server that ended, as a failed connect proves, is replaced. Without
    /// the folder's lock (see above), the file of a server that is just starting may be replaced
    /// too. Takes up to 400 ms where others hold the lock, or a server's backlog is full.
    pub fn listen(path: &Path, mode: u32) -> Result<Self, ListenError> {
        let _turn = take_turn(path);
        if let Some(stat) = find_socket(path)? {
            remove_left_over(path, stat.st_uid)?;
        }
        Self::make(path, path, mode)
    }

    /// Listens like [`listen`](Self::listen), in place of a running server. The new socket, which
    /// already listens, is renamed over the path, so that clients can connect at any moment.
    /// Clients that connected before stay with the predecessor.
    pub fn take_over(path: &Path, mode: u32) -> Result<Self, ListenError> {
        let _turn = take_turn(path);
        find_socket(path)?;
        let first = std::process::id() ^ clock::ticks() as u32;
        // Temporary names left by a server that died before the rename are skipped.
        for number in 0..NAME_TRIES {
            match Self::make(&name_beside(path, first.wrapping_add(number)), path, mode) {
                Err(ListenError::InUse) => {}
                outcome => return outcome,
            }
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, NO_NAME).into())
    }

    /// Creates a socket that listens in a new file, called `name` until it does and `path` at last.
    /// On failure the file is removed here, within the caller's turn: dropping a `Self` would wait
    /// for another turn.
    fn make(name: &Path, path: &Path, mode: u32) -> Result<Self, ListenError> {
        let socket = stream_socket()?;
        let mode = Mode::from_raw_mode(mode);
        bind_to(&socket, name, mode)?;
        let begin = || -> Result<Stat, Errno> {
            let stat = lstat(name)?;
            chmod(name, mode)?;
            listen(&socket, BACKLOG)?;
            if name != path {
                rename(name, path)?;
            }
            Ok(stat)
        };
        let stat = begin().inspect_err(|_| {
            // Only the first error is reported.
            let _ = unlink(name);
        })?;
        let (identity, process) = (identity(&stat), std::process::id());
        Ok(Self { socket: Some(socket), path: path.into(), identity, process })
    }

    /// Wraps a socket that already listens. Its file at `path` belongs to the process that made it,
    /// if to any: it stays when this is dropped, unless [`Self::own`] is called before.
    pub fn adopt(socket: OwnedFd, path: &Path) -> Self {
        Self { socket: Some(socket), path: path.into(), identity: NO_FILE, process: NOBODY }
    }

    /// Takes ownership of the file at the path, if it is a socket's: the process that made it has
    /// [released](Self::release) it.
    pub fn own(&mut self) {
        let stat = find_socket(&self.path).ok().flatten();
        self.identity = stat.as_ref().map_or(NO_FILE, identity);
        self.process = std::process::id();
    }

    /// Gives up the file: the socket, of which another process has a copy, keeps listening, and its
    /// file stays.
    pub fn release(mut self) {
        self.process = NOBODY;
    }
}

impl AsFd for SocketFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().expect("present until dropped").as_fd()
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A forked child has the same socket: shutting it down would end its parent's.
        if self.process != std::process::id() {
            return;
        }
        // Clients and successors are refused from now on, also while this waits for its turn. The
        // socket stays open until the file was compared: otherwise a successor that replaces the
        // file might get the same inode number.
        let _ = shutdown(&*self, Shutdown::Both);
        let _turn = take_turn(&self.path);
        if lstat(&self.path).is_ok_and(|stat| identity(&stat) == self.identity) {
            // Another process may have removed it just now: then there is nothing left to do.
            let _ = unlink(&self.path);
        }
        if let Some(socket) = self.socket.take() {
            close_listener(socket);
        }
    }
}

/// Creates a non-blocking unix stream socket.
pub(crate) fn stream_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// `bind(2)` to a new file at `path`. The file gets the socket's mode, less the umask, so at no
/// moment may more users connect than intended.
fn bind_to(socket: &OwnedFd, path: &Path, mode: Mode) -> Result<(), ListenError> {
    let address = SocketAddrUnix::new(path)?;
    fchmod(socket, mode)?;
    bind(socket, &address).map_err(|errno| match errno {
        Errno::ADDRINUSE => ListenError::InUse,
        Errno::NOENT => ListenError::NoFolder,
        other => other.into(),
    })
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Returns a name in the same folder, so that renaming is possible. It is shortened where the
/// folder's path leaves less room in a socket address; numbers in a row give different names.
fn name_beside(path: &Path, number: u32) -> PathBuf {
    let folder = path.with_file_name("").as_os_str().len();
    path.with_file_name(match LONGEST_PATH.saturating_sub(folder) {
        0 | 1 => String::from(DIGITS[number as usize % DIGITS.len()] as char),
        room => {
            let digits = format!("{number:08x}");
            format!(".{}", &digits[digits.len().saturating_sub(room - 1)..])
        }
    })
}

/// Takes the folder's lock, for as long as the file is open; `None` where it is not available (see
/// the top of the file).
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

/// Returns the status of the socket file at `path`, if a file exists.
fn find_socket(path: &Path) -> Result<Option<Stat>, ListenError> {
    match lstat(path) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Socket => Ok(Some(stat)),
        Ok(_) => Err(ListenError::NotASocket),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Removes the socket file of the user `owner` after a failed connect has proved that no server
/// listens.
fn remove_left_over(path: &Path, owner: u32) -> Result<(), ListenError> {
    match unix(path, Deadline::after(PROBE)).map_err(|error| error.kind()) {
        Err(io::ErrorKind::ConnectionRefused) => unlink(path).or_else(|errno| match errno {
            // Another process removed it just now.
            Errno::NOENT => Ok(()),
            Errno::PERM | Errno::ACCESS => Err(ListenError::MayNotRemove { owner }),
            other => Err(other.into()),
        }),
        Err(io::ErrorKind::NotFound) => Ok(()),
        Err(io::ErrorKind::PermissionDenied) => Err(ListenError::MayNotConnect { owner }),
        _ => Err(ListenError::InUse),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use rustix::net::SendFlags;

    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("echo.sock")
        }

        fn files(&self) -> usize {
            std::fs::read_dir(self.0.path()).unwrap().count()
        }
    }

    fn listen_at(path: &Path) -> Result<SocketFile, ListenError> {
        SocketFile::listen(path, 0o600)
    }

    fn take_over(path: &Path) -> Result<SocketFile, ListenError> {
        SocketFile::take_over(path, 0o600)
    }

    fn probe(path: &Path) -> io::Result<OwnedFd> {
        unix(path, Deadline::after(PROBE))
    }

    /// A user who connects between `bind` and a later `chmod` could not be kept out.
    #[test]
    fn the_file_is_born_with_its_mode() {
        for mode in [0o600, 0o400] {
            let folder = Folder::new();
            let socket = stream_socket().unwrap();
            bind_to(&socket, &folder.path(), Mode::from_raw_mode(mode)).unwrap();
            assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn file_is_created_with_mode_and_removed_at_end() {
        for listen in [listen_at, take_over] {
            let folder = Folder::new();
            let listening = listen(&folder.path()).unwrap();
            assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(folder.files(), 1);
            drop(listening);
            assert_eq!(folder.files(), 0);
        }
    }

    #[test]
    fn unaccepted_client_descriptor_does_not_delay_end() {
        use crate::descriptor::tests::SlowToClose;

        let folder = Folder::new();
        let listening = listen_at(&folder.path()).unwrap();
        let client = probe(&folder.path()).unwrap();
        let mut slow = SlowToClose::new();
        crate::scm::send(&client, b"x", &[slow.as_fd()], SendFlags::empty()).unwrap();
        drop(slow.take());
        let (ended, is_ended) = std::sync::mpsc::channel();
        let ending = std::thread::spawn(move || {
            drop(listening);
            let _ = ended.send(());
        });
        let outcome = is_ended.recv_timeout(Duration::from_secs(10));
        // Ends the slow close.
        drop(slow);
        ending.join().unwrap();
        outcome.expect("ended at once");
    }

    #[test]
    fn a_left_over_is_replaced() {
        for listen in [listen_at, take_over] {
            let folder = Folder::new();
            drop(UnixListener::bind(folder.path()).unwrap());
            assert_eq!(probe(&folder.path()).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
            let _listening = listen(&folder.path()).unwrap();
            assert!(probe(&folder.path()).is_ok());
        }
    }

    #[test]
    fn a_socket_that_is_served_is_left_alone() {
        let folder = Folder::new();
        let _first = listen_at(&folder.path()).unwrap();
        assert!(matches!(listen_at(&folder.path()), Err(ListenError::InUse)));
        assert!(probe(&folder.path()).is_ok());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let folder = Folder::new();
        std::fs::write(folder.path(), "precious").unwrap();
        for listen in [listen_at, take_over] {
            assert!(matches!(listen(&folder.path()), Err(ListenError::NotASocket)));
        }
        assert_eq!(std::fs::read(folder.path()).unwrap(), b"precious");
        assert_eq!(folder.files(), 1);
    }

    #[test]
    fn the_file_of_a_successor_is_not_removed() {
        let folder = Folder::new();
        let first = listen_at(&folder.path()).unwrap();
        std::fs::remove_file(folder.path()).unwrap();
        let _second = listen_at(&folder.path()).unwrap();
        drop(first);
        assert!(probe(&folder.path()).is_ok());
    }

    #[test]
    fn ending_listener_keeps_successors_file() {
        let folder = Folder::new();
        let first = listen_at(&folder.path()).unwrap();
        let turn = take_turn(&folder.path()).unwrap();
        let ending = std::thread::spawn(move || drop(first));
        while probe(&folder.path()).is_ok() {
            std::thread::yield_now();
        }
        assert_eq!(probe(&folder.path()).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        // A file system may give the file the inode number of a deleted one.
        std::fs::remove_file(folder.path()).unwrap();
        let _second = UnixListener::bind(folder.path()).unwrap();
        drop(turn);
        ending.join().unwrap();
        assert!(probe(&folder.path()).is_ok());
    }

    #[test]
    fn a_forked_child_that_drops_its_copy_ends_nothing() {
        let folder = Folder::new();
        let mut parents = listen_at(&folder.path()).unwrap();
        let socket = parents.as_fd().try_clone_to_owned().unwrap();
        parents.process = 0;
        drop(parents);
        assert!(probe(&folder.path()).is_ok());
        assert!(crate::accept(&socket).unwrap().is_some());
    }

    #[test]
    fn take_over_that_cannot_begin_fails_at_once() {
        let folder = Folder::new();
        // Only a folder can have that name.
        let path = folder.0.path().join("echo.sock/");
        let durations = std::iter::repeat_with(|| {
            let start = std::time::Instant::now();
            assert!(matches!(take_over(&path), Err(ListenError::Io(_))));
            start.elapsed()
        });
        // A busy machine may delay one.
        assert!(durations.take(5).min().unwrap() < TURN_PAUSE * TURN_TRIES / 2);
        assert_eq!(folder.files(), 0);
    }

    #[test]
    fn adopted_socket_file_is_removed_by_its_owner_only() {
        let folder = Folder::new();
        let first = listen_at(&folder.path()).unwrap();
        let copy = || first.as_fd().try_clone_to_owned().unwrap();
        drop(SocketFile::adopt(copy(), &folder.path()));
        assert!(probe(&folder.path()).is_ok());
        let mut second = SocketFile::adopt(copy(), &folder.path());
        second.own();
        first.release();
        assert!(probe(&folder.path()).is_ok());
        drop(second);
        assert_eq!(folder.files(), 0);
    }

    #[test]
    fn the_longest_path_is_taken_over() {
        let folder = Folder::new();
        let room = LONGEST_PATH - folder.0.path().join("").as_os_str().len();
        for name in [1, 2, 3, 9, 60] {
            let nested = folder.0.path().join("f".repeat(room - name - 1));
            std::fs::create_dir(&nested).unwrap();
            let path = nested.join("s".repeat(name));
            assert_eq!(path.as_os_str().len(), LONGEST_PATH);
            let _first = listen_at(&path).unwrap();
            take_over(&path).unwrap();
        }
    }

    #[test]
    fn take_over_passes_over_left_over_names() {
        let folder = Folder::new();
        let room = LONGEST_PATH - folder.0.path().join("").as_os_str().len();
        for length in [1, 2] {
            let nested = folder.0.path().join("f".repeat(room - length - 1));
            std::fs::create_dir(&nested).unwrap();
            let path = nested.join("s".repeat(length));
            let _first = listen_at(&path).unwrap();
            let names = (0..NAME_TRIES).map(|number| name_beside(&path, number));
            let taken: std::collections::BTreeSet<_> = names.filter(|name| *name != path).collect();
            for name in &taken {
                std::fs::write(name, "").unwrap();
            }
            let error = take_over(&path).unwrap_err().to_string();
            assert!(error.contains("temporary name") && error.contains("107"), "{error}");
            std::fs::remove_file(taken.last().unwrap()).unwrap();
            take_over(&path).unwrap();
        }
    }

    #[test]
    fn taken_over_path_belongs_to_the_successor() {
        let folder = Folder::new();
        let first = listen_at(&folder.path()).unwrap();
        let second = take_over(&folder.path()).unwrap();
        drop(first);
        let _client = probe(&folder.path()).unwrap();
        assert!(crate::accept(&second).unwrap().is_some());
        assert!(crate::accept(&second).unwrap().is_none());
    }
}
