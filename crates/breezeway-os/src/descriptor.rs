//! File descriptors: the table's size, and received descriptors that may block when closed.
//!
//! `close(2)` waits for a FUSE daemon's answer, or as long as a socket lingers, and an untrusted
//! peer may control both. Only memfds, which have seals, are closed at once; all other received
//! descriptors are closed by dedicated threads, which end when there is nothing to close.
//!
//! Descriptors of one sending process get at most [`MAX_CLOSERS_OF_ONE`] of these threads, so that
//! a peer whose descriptors never finish closing leaves threads for the others. Its further
//! descriptors wait, open; a peer with [`MAX_WAITING`] of them can be refused
//! ([`has_too_many_to_close`]). This process's own connections are queued with them if they may
//! hold unread descriptors, and count as one ([`crate::scm::close_connection`]).

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::fs::{fcntl_get_seals, fstat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Resource, getrlimit};

use crate::fork::Origin;
use crate::peer::Peer;

/// Maximum number of closing threads.
const MAX_CLOSERS: usize = 16;
/// Maximum number of these that close descriptors of one process.
const MAX_CLOSERS_OF_ONE: usize = 4;
/// Number of waiting descriptors of one process that is too many: more than come with one message.
/// A conforming peer has none.
const MAX_WAITING: usize = 256;
/// Time without work after which a closing thread ends.
const CLOSER_IDLE: Duration = Duration::from_secs(1);
/// Size of memory whose pages are freed in less than a worker's slice.
const FREED_AT_ONCE: u64 = 1 << 20;

/// Returns the maximum number of open descriptors of this process (`RLIMIT_NOFILE`, the soft
/// limit).
pub fn open_files_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Makes this process's descriptor table large enough for `count` descriptors, or for the process's
/// limit if that is lower; `any` is one of them. The table never shrinks, and takes some 8 bytes
/// per entry.
///
/// The kernel doubles the table when a higher number is needed. If the process has more than one
/// thread, that waits until no CPU can still read the old table (`expand_fdtable` in Linux's
/// `fs/file.c`): milliseconds, and seconds on an overloaded machine. None of the threads gets a
/// descriptor during that time, so peers that open many connections would keep others waiting.
pub fn make_room_for_descriptors(any: impl AsFd, count: u64) -> io::Result<()> {
    let highest = count.min(open_files_limit()).saturating_sub(1);
    match fcntl_dupfd_cloexec(any, i32::try_from(highest).unwrap_or(i32::MAX)) {
        Ok(_copy) => Ok(()),
        // The limit or fs.nr_open was lowered, or no number from there on is free: the table is as
        // large as it can be.
        Err(Errno::INVAL | Errno::MFILE) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns true if so many descriptors sent by this peer wait to be closed that it should be
/// refused: its closes take long, and each is a descriptor of this process. Over TCP none is sent.
///
/// Always false for a process whose number this one cannot see, as in another container: all of
/// these share one account, and would be refused for each other.
pub fn has_too_many_to_close(peer: &Peer) -> bool {
    peer.remote.is_none()
        && peer.pid.is_some()
        && Closers::of_this_process().have_too_many_of(Sender::of(peer))
}

/// Sender of a descriptor, if the kernel reports it: descriptors of one process share a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sender {
    pid: Option<u32>,
    uid: Option<u32>,
}

impl Sender {
    fn of(peer: &Peer) -> Self {
        Self { pid: peer.pid, uid: peer.uid }
    }

    /// Returns the process at the other end of a socket; unknown where the kernel does not report
    /// it.
    pub(crate) fn behind(socket: impl AsFd) -> Self {
        Peer::of(socket).map(|peer| Self::of(&peer)).unwrap_or_default()
    }
}

/// A received descriptor that was not validated yet.
#[derive(Debug)]
pub struct ForeignDescriptor {
    /// Present until dropped.
    fd: Option<OwnedFd>,
    sender: Sender,
}

/// A descriptor of an unknown sender; all of these share a queue.
impl From<OwnedFd> for ForeignDescriptor {
    fn from(fd: OwnedFd) -> Self {
        Self::of(fd, Sender::default())
    }
}

impl ForeignDescriptor {
    /// Wraps a descriptor that `sender` sent.
    pub(crate) fn of(fd: OwnedFd, sender: Sender) -> Self {
        Self { fd: Some(fd), sender }
    }

    /// Returns the descriptor for validation: reading its seals blocks on no kind of file.
    pub(crate) fn get(&self) -> &OwnedFd {
        self.fd.as_ref().expect("present until dropped")
    }

    /// Closes a mapped segment in this thread: its pages stay mapped, and so are not freed here.
    pub fn close_mapped(self) {
        drop(self.into_owned());
    }

    /// Returns the descriptor, once closing it is known not to block.
    pub(crate) fn into_owned(mut self) -> OwnedFd {
        self.fd.take().expect("present until dropped")
    }
}

/// For operations that block on no kind of file, such as reading its seals.
impl AsFd for ForeignDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get().as_fd()
    }
}

impl Drop for ForeignDescriptor {
    fn drop(&mut self) {
        let Some(fd) = self.fd.take() else { return };
        if !closes_at_once(&fd) {
            Closers::of_this_process().close(fd, self.sender);
        }
    }
}

/// Returns true for memory small enough that freeing its pages causes no noticeable delay.
fn closes_at_once(fd: &OwnedFd) -> bool {
    fcntl_get_seals(fd).is_ok()
        && fstat(fd).is_ok_and(|stat| stat.st_blocks as u64 * 512 <= FREED_AT_ONCE)
}

/// The threads that close descriptors that may block.
struct Closers {
    origin: Origin,
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Default)]
struct Queue {
    /// One account per sender with descriptors to close, in the order of their turns.
    accounts: VecDeque<Account>,
    threads: usize,
}

/// Descriptors of one sender that are to be closed.
struct Account {
    sender: Sender,
    waiting: VecDeque<OwnedFd>,
    /// Threads that are closing a descriptor of it.
    closing: usize,
}

impl Account {
    /// Returns how many of the waiting descriptors may be closed now.
    fn startable(&self) -> usize {
        self.waiting.len().min(MAX_CLOSERS_OF_ONE - self.closing)
    }
}

impl Queue {
    fn position(&self, sender: Sender) -> Option<usize> {
        self.accounts.iter().position(|account| account.sender == sender)
    }

    fn waiting_of(&self, sender: Sender) -> usize {
        self.position(sender).map_or(0, |position| self.accounts[position].waiting.len())
    }

    fn add(&mut self, fd: OwnedFd, sender: Sender) {
        match self.position(sender) {
            Some(position) => self.accounts[position].waiting.push_back(fd),
            None => self.accounts.push_back(Account { sender, waiting: [fd].into(), closing: 0 }),
        }
    }

    fn startable(&self) -> usize {
        self.accounts.iter().map(Account::startable).sum()
    }

    /// Returns the number of threads that close nothing now.
    fn idle(&self) -> usize {
        self.threads - self.accounts.iter().map(|account| account.closing).sum::<usize>()
    }

    /// Returns the next descriptor to close, from the longest waiting sender that may have one
    /// closed.
    fn start(&mut self) -> Option<(OwnedFd, Sender)> {
        let next = self.accounts.iter().position(|account| account.startable() > 0)?;
        let mut account = self.accounts.remove(next)?;
        let fd = account.waiting.pop_front()?;
        account.closing += 1;
        let sender = account.sender;
        self.accounts.push_back(account);
        Some((fd, sender))
    }

    /// Notes that a descriptor of this sender was closed.
    fn finish(&mut self, sender: Sender) {
        let position = self.position(sender).expect("kept while one is being closed");
        let account = &mut self.accounts[position];
        account.closing -= 1;
        if account.closing == 0 && account.waiting.is_empty() {
            self.accounts.remove(position);
        }
    }
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

    fn have_too_many_of(&self, sender: Sender) -> bool {
        // A forked child has its parent's queue, whose threads it lacks and which may stay locked
        // for ever.
        self.origin.is_here() && self.lock().waiting_of(sender) >= MAX_WAITING
    }

    /// Closes on another thread; on this one if none can be started, or in a forked child.
    fn close(&'static self, fd: OwnedFd, sender: Sender) {
        if !self.origin.is_here() {
            return;
        }
        let mut queue = self.lock();
        if queue.threads == 0 && !self.spawn(&mut queue) {
            return;
        }
        queue.add(fd, sender);
        if queue.idle() < queue.startable() && queue.threads < MAX_CLOSERS {
            // If no thread can be started, the present ones do it later.
            self.spawn(&mut queue);
        }
        drop(queue);
        self.arrived.notify_one();
    }

    /// Starts one more thread; false if that fails.
    fn spawn(&'static self, queue: &mut Queue) -> bool {
        let builder = thread::Builder::new().name("breezeway-close".to_owned());
        let spawned = builder.spawn(|| self.run()).is_ok();
        queue.threads += usize::from(spawned);
        spawned
    }

    fn run(&self) {
        let mut queue = self.lock();
        loop {
            if let Some((fd, sender)) = queue.start() {
                drop(queue);
                drop(fd);
                queue = self.lock();
                queue.finish(sender);
                continue;
            }
            let waited = self.arrived.wait_timeout(queue, CLOSER_IDLE);
            let (now, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = now;
            if timeout.timed_out() && queue.startable() == 0 {
                queue.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use rustix::net::sockopt::{
        set_socket_linger, set_socket_recv_buffer_size, set_socket_send_buffer_size,
    };

    use super::*;

    /// A socket that lingers: its last close blocks until this is dropped, as the other end reads
    /// nothing, or for a minute.
    pub(crate) struct SlowToClose {
        socket: Option<OwnedFd>,
        _other: TcpStream,
    }

    impl SlowToClose {
        pub(crate) fn new() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            // Without a fixed size it would grow until it takes all that was written.
            set_socket_recv_buffer_size(&listener, 4096).unwrap();
            let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (other, _) = listener.accept().unwrap();
            set_socket_send_buffer_size(&socket, 4096).unwrap();
            socket.set_nonblocking(true).unwrap();
            while socket.write(&[0; 65536]).is_ok() {}
            socket.set_nonblocking(false).unwrap();
            set_socket_linger(&socket, Some(Duration::from_secs(60))).unwrap();
            Self { socket: Some(socket.into()), _other: other }
        }

        pub(crate) fn take(&mut self) -> OwnedFd {
            self.socket.take().expect("it was not taken")
        }
    }

    impl AsFd for SlowToClose {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.socket.as_ref().unwrap().as_fd()
        }
    }

    /// Gives every closing thread a close that lasts as long as the returned values live.
    pub(crate) fn occupy_all_closers() -> Vec<SlowToClose> {
        (0..MAX_CLOSERS)
            .map(|stranger| {
                let mut slow = SlowToClose::new();
                drop(ForeignDescriptor::of(slow.take(), sender(stranger as u32)));
                slow
            })
            .collect()
    }

    fn sender(pid: u32) -> Sender {
        Sender { pid: Some(pid), uid: None }
    }

    fn new_closers() -> Closers {
        let (queue, arrived) = Default::default();
        Closers { origin: Origin::here(), queue, arrived }
    }

    fn closers() -> &'static Closers {
        // Where a leak sanitizer finds them.
        static ALL: Mutex<Vec<&Closers>> = Mutex::new(Vec::new());
        let closers = Box::leak(Box::new(new_closers()));
        ALL.lock().unwrap().push(closers);
        closers
    }

    #[test]
    fn sender_of_unclosable_descriptors_delays_no_other() {
        let closers = closers();
        let _slow: Vec<_> = (0..2 * MAX_CLOSERS)
            .map(|_| {
                let mut slow = SlowToClose::new();
                closers.close(slow.take(), sender(1));
                slow
            })
            .collect();
        let (mut watched, other) = std::io::pipe().unwrap();
        closers.close(other.into(), sender(2));
        // Ends when the other end is closed.
        assert_eq!(watched.read(&mut [0]).unwrap(), 0);
        // Some of its own may not have had their turn.
        let begun = std::time::Instant::now();
        let wanted = 2 * MAX_CLOSERS - MAX_CLOSERS_OF_ONE;
        while closers.lock().waiting_of(sender(1)) != wanted {
            assert!(begun.elapsed() < Duration::from_secs(20), "not all that may are closed");
            thread::yield_now();
        }
        let queue = closers.lock();
        assert!(queue.threads <= MAX_CLOSERS_OF_ONE + 1, "{} threads", queue.threads);
    }

    #[test]
    fn forked_child_does_not_count_parents_queue() {
        let mut closers = new_closers();
        let mut queue = closers.lock();
        for _ in 0..MAX_WAITING {
            queue.add(std::io::pipe().unwrap().0.into(), sender(1));
        }
        drop(queue);
        assert!(closers.have_too_many_of(sender(1)));
        closers.origin = Origin::elsewhere();
        assert!(!closers.have_too_many_of(sender(1)));
    }

    #[test]
    fn sender_without_pid_is_never_refused() {
        let closers = Closers::of_this_process();
        let stranger = |uid| {
            let (pid, uid) = (None, Some(uid));
            Peer { pid, uid, gid: None, remote: None, identity: None }
        };
        let [one, other] = [1 << 20, 1 << 21].map(stranger);
        let _slow: Vec<_> = (0..MAX_CLOSERS_OF_ONE)
            .map(|_| {
                let mut slow = SlowToClose::new();
                closers.close(slow.take(), Sender::of(&one));
                slow
            })
            .collect();
        for _ in 0..MAX_WAITING {
            closers.close(std::io::pipe().unwrap().0.into(), Sender::of(&one));
        }
        assert!(closers.lock().waiting_of(Sender::of(&one)) >= MAX_WAITING);
        assert!(!has_too_many_to_close(&one));
        // Descriptors of another user belong to another sender.
        let (mut watched, end) = std::io::pipe().unwrap();
        closers.close(end.into(), Sender::of(&other));
        assert_eq!(watched.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn all_that_many_senders_sent_is_closed_by_few_threads() {
        let closers = closers();
        let mut watched = Vec::new();
        for number in 0..400 {
            let (watch, other) = std::io::pipe().unwrap();
            closers.close(other.into(), sender(number % 40));
            watched.push(watch);
            assert!(closers.lock().threads <= MAX_CLOSERS);
        }
        for mut watch in watched {
            assert_eq!(watch.read(&mut [0]).unwrap(), 0);
        }
    }

    #[test]
    fn only_little_memory_is_closed_at_once() {
        let memory = |size| crate::segment::create(size).unwrap().1;
        assert!(closes_at_once(&memory(4096)));
        assert!(!closes_at_once(&memory(2 * FREED_AT_ONCE as usize)));
        assert!(!closes_at_once(&std::io::pipe().unwrap().0.into()));
    }
}
