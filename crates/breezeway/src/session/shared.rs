//! A session that threads and tasks share: its lock, the wake-ups after its release, and the
//! waiting of a thread.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

use breezeway_os::shortage::RETRY_AFTER;
use breezeway_os::spin::Spinner;
use breezeway_os::{Deadline, Notifier, Origin, Peer, Sleeper, WaitPolicy, Waiting, clock, cpu};
use breezeway_shm::statistics::HandlerTimes;
use rustix::io::Errno;

use super::leadership::Leadership;
use super::parker::Parker;
use super::state::{State, Turn};
use super::stream_waiters::QuietStreams;
use super::waiters::NOBODY;
use crate::carrier::{Carrier, Notice};
use crate::error::CallError;
use crate::handshake::Agreed;
use crate::presence::SessionId;

/// Polls between two releases of the lock while a leader spins.
const POLLS_PER_RELEASE: u32 = 32;
/// Interval at which a leader that spins reads the socket, to see whether the peer is there.
const CLOSE_CHECK: std::time::Duration = std::time::Duration::from_millis(1);

/// The deadline has passed.
#[derive(Debug)]
pub(crate) struct TimedOut;

/// A session, its facts that need no lock, and the place where a leader sleeps.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Streams with readers that need not ask.
    pub(super) quiet: Arc<QuietStreams>,
    /// Number of threads that wait for the lock, which a spinning leader must release for them.
    contenders: AtomicU32,
    stage: Mutex<Option<Stage>>,
    pub(crate) waiting: Waiting,
    pub(super) id: SessionId,
    /// Process that opened the session: a forked child does not use it.
    pub(super) origin: Origin,
    pub(crate) peer: Peer,
    pub(crate) carrier: Carrier,
    /// True on the client's side.
    pub(super) is_client: bool,
    pub(crate) cap: usize,
    pub(crate) max_in_flight: usize,
    pub(crate) service: u16,
    /// Record of handler times.
    pub(super) handler_times: Option<HandlerTimes>,
    /// Limit of streams that the peer may have open.
    pub(super) max_streams: usize,
}

/// The place where the thread that leads sleeps.
struct Stage {
    sleeper: Sleeper,
    awaits_room: bool,
}

/// Interrupts a leader's sleep.
struct Interrupt(Notifier);

impl Wake for Interrupt {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify();
    }
}

impl Shared {
    pub(crate) fn new(
        id: SessionId,
        agreed: Agreed,
        peer: Peer,
        is_client: bool,
        waiting: Waiting,
        leadership: Leadership<Waker>,
    ) -> Arc<Self> {
        let Agreed { max_in_flight, service, .. } = agreed;
        let state = State::new(agreed, is_client, leadership, Spinner::new(waiting));
        Arc::new(Self {
            carrier: state.link.carrier,
            is_client,
            cap: state.link.cap,
            max_in_flight,
            service,
            handler_times: state.link.meter().handler_times(),
            max_streams: state.connection.streams.max_peer_streams(),
            quiet: Arc::clone(state.waiters.quiet_streams()),
            state: Mutex::new(state),
            contenders: AtomicU32::new(0),
            stage: Mutex::new(None),
            waiting,
            id,
            origin: Origin::here(),
            peer,
        })
    }

    /// Locks the session. The caller ends its use with [`Self::finish`].
    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        match self.state.try_lock() {
            Ok(state) => state,
            Err(_) => self.lock_slowly(),
        }
    }

    #[cold]
    fn lock_slowly(&self) -> MutexGuard<'_, State> {
        // Relaxed: a leader that sees it late releases the lock a few polls later.
        self.contenders.fetch_add(1, Ordering::Relaxed);
        let state = self.state.lock();
        self.contenders.fetch_sub(1, Ordering::Relaxed);
        state.expect("no thread panics with the lock")
    }

    fn is_contended(&self) -> bool {
        self.contenders.load(Ordering::Relaxed) > 0
    }

    /// Releases the lock, and then wakes the waiters that are due.
    #[inline]
    fn release(&self, state: MutexGuard<'_, State>) {
        if state.has_due() {
            self.release_and_wake(state);
        }
    }

    #[inline(never)]
    fn release_and_wake(&self, mut state: MutexGuard<'_, State>) {
        state.note_ended_streams();
        // A leader needs no wake-up: it polls.
        state.due.retain(|waker| !waker.will_wake(NOBODY));
        if state.due.is_empty() && state.due_readers.is_empty() {
            return;
        }
        let mut due = std::mem::take(&mut state.due);
        let mut readers = std::mem::take(&mut state.due_readers);
        drop(state);
        for waker in due.drain(..) {
            waker.wake();
        }
        for (_, waker) in &readers {
            waker.wake_by_ref();
        }
        // The vectors are kept for the next time, unless that has come already, or another thread
        // has the lock.
        let Ok(mut state) = self.state.try_lock() else { return };
        for (registration, waker) in readers.drain(..) {
            due.extend(state.waiters.give_back(registration, waker));
        }
        if due.is_empty() && state.due.capacity() == 0 {
            state.due = std::mem::take(&mut due);
        }
        if state.due_readers.capacity() == 0 {
            state.due_readers = readers;
        }
        drop(state);
        // The drop of a waker's last copy may drop a task, and with it a value that takes the lock
        // in its drop.
        drop(due);
    }

    /// Runs `change` under the lock, and lets the peer see its effect.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let result = change(&mut state);
        self.finish(state);
        result
    }

    /// Passes the session's socket to `act`, under the lock.
    pub(super) fn with_socket<R>(&self, act: impl FnOnce(BorrowedFd<'_>) -> R) -> R {
        let state = self.lock();
        let result = act(state.link.socket());
        self.release(state);
        result
    }

    /// Lets the peer see the changes, and releases the lock, like [`Self::with`].
    #[inline]
    pub(super) fn finish(&self, mut state: MutexGuard<'_, State>) {
        state.settle();
        self.release(state);
    }

    /// Takes the waker of a task that may receive the next message, unless another thread uses the
    /// session now.
    pub(super) fn take_waiter(&self) -> Option<Waker> {
        self.state.try_lock().ok()?.take_waiter()
    }

    /// Takes a turn from outside, for the driver.
    pub(crate) fn turn<R>(&self, after: impl FnOnce(&mut State, Turn) -> R) -> R {
        let mut state = self.lock();
        let turn = state.turn();
        let result = after(&mut state, turn);
        self.release(state);
        result
    }

    /// Runs `change` under the lock, unless another thread has the lock, which this does not wait
    /// for. The next turn flushes the entries that `change` publishes.
    pub(super) fn try_with<R>(&self, change: impl FnOnce(&mut State) -> R) -> Option<R> {
        let mut state = self.state.try_lock().ok()?;
        let result = change(&mut state);
        self.release(state);
        Some(result)
    }

    /// Runs `ask`, after a turn if no driver takes turns; a driver receives entries in its own
    /// turns.
    pub(crate) fn glance<R>(&self, ask: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        if state.leadership.try_lead() {
            if state.link.status().unread {
                // The event may be old, and nothing here waits for the next one.
                state.notice(Notice::Readable);
            }
            state.turn();
            let next = state.leadership.resign();
            state.due.extend(next);
        }
        let answer = ask(&mut state);
        state.settle();
        self.release(state);
        answer
    }

    /// Waits, on this thread, until `poll` is ready or the deadline has passed.
    pub(crate) fn wait<T>(
        &self,
        deadline: Deadline,
        mut poll: impl FnMut(&mut State, &mut Context<'_>) -> Poll<T>,
    ) -> Result<T, TimedOut> {
        Parker::with_current(|parker, waker| {
            let mut place = None;
            loop {
                let mut state = self.lock();
                if let Some(place) = place.take() {
                    // The successor is not woken here: if no thread leads, this one does, and wakes
                    // the next when it ends.
                    let _ = state.leadership.leave(place);
                }
                if state.leadership.try_lead() {
                    let mut cx = Context::from_waker(NOBODY);
                    return self.lead(state, deadline, &mut |state| poll(state, &mut cx));
                }
                let polled = poll(&mut state, &mut Context::from_waker(waker));
                let has_passed = polled.is_pending() && deadline.has_passed();
                if polled.is_pending() && !has_passed {
                    place = Some(state.leadership.follow(waker.clone()));
                }
                state.settle();
                self.release(state);
                match polled {
                    Poll::Ready(result) => return Ok(result),
                    Poll::Pending if has_passed => return Err(TimedOut),
                    Poll::Pending => parker.park(deadline),
                }
            }
        })
    }

    /// Drives the session for all waiters, until `poll` is ready or the deadline has passed.
    fn lead<T>(
        &self,
        mut state: MutexGuard<'_, State>,
        deadline: Deadline,
        poll: &mut impl FnMut(&mut State) -> Poll<T>,
    ) -> Result<T, TimedOut> {
        let (mut state, outcome) = match poll(&mut state) {
            Poll::Ready(result) => (state, Ok(result)),
            Poll::Pending => self.lead_awake(state, deadline, poll),
        };
        // Entries that others have published while this thread was awake are sent by this thread.
        state.driver.is_awake = false;
        let next = state.leadership.resign();
        state.due.extend(next);
        state.settle();
        self.release(state);
        outcome
    }

    fn lead_awake<'s, T>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        deadline: Deadline,
        poll: &mut impl FnMut(&mut State) -> Poll<T>,
    ) -> (MutexGuard<'s, State>, Result<T, TimedOut>) {
        state.driver.is_awake = true;
        let mut start = clock::ticks();
        let mut socket_read = start;
        let polls = if state.spinner.policy() == WaitPolicy::Park { 1 } else { POLLS_PER_RELEASE };
        loop {
            let turn = self.take_turns(&mut state, polls);
            state.link.note_cpu();
            if let Poll::Ready(result) = poll(&mut state) {
                state.spinner.learn(clock::ticks().wrapping_sub(start));
                return (state, Ok(result));
            }
            let now = clock::ticks();
            if deadline.has_passed_at(now) {
                return (state, Err(TimedOut));
            }
            let idle = || now.wrapping_sub(start);
            let spins = state.spinner.spins(idle, || state.link.shares_cpu());
            let unread_for = now.wrapping_sub(socket_read);
            if turn == Turn::Idle && spins && unread_for >= clock::ticks_in(CLOSE_CHECK) {
                // No event reports the peer's end to a thread that never sleeps.
                socket_read = now;
                state.read_socket();
            }
            self.release(state);
            match turn {
                Turn::Worked | Turn::Closing | Turn::Ended => start = now,
                Turn::Short => std::thread::sleep(RETRY_AFTER),
                Turn::Idle if spins => self.give_way(),
                Turn::Idle => {
                    if let Err(error) = self.sleep(deadline) {
                        self.not_slept(error);
                    }
                }
            }
            state = self.lock();
        }
    }

    /// Takes turns, at most `polls`, until one finds something or another thread waits for the
    /// lock.
    pub(super) fn take_turns(&self, state: &mut State, polls: u32) -> Turn {
        for _ in 1..polls {
            let turn = state.turn();
            if turn != Turn::Idle || self.is_contended() {
                return turn;
            }
            cpu::spin_hint();
        }
        state.turn()
    }

    /// Leaves the lock, which was released, to the threads that wait for it.
    fn give_way(&self) {
        for _ in 0..POLLS_PER_RELEASE {
            if !self.is_contended() {
                break;
            }
            cpu::spin_hint();
        }
    }

    /// Sleeps until the peer, or a thread or task of this process, wakes the leader.
    fn sleep(&self, deadline: Deadline) -> io::Result<()> {
        let mut stage = self.stage.lock().expect("no thread panics with the lock");
        let stage = match &mut *stage {
            Some(stage) => stage,
            none => none.insert(self.build_stage()?),
        };
        let mut state = self.lock();
        let awaits_room = state.link.status().unwritten > 0;
        if awaits_room != stage.awaits_room {
            stage.sleeper.watch_room(state.link.socket(), SOCKET, awaits_room)?;
            stage.awaits_room = awaits_room;
        }
        let until = state.prepare_sleep();
        self.release(state);
        let Some(until) = until else { return Ok(()) };
        let mut notice = None;
        for &wake in stage.sleeper.wait(deadline.min(until).time_left())? {
            if wake.token == SOCKET {
                notice = Some(Notice::from(wake));
            }
        }
        let mut state = self.lock();
        state.driver.is_awake = true;
        if let Some(notice) = notice {
            state.notice(notice);
        }
        self.release(state);
        Ok(())
    }

    /// Handles a sleep that failed. Without descriptors or memory for the sleep, which may come
    /// back, the leader polls again after a pause. Any other error ends the session.
    #[cold]
    fn not_slept(&self, error: io::Error) {
        let errno = Errno::from_io_error(&error);
        if matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOSPC)) {
            std::thread::sleep(RETRY_AFTER);
        } else {
            self.with(|state| state.finish(CallError::Io(error)));
        }
    }

    fn build_stage(&self) -> io::Result<Stage> {
        let sleeper = Sleeper::new()?;
        let interrupt = Arc::new(Interrupt(Notifier::new()?));
        let mut state = self.lock();
        sleeper.watch(state.link.socket(), SOCKET)?;
        sleeper.watch(&interrupt.0, INTERRUPT)?;
        state.set_driver(&Waker::from(interrupt));
        Ok(Stage { sleeper, awaits_room: false })
    }
}

/// Tokens of a leader's sleeper.
const SOCKET: u64 = 0;
const INTERRUPT: u64 = 1;

#[cfg(test)]
mod tests;
