//! Sleeping until a socket becomes readable or this process wakes the sleeper: one epoll instance,
//! edge-triggered, so that a wake-up costs one system call and the bytes need not be read each time
//! (epoll(7)).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};

use crate::deadline::{Deadline, timespec};
use crate::ready::ready;
use crate::shortage::no_watch;

/// Events taken in one system call.
const EVENTS: usize = 64;

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Token of the descriptor's registration.
    pub token: u64,
    /// True if the peer has closed.
    pub hung_up: bool,
    /// True if an urgent byte (`MSG_OOB`) has arrived: a read of a unix socket ends in front of it.
    pub urgent: bool,
}

/// Events of a watched descriptor.
const WATCHED: EventFlags =
    EventFlags::IN.union(EventFlags::PRI).union(EventFlags::RDHUP).union(EventFlags::ET);

/// Returns true if every urgent byte in a unix socket is reported by [`Wake::urgent`]. Some kernels
/// of Linux 5.15 and 5.16 have such bytes and report none.
pub fn reports_urgent_bytes() -> bool {
    static REPORTS: OnceLock<bool> = OnceLock::new();
    // A failure for lack of descriptors is not kept.
    let known = REPORTS.get().copied().or_else(|| probe().ok());
    known.is_some_and(|reports| *REPORTS.get_or_init(|| reports))
}

fn probe() -> Result<bool, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let (one, other) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match send(&other, &[0], SendFlags::OOB) {
        Ok(_) => ready(&one, PollFlags::PRI, Deadline::after(Duration::ZERO)),
        Err(Errno::OPNOTSUPP) => Ok(true),
        Err(errno) => Err(errno),
    }
}

/// An epoll instance to sleep on.
pub struct Sleeper {
    epoll: Arc<OwnedFd>,
    wakes: Vec<Wake>,
}

impl Sleeper {
    /// `epoll_create1(EPOLL_CLOEXEC)`.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll: Arc::new(epoll), wakes: Vec::with_capacity(EVENTS) })
    }

    /// Returns a handle to the same instance, for another thread: each event goes to one of both.
    pub fn share(&self) -> Self {
        Self { epoll: Arc::clone(&self.epoll), wakes: Vec::with_capacity(EVENTS) }
    }

    /// Wakes with `token` whenever data arrives on `fd`, or its other side closes.
    pub fn watch(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let added = epoll::add(&self.epoll, fd, EventData::new_u64(token), WATCHED);
        added.map_err(|errno| no_watch(errno.into()))
    }

    /// Wakes with `token` for the events of [`Self::watch`], which must be called first, and if
    /// `room` also when `fd` can be written again.
    pub fn watch_room(&self, fd: impl AsFd, token: u64, room: bool) -> io::Result<()> {
        let mut flags = WATCHED;
        flags.set(EventFlags::OUT, room);
        Ok(epoll::modify(&self.epoll, fd, EventData::new_u64(token), flags)?)
    }

    /// Registers `fd`, such as another sleeper, without waking for it before [`Self::watch_once`].
    /// Also ends such a watch.
    pub fn watch_later(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let (fd, data) = (fd.as_fd(), EventData::new_u64(token));
        match epoll::add(&self.epoll, fd, data, EventFlags::empty()) {
            Err(Errno::EXIST) => Ok(epoll::modify(&self.epoll, fd, data, EventFlags::empty())?),
            outcome => outcome.map_err(|errno| no_watch(errno.into())),
        }
    }

    /// Wakes with `token` once when `fd`, registered by [`Self::watch_later`], is readable; at once
    /// if it already is.
    pub fn watch_once(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::ONESHOT;
        Ok(epoll::modify(&self.epoll, fd, EventData::new_u64(token), flags)?)
    }

    /// No longer wakes for `fd`.
    pub fn forget(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// Sleeps until an event occurs or the timeout expires; without a timeout for ever, with zero
    /// not at all. Returns the events.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<&[Wake]> {
        // A caller that only polls may rely on its result: events are returned whatever happens.
        let only_looks = timeout == Some(Duration::ZERO);
        let timeout = timeout.map(timespec);
        let mut buffer = [MaybeUninit::uninit(); EVENTS];
        self.wakes.clear();
        loop {
            match epoll::wait(&self.epoll, &mut buffer[..], timeout.as_ref()) {
                Ok((events, _)) => self.wakes.extend(events.iter().map(wake)),
                Err(Errno::INTR) if only_looks => continue,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            return Ok(&self.wakes);
        }
    }
}

fn wake(event: &Event) -> Wake {
    let flags = event.flags;
    Wake {
        token: event.data.u64(),
        hung_up: flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR),
        urgent: flags.contains(EventFlags::PRI),
    }
}

impl AsFd for Sleeper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Wakes a [`Sleeper`] of this process: a private eventfd, never sent to a peer, because the peer's
/// copy would share its non-blocking flag.
#[derive(Clone, Debug)]
pub struct Notifier(Arc<OwnedFd>);

impl Notifier {
    /// `eventfd(EFD_CLOEXEC | EFD_NONBLOCK)`.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Wakes all watchers. May be called from any thread.
    pub fn notify(&self) {
        // Fails only when the count is at its maximum: then it is readable already.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }

    /// Clears notifications, for a poller: the descriptor is readable as long as there are any.
    pub fn clear(&self) {
        // Fails only when there are none.
        let _ = rustix::io::read(&*self.0, &mut [0; 8]);
    }
}

/// Wakes the sleep of a task or of a thread.
impl std::task::Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}

impl AsFd for Notifier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use breezeway_adversary::interception::{Stopped, Which, with_faults};

    use super::*;

    #[test]
    fn a_notification_wakes_once_and_without_being_read() {
        let mut sleeper = Sleeper::new().unwrap();
        let notifier = Notifier::new().unwrap();
        sleeper.watch(&notifier, 7).unwrap();
        for _ in 0..3 {
            notifier.notify();
            let wakes = sleeper.wait(Some(Duration::from_secs(5))).unwrap();
            assert_eq!(wakes, [Wake { token: 7, hung_up: false, urgent: false }]);
            assert!(sleeper.wait(Some(Duration::ZERO)).unwrap().is_empty());
        }
    }

    #[test]
    fn nested_sleeper_wakes_once_per_watch() {
        let (mut outer, mut inner) = (Sleeper::new().unwrap(), Sleeper::new().unwrap());
        let notifier = Notifier::new().unwrap();
        inner.watch(&notifier, 7).unwrap();
        outer.watch_later(&inner, 1).unwrap();
        notifier.notify();
        assert!(outer.wait(Some(Duration::ZERO)).unwrap().is_empty());
        for _ in 0..2 {
            outer.watch_once(&inner, 1).unwrap();
            assert_eq!(outer.wait(Some(Duration::from_secs(5))).unwrap()[0].token, 1);
            assert!(outer.wait(Some(Duration::ZERO)).unwrap().is_empty());
        }
        let mut other = inner.share();
        assert_eq!(other.wait(Some(Duration::ZERO)).unwrap()[0].token, 7);
        assert!(inner.wait(Some(Duration::ZERO)).unwrap().is_empty(), "it was given to the other");
        outer.watch_once(&inner, 1).unwrap();
        outer.watch_later(&inner, 1).unwrap();
        notifier.notify();
        assert!(outer.wait(Some(Duration::ZERO)).unwrap().is_empty());
    }

    #[test]
    fn zero_timeout_wait_retries_after_interruption() {
        let mut sleeper = Sleeper::new().unwrap();
        let notifier = Notifier::new().unwrap();
        sleeper.watch(&notifier, 7).unwrap();
        notifier.notify();
        let mut interrupted = 0;
        let first = |_: &Stopped| {
            interrupted += 1;
            (interrupted == 1).then_some(Errno::INTR)
        };
        let calls = [(libc::SYS_epoll_pwait, Which::All), (libc::SYS_epoll_pwait2, Which::All)];
        let wakes = with_faults(&calls, first, || {
            sleeper.wait(Some(Duration::ZERO)).map(<[Wake]>::to_vec).unwrap()
        });
        match wakes {
            Ok(wakes) => assert_eq!(wakes, [Wake { token: 7, hung_up: false, urgent: false }]),
            Err(error) => return println!("SKIPPED: no system calls can be intercepted: {error}"),
        }
        assert!(interrupted > 1, "nothing was interrupted");
    }

    #[test]
    fn one_event_reports_urgent_byte_and_close() {
        let mut sleeper = Sleeper::new().unwrap();
        assert!(reports_urgent_bytes());
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        sleeper.watch(&one, 1).unwrap();
        let mut wait = || sleeper.wait(Some(Duration::from_secs(5))).unwrap().to_vec();
        send(&other, b"a", SendFlags::empty()).unwrap();
        assert_eq!(wait(), [Wake { token: 1, hung_up: false, urgent: false }]);
        send(&other, b"a", SendFlags::OOB).unwrap();
        assert_eq!(wait(), [Wake { token: 1, hung_up: false, urgent: true }]);
        send(&other, b"a", SendFlags::empty()).unwrap();
        drop(other);
        assert_eq!(wait(), [Wake { token: 1, hung_up: true, urgent: true }]);
    }

    #[test]
    fn a_peer_that_goes_is_reported() {
        let mut sleeper = Sleeper::new().unwrap();
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        sleeper.watch(&one, 1).unwrap();
        drop(other);
        let wakes = sleeper.wait(Some(Duration::from_secs(5))).unwrap();
        assert_eq!(wakes, [Wake { token: 1, hung_up: true, urgent: false }]);
    }
}
