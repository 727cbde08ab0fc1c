//! System calls, and the errors of each (the manual's pages of section 2).

use breezeway_adversary::interception::Which;
use rustix::io::Errno;

/// One of them.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) number: i64,
    which: Which,
    pub(crate) errors: &'static [Fault],
}

/// Result of a call in place of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Error(&'static str, Errno),
    /// The call is made while no descriptor is free: it fails if it creates one, and `recvmsg` cuts
    /// off the descriptors for which it has no room (`MSG_CTRUNC`).
    NoDescriptors,
    /// The call is made on a connection that was shut down just before it: later calls, and the
    /// other side, see the same result as this one (`EPIPE`, an end of file).
    Cut,
}

impl Fault {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Error(name, _) => name,
            Self::NoDescriptors => "nofile",
            Self::Cut => "cut",
        }
    }

    /// Returns true if the kernel returns it only for a message with descriptors.
    pub(crate) fn is_of_descriptors_in_flight(self) -> bool {
        matches!(self, Self::Error(_, Errno::TOOMANYREFS))
    }

    /// Returns true if the process or the machine is short of something, without a peer's fault.
    pub(crate) fn is_shortage(self) -> bool {
        match self {
            Self::NoDescriptors => true,
            Self::Cut => false,
            Self::Error(_, errno) => matches!(
                errno,
                Errno::MFILE
                    | Errno::NFILE
                    | Errno::NOMEM
                    | Errno::NOBUFS
                    | Errno::NOSPC
                    | Errno::TOOMANYREFS
            ),
        }
    }
}

macro_rules! errors {
    (@ nofile) => {
        Fault::NoDescriptors
    };
    (@ cut) => {
        Fault::Cut
    };
    (@ $name:ident) => {
        Fault::Error(stringify!($name), Errno::$name)
    };
}

macro_rules! calls {
    ($($call:ident $number:ident $which:ident: $($error:ident)*;)*) => {
        &[$(Call {
            name: stringify!($call),
            number: libc::$number,
            which: Which::$which,
            errors: &[$(errors!(@ $error)),*],
        }),*]
    };
}

/// Calls that can fail, with their errors. `EAGAIN` is left out if the kernel returns it only
/// together with a promise: of a later edge, or a later wake-up. `close` is left out, as it does
/// close.
pub(crate) const CALLS: &[Call] = calls! {
    accept4 SYS_accept4 NotStandard: MFILE NFILE NOBUFS NOMEM CONNABORTED INTR PERM PROTO nofile;
    bind SYS_bind NotStandard: ADDRINUSE ACCESS NOMEM NOSPC ROFS;
    clone3 SYS_clone3 All: AGAIN NOMEM PERM;
    connect SYS_connect NotStandard: AGAIN CONNREFUSED INTR NOMEM PERM TIMEDOUT;
    dup SYS_dup NotStandard: MFILE;
    epoll_create1 SYS_epoll_create1 All: MFILE NFILE NOMEM;
    epoll_ctl SYS_epoll_ctl NotStandard: NOMEM NOSPC;
    epoll_wait SYS_epoll_wait NotStandard: INTR;
    epoll_pwait SYS_epoll_pwait NotStandard: INTR;
    epoll_pwait2 SYS_epoll_pwait2 NotStandard: INTR NOSYS;
    eventfd2 SYS_eventfd2 All: MFILE NFILE NOMEM;
    fallocate SYS_fallocate NotStandard: NOSPC INTR NOMEM OPNOTSUPP;
    fchmod SYS_fchmod NotStandard: PERM ROFS;
    fcntl SYS_fcntl NotStandard: PERM BUSY nofile;
    flock SYS_flock NotStandard: INTR NOLCK AGAIN;
    fstat SYS_fstat NotStandard: NOMEM OVERFLOW;
    fstatfs SYS_fstatfs NotStandard: NOMEM;
    ftruncate SYS_ftruncate NotStandard: INTR FBIG NOMEM PERM;
    getpeername SYS_getpeername NotStandard: NOBUFS NOTCONN;
    getsockname SYS_getsockname NotStandard: NOBUFS;
    getsockopt SYS_getsockopt NotStandard: NOMEM NOPROTOOPT MFILE nofile;
    inotify_init1 SYS_inotify_init1 All: MFILE NFILE NOMEM;
    inotify_add_watch SYS_inotify_add_watch NotStandard: NOMEM NOSPC;
    ioctl SYS_ioctl NotStandard: NOMEM PERM;
    listen SYS_listen NotStandard: ADDRINUSE NOMEM;
    lseek SYS_lseek NotStandard: NXIO OVERFLOW;
    madvise SYS_madvise All: AGAIN NOMEM INVAL;
    memfd_create SYS_memfd_create All: MFILE NFILE NOMEM NOSYS nofile;
    mmap SYS_mmap NotOfAllocator: NOMEM NFILE AGAIN;
    munmap SYS_munmap All: NOMEM;
    newfstatat SYS_newfstatat All: NOMEM ACCESS;
    openat SYS_openat All: MFILE NFILE NOMEM ACCESS nofile;
    pidfd_open SYS_pidfd_open All: MFILE NFILE NOMEM SRCH NOSYS nofile;
    pipe2 SYS_pipe2 All: MFILE NFILE;
    poll SYS_poll All: INTR NOMEM;
    ppoll SYS_ppoll All: INTR NOMEM;
    prctl SYS_prctl All: PERM INVAL;
    pwrite64 SYS_pwrite64 NotStandard: NOSPC NOMEM;
    pwritev SYS_pwritev NotStandard: NOSPC INTR NOMEM;
    pwritev2 SYS_pwritev2 NotStandard: NOSPC INTR NOMEM;
    read SYS_read NotStandard: INTR NOMEM IO cut;
    readv SYS_readv NotStandard: INTR NOMEM cut;
    recvfrom SYS_recvfrom NotStandard: INTR NOMEM NOBUFS cut;
    recvmsg SYS_recvmsg NotStandard: INTR NOMEM NOBUFS nofile cut;
    rename SYS_rename All: NOSPC ROFS ACCESS;
    sched_getaffinity SYS_sched_getaffinity All: PERM;
    sched_setaffinity SYS_sched_setaffinity All: INVAL PERM;
    sendfile SYS_sendfile NotStandard: NOMEM IO;
    sendmsg SYS_sendmsg NotStandard:
        INTR NOBUFS NOMEM TOOMANYREFS PERM cut;
    sendto SYS_sendto NotStandard: INTR NOBUFS NOMEM PERM cut;
    setsockopt SYS_setsockopt NotStandard: NOMEM NOBUFS NOPROTOOPT PERM;
    shutdown SYS_shutdown NotStandard: NOTCONN NOBUFS;
    socket SYS_socket All: MFILE NFILE NOBUFS NOMEM AFNOSUPPORT nofile;
    socketpair SYS_socketpair All: MFILE NFILE NOMEM;
    statx SYS_statx All: NOMEM ACCESS;
    timerfd_create SYS_timerfd_create All: MFILE NFILE NOMEM;
    timerfd_settime SYS_timerfd_settime NotStandard: NOMEM;
    unlink SYS_unlink All: ACCESS ROFS;
    unlinkat SYS_unlinkat All: ACCESS ROFS;
    write SYS_write NotStandard: INTR NOSPC NOBUFS NOMEM cut;
    writev SYS_writev NotStandard: INTR NOBUFS NOMEM cut;
};

/// Returns the calls of a watched process that its supervisor sees.
pub(crate) fn seen() -> Vec<(i64, Which)> {
    CALLS.iter().map(|call| (call.number, call.which)).collect()
}

/// The call of this number.
pub(crate) fn of_number(number: i64) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.number == number)
}
