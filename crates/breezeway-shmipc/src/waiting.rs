//! Waiting for data of a peer, without a thread that hands it on.
//!
//! A thread that waits while no other receives becomes the leader: it polls the queue and reads the
//! socket itself, and delivers the data of other streams too. The others follow: they sleep until
//! data came for them, or until the leader leaves and wakes one of them as the next.
//! (Leader/followers: Schmidt et al., "Pattern-Oriented Software Architecture", volume 2.)
//!
//! The leader first polls for a short, self-tuning time with the queue's working flag set, so that
//! the peer makes no system call. Only then it clears the flag, polls once more, and sleeps in
//! `recv`: the peer's eight bytes end that call, so that a sleeping round trip costs each side one
//! read and one write.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::task::{Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use breezeway_os::{Deadline, WaitPolicy, clock, cpu};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::RecvFlags;

use crate::core::Core;
use crate::core::receiver::Receiver;
use crate::error::{SessionEnd, StreamError};
use crate::lock::try_lock;
use crate::pauses::Pauses;

/// Polls between two readings of the clock.
const POLLS_PER_TICK: u32 = 64;
/// Interval at which a leader that spins without end reads the socket.
const SOCKET_CHECK: Duration = Duration::from_micros(500);
/// Time that a sender spins for room before it pauses.
const SPIN_FOR_ROOM: Duration = Duration::from_micros(50);

/// Condition of a wait. With a waker it also arranges that the waker is woken when it holds.
pub(crate) trait Source<T> {
    /// Returns the value, or `None` if it has not come.
    fn poll(&mut self, waker: Option<&Waker>) -> Option<T>;
}

impl<T, F: FnMut(Option<&Waker>) -> Option<T>> Source<T> for F {
    fn poll(&mut self, waker: Option<&Waker>) -> Option<T> {
        self(waker)
    }
}

impl Core {
    /// Waits until `source` has a value, or until `deadline`.
    #[inline]
    pub(crate) fn wait<T>(
        &self,
        deadline: Deadline,
        source: &mut impl Source<T>,
    ) -> Result<T, StreamError> {
        if let Some(found) = source.poll(None) {
            return Ok(found);
        }
        // A failure has ended the session, which `source` reports.
        let _ = self.announce();
        let found = loop {
            if let Some(mut receiver) = try_lock(&self.receiver) {
                self.count_use();
                let found = self.lead(&mut receiver, deadline, source);
                self.count_use();
                break found;
            }
            if let Some(found) = self.follow(deadline, source) {
                break found;
            }
            if let Some(found) = source.poll(None) {
                break Ok(found);
            }
        };
        // A thread that led leaves that to another; a thread that followed may have been woken as
        // the next leader at the moment at which its own data came.
        self.promote();
        // A leader leaves the queue's flag set, and the driver may sleep for a wake-up that the
        // peer then does not send.
        #[cfg(feature = "tokio")]
        self.driver.attend();
        found
    }

    /// Receives for all until `source` has a value.
    fn lead<T>(
        &self,
        receiver: &mut MutexGuard<'_, Receiver>,
        deadline: Deadline,
        source: &mut impl Source<T>,
    ) -> Result<T, StreamError> {
        loop {
            if self.may_spin() {
                receiver.pace.wait();
            }
            // If the session is over, `source` reports that.
            let _ = receiver.receive(self);
            if let Some(found) = source.poll(None) {
                return Ok(found);
            }
            // Checked here too, because a peer that keeps the queue full for other streams leaves
            // no time to sleep.
            judge_time(deadline)?;
            if !self.spin(receiver, deadline) && receiver.consumer.rest() {
                if let Some(found) = source.poll(None) {
                    return Ok(found);
                }
                self.sleep(receiver, deadline)?;
            }
        }
    }

    /// Polls for as long as the policy and the evidence allow. Returns true if it is worth
    /// receiving, or polling for other data than elements.
    fn spin(&self, receiver: &mut Receiver, deadline: Deadline) -> bool {
        let Some(budget) = self.spin_budget(receiver) else { return false };
        receiver.consumer.work();
        let check = clock::ticks_in(SOCKET_CHECK);
        let start = clock::ticks();
        loop {
            for _ in 0..POLLS_PER_TICK {
                if receiver.consumer.has_elements() {
                    receiver.spin.paid();
                    return true;
                }
                std::hint::spin_loop();
            }
            let now = clock::ticks();
            let spun = now.wrapping_sub(start);
            if spun >= budget {
                receiver.spin.missed();
                return false;
            }
            if self.ended().is_some() || deadline.has_passed_at(now) {
                return false;
            }
            if spun >= check {
                let _ = receiver.read_socket(self, RecvFlags::DONTWAIT);
                return true;
            }
        }
    }

    /// Returns the ticks to spin; `None` for no spinning at all.
    pub(crate) fn spin_budget(&self, receiver: &mut Receiver) -> Option<u64> {
        match self.options.wait {
            _ if !self.may_spin() => None,
            WaitPolicy::Busy => Some(u64::MAX),
            _ => receiver.spin.ticks(),
        }
    }

    /// Returns true if a leader may spin at all. Polling the queue would not see bytes that come
    /// over the socket.
    pub(crate) fn may_spin(&self) -> bool {
        match self.options.wait {
            WaitPolicy::Busy => true,
            WaitPolicy::Park => false,
            WaitPolicy::Adaptive => {
                cpu::spinning_pays() && self.over_socket.load(Ordering::Relaxed) == 0
            }
        }
    }

    /// Sleeps until data comes over the socket, and handles it.
    fn sleep(&self, receiver: &mut Receiver, deadline: Deadline) -> Result<(), StreamError> {
        if self.ended().is_some() {
            return Ok(());
        }
        let mut overfull = self.is_overfull();
        // The reader that makes room again wakes the leader. Wake-ups are in the socket too, so the
        // queue is polled.
        let mut pause = Deadline::NEVER;
        if overfull {
            // Without a descriptor for that, the end of the pause must suffice.
            let _ = self.make_leader_notifier();
            pause = Deadline::after(receiver.pause_without_socket());
            overfull = self.is_overfull();
        }
        let patient = deadline == Deadline::NEVER && self.leader_notifier.get().is_none();
        if patient && !overfull && !self.is_socket_full() {
            // A failure has ended the session, which `source` reports.
            let _ = receiver.read_socket(self, RecvFlags::empty());
            return Ok(());
        }
        judge_time(deadline)?;
        self.poll_socket(!overfull, true, deadline.min(pause));
        if !overfull {
            let _ = receiver.read_socket(self, RecvFlags::DONTWAIT);
        }
        Ok(())
    }

    /// Waits for bytes or only for the peer's end, for room in the socket if bytes are pending, as
    /// the leader also for its notifier, or for the time to pass. Returns true if the socket was
    /// ready.
    fn poll_socket(&self, read: bool, leads: bool, until: Deadline) -> bool {
        self.polls.fetch_add(1, Ordering::Relaxed);
        let mut wanted = if read { PollFlags::IN } else { PollFlags::RDHUP };
        if self.is_socket_full() {
            wanted |= PollFlags::OUT;
        }
        let socket = self.socket();
        let leader_notifier = self.leader_notifier.get().filter(|_| leads);
        let mut fds = [PollFd::new(&socket, wanted), PollFd::new(&socket, PollFlags::empty())];
        if let Some(leader_notifier) = leader_notifier {
            fds[1] = PollFd::new(leader_notifier, PollFlags::IN);
        }
        let rang = poll(&mut fds, until.timespec().as_ref()).is_ok();
        let notified =
            rang && leader_notifier.is_some() && fds[1].revents().contains(PollFlags::IN);
        let by_socket = rang && !fds[0].revents().is_empty();
        if notified && let Some(leader_notifier) = leader_notifier {
            let _ = rustix::io::read(leader_notifier.as_fd(), &mut [0; 8]);
        }
        if wanted.contains(PollFlags::OUT) {
            let _ = self.flush_socket();
        }
        by_socket
    }

    /// Sleeps until data came, or until this thread has to lead. `None`: try again.
    fn follow<T>(
        &self,
        deadline: Deadline,
        source: &mut impl Source<T>,
    ) -> Option<Result<T, StreamError>> {
        let waker = thread_waker();
        if let Some(found) = source.poll(Some(&waker)) {
            return Some(Ok(found));
        }
        let is_led = || try_lock(&self.receiver).is_none();
        self.followers.follow(&waker, is_led, || self.park(deadline).err().map(Err))
    }

    fn park(&self, deadline: Deadline) -> Result<(), StreamError> {
        if self.ended().is_some() {
            return Ok(());
        }
        judge_time(deadline)?;
        match deadline.time_left() {
            None => std::thread::park(),
            Some(left) => std::thread::park_timeout(left),
        }
        Ok(())
    }

    /// Wakes the next leader, if there is a follower. Due after every hold of the receiver, however
    /// short: a thread that found it held has gone to sleep.
    pub(crate) fn promote(&self) {
        self.followers.promote();
    }

    /// Receives the elements in the queue, if no other thread does.
    pub(crate) fn receive_now(&self) {
        let Some(mut receiver) = try_lock(&self.receiver) else { return };
        // A failure has ended the session, which the waiting threads see.
        let _ = receiver.receive(self);
        drop(receiver);
        self.promote();
    }

    /// Receives the elements in the queue if it is time, for tasks: their driver polls later.
    #[cfg(feature = "tokio")]
    pub(crate) fn receive_if_due(&self) {
        let Some(mut receiver) = try_lock(&self.receiver) else { return };
        if receiver.is_due(self) {
            let _ = receiver.receive(self);
        }
        drop(receiver);
        self.promote();
    }

    /// Receives without waiting, from queue and socket, if no other thread does. Returns true if
    /// the socket was found empty, and so without its end.
    pub(crate) fn help_receive(&self) -> bool {
        let Some(mut receiver) = try_lock(&self.receiver) else { return false };
        let _ = receiver.receive(self);
        let reads = !self.is_overfull();
        let is_empty =
            reads && matches!(receiver.read_socket(self, RecvFlags::DONTWAIT), Ok(false));
        drop(receiver);
        self.promote();
        is_empty
    }

    /// Returns true if the peer's end of the socket is closed, even if bytes are in it.
    pub(crate) fn has_hung_up(&self) -> bool {
        let socket = self.socket();
        let mut fds = [PollFd::new(&socket, PollFlags::RDHUP)];
        let polled = poll(&mut fds, Deadline::after(Duration::ZERO).timespec().as_ref());
        polled.is_ok() && !fds[0].revents().is_empty()
    }

    /// Receives without waiting, and announces that this side must be woken for more, if no other
    /// thread receives. `None` if another one does; false if more came in the meantime.
    fn receive_and_rest(&self) -> Option<bool> {
        let mut receiver = try_lock(&self.receiver)?;
        let _ = receiver.receive(self);
        if !self.is_overfull() {
            let _ = receiver.read_socket(self, RecvFlags::DONTWAIT);
        }
        let rests = receiver.consumer.rest();
        drop(receiver);
        self.promote();
        Some(rests)
    }

    /// Waits until `attempt` succeeds, and receives at the same time so that two full sides never
    /// wait for each other. Nothing reports room, so this polls: at first without pause, later at
    /// longer intervals the longer nothing comes from the peer.
    pub(crate) fn wait_for_room<T>(
        &self,
        deadline: Deadline,
        mut attempt: impl FnMut() -> Result<Option<T>, StreamError>,
    ) -> Result<T, StreamError> {
        self.announce()?;
        let start = clock::ticks();
        let impatient = clock::ticks_in(SPIN_FOR_ROOM);
        let mut pauses = Pauses::new();
        loop {
            if let Some(done) = attempt()? {
                return Ok(done);
            }
            if let Some(end) = self.ended() {
                return Err(end.clone().into());
            }
            judge_time(deadline)?;
            if clock::ticks().wrapping_sub(start) <= impatient && cpu::spinning_pays() {
                self.help_receive();
                continue;
            }
            let readable = match self.receive_and_rest() {
                Some(false) => continue,
                Some(true) => !self.is_overfull(),
                None => false,
            };
            let until = deadline.min(Deadline::after(pauses.next()));
            if self.poll_socket(readable, false, until) {
                pauses = Pauses::new();
            }
        }
    }

    /// Returns the end of the session as an error of a stream.
    pub(crate) fn end_error(&self) -> StreamError {
        self.ended().cloned().unwrap_or(SessionEnd::Closed).into()
    }
}

/// Fails if the deadline has passed.
fn judge_time(deadline: Deadline) -> Result<(), StreamError> {
    if deadline.has_passed() { Err(StreamError::TimedOut) } else { Ok(()) }
}

/// Wakes a parked thread.
struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Returns the waker of this thread.
fn thread_waker() -> Waker {
    thread_local! {
        static WAKER: Waker = Waker::from(Arc::new(Parked(std::thread::current())));
    }
    WAKER.with(Waker::clone)
}
