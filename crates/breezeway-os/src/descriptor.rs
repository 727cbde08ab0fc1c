//! File descriptors that a stranger sent: closing one may block.
//!
//! `close(2)` waits for a FUSE daemon's answer, or as long as a socket lingers, and both may be the
//! stranger's. Only memfds, which have seals, are closed at once; whatever else came is closed by
//! threads of their own, which end when there is nothing to close.
//!
//! There is no bound for a stranger whose descriptors never finish closing: as many as there are
//! threads hold these, and every further foreign descriptor waits, open, until one finishes. This
//! process's own connections do not wait with them (see [`crate::scm::close_connection`]), so
//! sessions go on until the limit of open files is reached.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::fs::fcntl_get_seals;
use rustix::process::{Resource, getrlimit};

use crate::fork::Origin;

/// Threads that close at one time: as many descriptors that are slow to close hold up no other.
const MAX_CLOSERS: usize = 16;
/// A closer that has had nothing to do for so long ends.
const CLOSER_IDLE: Duration = Duration::from_secs(1);

/// The most descriptors that this process may have open at one time (`RLIMIT_NOFILE`, the soft
/// limit).
pub fn open_files_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// A descriptor from the other side, of which nothing is known yet.
#[derive(Debug)]
pub struct ForeignDescriptor(Option<OwnedFd>);

impl From<OwnedFd> for ForeignDescriptor {
    fn from(fd: OwnedFd) -> Self {
        Self(Some(fd))
    }
}

impl ForeignDescriptor {
    /// The descriptor, to be judged: asking for its seals blocks on no kind of file.
    pub(crate) fn get(&self) -> &OwnedFd {
        self.0.as_ref().expect("present until dropped")
    }

    /// The descriptor, once it is known that closing it does not block.
    pub(crate) fn into_owned(mut self) -> OwnedFd {
        self.0.take().expect("present until dropped")
    }
}

/// For what blocks on no kind of file, such as asking for its seals.
impl AsFd for ForeignDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get().as_fd()
    }
}

impl Drop for ForeignDescriptor {
    fn drop(&mut self) {
        let Some(fd) = self.0.take() else { return };
        if fcntl_get_seals(&fd).is_err() {
            Closers::of_this_process().close(fd);
        }
    }
}

/// The threads that close what may block.
struct Closers {
    origin: Origin,
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<OwnedFd>,
    threads: usize,
    /// Threads that wait for work.
    idle: usize,
}

impl Closers {
    fn of_this_process() -> &'static Self {
        static CLOSERS: OnceLock<Closers> = OnceLock::new();
        CLOSERS.get_or_init(|| Self {
            origin: Origin::here(),
            queue: Mutex::default(),
            arrived: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes elsewhere; here if there is no thread to do it, as in a forked child.
    fn close(&'static self, fd: OwnedFd) {
        if !self.origin.is_here() {
            return;
        }
        let mut queue = self.lock();
        if queue.idle <= queue.waiting.len() && queue.threads < MAX_CLOSERS {
            let builder = thread::Builder::new().name("breezeway-close".to_owned());
            if builder.spawn(|| self.run()).is_ok() {
                queue.threads += 1;
            } else if queue.threads == 0 {
                return;
            }
        }
        queue.waiting.push_back(fd);
        drop(queue);
        self.arrived.notify_one();
    }

    fn run(&self) {
        let mut queue = self.lock();
        loop {
            if let Some(fd) = queue.waiting.pop_front() {
                drop(queue);
                drop(fd);
                queue = self.lock();
                continue;
            }
            queue.idle += 1;
            let waited = self.arrived.wait_timeout(queue, CLOSER_IDLE);
            let (now, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = now;
            queue.idle -= 1;
            if timeout.timed_out() && queue.waiting.is_empty() {
                queue.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use rustix::net::sockopt::set_socket_linger;

    use super::*;

    /// A socket that lingers: its last close takes until this is dropped, as the other end reads
    /// nothing, or a minute.
    pub(crate) struct SlowToClose {
        socket: Option<OwnedFd>,
        _other: TcpStream,
    }

    impl SlowToClose {
        pub(crate) fn new() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (other, _) = listener.accept().unwrap();
            socket.set_nonblocking(true).unwrap();
            while socket.write(&[0; 65536]).is_ok() {}
            socket.set_nonblocking(false).unwrap();
            set_socket_linger(&socket, Some(Duration::from_secs(60))).unwrap();
            Self { socket: Some(socket.into()), _other: other }
        }

        /// Lets it be closed as a stranger's.
        fn close(&mut self) {
            drop(ForeignDescriptor::from(self.socket.take().unwrap()));
        }
    }

    impl AsFd for SlowToClose {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.socket.as_ref().unwrap().as_fd()
        }
    }

    /// Gives every closer something that takes as long as what is given lives.
    pub(crate) fn occupy_all_closers() -> Vec<SlowToClose> {
        (0..MAX_CLOSERS)
            .map(|_| {
                let mut slow = SlowToClose::new();
                slow.close();
                slow
            })
            .collect()
    }
}
