//! Identity of the peer of a connection.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// The uid that the kernel shows for users that this user namespace does not map.
const OVERFLOW_UID: u32 = 65534;

/// Identity of the peer of a connection: over a unix socket the credentials at the moment it
/// connected (`SO_PEERCRED`, unix(7)), over TCP the address, over TLS also the identity in its
/// certificate. For policy, not for authentication: a pid may be reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Process id as seen from this pid namespace; `None` if it is not visible here.
    pub pid: Option<u32>,
    /// User id; `None` for a user that this user namespace does not map (the overflow uid). An
    /// unknown user equals no other.
    pub uid: Option<u32>,
    /// Group id, under the same condition.
    pub gid: Option<u32>,
    /// Remote address over TCP. The credentials are unknown then.
    pub remote: Option<SocketAddr>,
    /// Verified identity over TLS; `None` for a client that was not asked for a certificate.
    pub identity: Option<Arc<Identity>>,
}

/// Verified identity of a peer: its certificate, issued under one of the roots that this side
/// trusts.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    certificate: Vec<u8>,
    names: Vec<String>,
}

impl Identity {
    /// Creates the identity of a verified certificate, with the names it was issued for.
    pub fn new(certificate: Vec<u8>, names: Vec<String>) -> Self {
        Self { certificate, names }
    }

    /// Returns the certificate (X.509) in DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Returns the DNS names and URIs of the certificate (its `subjectAltName`), DNS names first.
    /// Its IP addresses are only in the certificate.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Identity").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Peer {
    /// Asks the kernel for the process that connected (or that listens) on the other side of
    /// `socket`.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let mut credentials = libc::ucred { pid: 0, uid: OVERFLOW_UID, gid: OVERFLOW_UID };
        // SAFETY: `ucred` is the type that this option fills in, and every bit pattern of its
        // integers is valid.
        unsafe { socket_option(socket.as_fd(), libc::SO_PEERCRED, &mut credentials) }?;
        let known = |id: u32| (id != OVERFLOW_UID && id != u32::MAX).then_some(id);
        Ok(Self {
            // The kernel shows a process of another pid namespace as 0.
            pid: u32::try_from(credentials.pid).ok().filter(|&pid| pid != 0),
            uid: known(credentials.uid),
            gid: known(credentials.gid),
            remote: None,
            identity: None,
        })
    }

    /// Returns a peer connected over TCP from this address.
    pub fn remote(address: SocketAddr) -> Self {
        Self { pid: None, uid: None, gid: None, remote: Some(address), identity: None }
    }

    /// Returns true if the peer runs under the same user id as this process.
    pub fn is_same_user(&self) -> bool {
        self.uid == Some(rustix::process::geteuid().as_raw())
    }
}

/// Returns a descriptor that becomes readable when the process that connected exits
/// (`SO_PEERPIDFD`, Linux 6.5), also where a forked child of it holds the socket open. `None` where
/// the kernel has no such option or no such process; an error if this process or the machine is
/// short of descriptors or memory.
pub fn exit_descriptor(socket: impl AsFd) -> io::Result<Option<OwnedFd>> {
    /// Value from `asm-generic/socket.h`, the same on x86-64 and aarch64.
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut descriptor: libc::c_int = -1;
    // SAFETY: this option fills in one integer.
    let outcome = unsafe { socket_option(socket.as_fd(), SO_PEERPIDFD, &mut descriptor) };
    match outcome {
        // SAFETY: on success the kernel has just opened this descriptor for us alone.
        Ok(()) => Ok((descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })),
        Err(error) => match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => Err(error),
            // No such option, or no process behind it: over TCP, or already reaped.
            _ => Ok(None),
        },
    }
}

/// Reads `getsockopt(SOL_SOCKET, option)` into `value`. rustix's type for credentials cannot hold
/// the pid 0 of another pid namespace, and it lacks the pidfd.
///
/// # Safety
///
/// `T` is a plain C type that the option fills in, valid with any bytes.
unsafe fn socket_option<T>(
    socket: BorrowedFd<'_>,
    option: libc::c_int,
    value: &mut T,
) -> io::Result<()> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` and `len` name live locals of the sizes that the kernel gets, which writes at
    // most `len` bytes.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw mut *value).cast(),
            &raw mut len,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_other_end_of_a_pair_is_this_process() {
        let (socket, _other) = UnixStream::pair().unwrap();
        let peer = Peer::of(&socket).unwrap();
        assert_eq!(peer.pid, Some(std::process::id()));
        assert!(peer.is_same_user());
    }

    #[test]
    fn unmapped_user_is_not_the_same_user() {
        let stranger = Peer { pid: None, uid: None, gid: None, remote: None, identity: None };
        assert!(!stranger.is_same_user());
    }
}
