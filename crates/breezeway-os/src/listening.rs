//! Listening sockets made by another process: passed on at this one's start (`LISTEN_FDS`,
//! sd_listen_fds(3)), or sent by a process that this one takes over from.

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::net::{SocketType, sockopt};

use crate::descriptor::ForeignDescriptor;
use crate::fork::Origin;

/// Number of the first descriptor passed on (`SD_LISTEN_FDS_START`).
const FIRST: RawFd = 3;

/// The listeners of the process that called first. They stay open while it lives, because the
/// process that passed them on keeps them too.
static PASSED_ON: OnceLock<(Origin, Vec<OwnedFd>)> = OnceLock::new();

/// Returns the listening sockets that the environment passes to this process, by systemd's
/// protocol: `LISTEN_PID` names this process, `LISTEN_FDS` the number of descriptors, from
/// descriptor 3 on. From now on they do not block, and are closed on exec. A descriptor that is not
/// a listening stream socket, or that is already closed on exec and so was opened in this process,
/// is left alone.
///
/// They belong to this process, for its servers to copy; a forked child has none.
pub fn inherited_listeners() -> &'static [OwnedFd] {
    let (origin, listeners) = PASSED_ON.get_or_init(|| (Origin::here(), passed_on()));
    if origin.is_here() { listeners } else { &[] }
}

fn passed_on() -> Vec<OwnedFd> {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    let count = match (number("LISTEN_PID"), number("LISTEN_FDS")) {
        (Some(pid), Some(count)) if pid == std::process::id() => count,
        _ => return Vec::new(),
    };
    let count = RawFd::try_from(count).unwrap_or(RawFd::MAX - FIRST);
    (FIRST..FIRST.saturating_add(count)).map_while(take).flatten().collect()
}

/// Returns the descriptor of this number, if it was passed on and listens; `None` if it is not
/// open.
fn take(number: RawFd) -> Option<Option<OwnedFd>> {
    // SAFETY: the borrow ends with this function; the next line asks the kernel whether the number
    // is that of an open descriptor.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    let was_passed_on = !fcntl_getfd(fd).ok()?.contains(FdFlags::CLOEXEC);
    if !was_passed_on || !is_listening(fd) || prepare(fd).is_none() {
        return Some(None);
    }
    // SAFETY: it is open, and was so when this process began, as it was not closed on exec, which
    // Rust's own descriptors are. The protocol gives such descriptors to the reader of the
    // variables, and they are read once.
    Some(Some(unsafe { OwnedFd::from_raw_fd(number) }))
}

/// Returns a descriptor received from the process that this one takes over from, if it is a
/// listening stream socket. From now on it does not block, in any process that has a copy.
pub fn handed_listener(fd: ForeignDescriptor) -> Option<OwnedFd> {
    // A socket that listens has nothing to linger for, so closing it does not block.
    (is_listening(&fd) && prepare(&fd).is_some()).then(|| fd.into_owned())
}

fn is_listening(fd: impl std::os::fd::AsFd) -> bool {
    sockopt::socket_acceptconn(&fd) == Ok(true)
        && sockopt::socket_type(&fd) == Ok(SocketType::STREAM)
}

fn prepare(fd: impl std::os::fd::AsFd) -> Option<()> {
    fcntl_setfd(&fd, FdFlags::CLOEXEC).ok()?;
    let flags = fcntl_getfl(&fd).ok()?;
    fcntl_setfl(&fd, flags | OFlags::NONBLOCK).ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn only_listening_sockets_are_taken_as_nonblocking() {
        let listener: OwnedFd = TcpListener::bind("127.0.0.1:0").unwrap().into();
        let copy = listener.try_clone().unwrap();
        assert!(handed_listener(copy.into()).is_some());
        assert!(fcntl_getfl(&listener).unwrap().contains(OFlags::NONBLOCK));
        let folder = tempfile::tempdir().unwrap();
        let unix: OwnedFd = UnixListener::bind(folder.path().join("socket")).unwrap().into();
        assert!(handed_listener(unix.into()).is_some());
        let (stream, _peer) = UnixStream::pair().unwrap();
        let (pipe, _writer) = std::io::pipe().unwrap();
        for other in [OwnedFd::from(stream), pipe.into()] {
            assert!(handed_listener(other.into()).is_none());
        }
    }

    #[test]
    fn own_descriptor_is_not_taken_as_inherited() {
        use std::os::fd::AsRawFd;

        let own: OwnedFd = TcpListener::bind("127.0.0.1:0").unwrap().into();
        assert!(take(own.as_raw_fd()).unwrap().is_none());
        assert!(take(RawFd::MAX).is_none());
    }
}
