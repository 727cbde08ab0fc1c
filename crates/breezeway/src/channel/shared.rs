//! A session that threads and tasks share: its lock, who is woken when it is released, and how a
//! thread waits.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

use breezeway_os::spin::SpinBudget;
use breezeway_os::{Deadline, Notifier, Peer, Sleeper, WaitPolicy, Waiting, clock, cpu};

use super::leadership::Leadership;
use super::parker::Parker;
use super::state::{State, Turn};
use crate::carrier::Carrier;
use crate::error::CallError;
use crate::handshake::Agreed;
use crate::link::Notice;

/// Polls between two releases of the lock while a leader spins.
const POLLS_PER_RELEASE: u32 = 32;
/// How long a leader leaves alone what this process is too short of something to take.
const SHORTAGE_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// The deadline has passed.
#[derive(Debug)]
pub(crate) struct TimedOut;

/// A session, what is known of it without its lock, and the place where a leader sleeps.
pub(crate) struct Shared {
    state: Mutex<State>,
    leadership: Mutex<Leadership<Waker>>,
    stage: Mutex<Option<Stage>>,
    pub(crate) waiting: Waiting,
    pub(crate) peer: Peer,
    pub(crate) carrier: Carrier,
    pub(crate) cap: usize,
    pub(crate) max_in_flight: usize,
}

/// Where the thread that leads sleeps.
struct Stage {
    sleeper: Sleeper,
    budget: SpinBudget,
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
        agreed: Agreed,
        peer: Peer,
        is_client: bool,
        waiting: Waiting,
        leadership: Leadership<Waker>,
    ) -> Arc<Self> {
        clock::calibrate();
        let max_in_flight = agreed.max_in_flight;
        let state = State::new(agreed, is_client);
        Arc::new(Self {
            carrier: state.link.carrier(),
            cap: state.link.cap(),
            max_in_flight,
            state: Mutex::new(state),
            leadership: Mutex::new(leadership),
            stage: Mutex::new(None),
            waiting,
            peer,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the lock")
    }

    /// Releases the lock, and then wakes whom somebody has found something for.
    #[inline]
    fn release(&self, state: MutexGuard<'_, State>) {
        if !state.due.is_empty() {
            self.release_and_wake(state);
        }
    }

    fn release_and_wake(&self, mut state: MutexGuard<'_, State>) {
        let mut due = std::mem::take(&mut state.due);
        drop(state);
        for waker in due.drain(..) {
            waker.wake();
        }
        // Its memory is for the next time, unless that has come already.
        if let Ok(mut state) = self.state.try_lock()
            && state.due.capacity() == 0
        {
            state.due = due;
        }
    }

    /// Does something under the lock, and lets the peer see it.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let result = change(&mut state);
        state.settle();
        self.release(state);
        result
    }

    /// Takes a turn from outside, for whoever drives.
    pub(crate) fn turn<R>(&self, after: impl FnOnce(&mut State, Turn) -> R) -> R {
        let mut state = self.lock();
        let turn = state.turn();
        let result = after(&mut state, turn);
        self.release(state);
        result
    }

    /// Waits, on this thread, until `poll` gives something or the deadline has passed.
    pub(crate) fn wait<T>(
        &self,
        deadline: Deadline,
        mut poll: impl FnMut(&mut State, &mut Context<'_>) -> Poll<T>,
    ) -> Result<T, TimedOut> {
        let (parker, waker) = Parker::current();
        let mut cx = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(result) = self.with(|state| poll(state, &mut cx)) {
                return Ok(result);
            }
            if deadline.has_passed() {
                return Err(TimedOut);
            }
            let Some(place) = self.lead_or_follow(&waker) else {
                let outcome = self.lead(deadline, &mut |state| poll(state, &mut cx));
                self.wake_next(|leadership| leadership.resign());
                return outcome;
            };
            parker.park(deadline);
            self.wake_next(|leadership| leadership.leave(place));
        }
    }

    /// This thread's place among those who follow, or none if it now leads.
    fn lead_or_follow(&self, waker: &Waker) -> Option<super::leadership::Place> {
        let mut leadership = self.leadership();
        if leadership.try_lead() { None } else { Some(leadership.follow(waker.clone())) }
    }

    fn leadership(&self) -> MutexGuard<'_, Leadership<Waker>> {
        self.leadership.lock().expect("nobody panics with the lock")
    }

    fn wake_next(&self, change: impl FnOnce(&mut Leadership<Waker>) -> Option<Waker>) {
        let next = change(&mut self.leadership());
        if let Some(waker) = next {
            waker.wake();
        }
    }

    /// Drives the session for all who wait, until `poll` gives something.
    fn lead<T>(
        &self,
        deadline: Deadline,
        poll: &mut impl FnMut(&mut State) -> Poll<T>,
    ) -> Result<T, TimedOut> {
        self.lock().driver_is_awake = true;
        let outcome = self.lead_awake(deadline, poll);
        // What others have published while this thread was awake is its to send.
        self.with(|state| state.driver_is_awake = false);
        outcome
    }

    fn lead_awake<T>(
        &self,
        deadline: Deadline,
        poll: &mut impl FnMut(&mut State) -> Poll<T>,
    ) -> Result<T, TimedOut> {
        let mut start = clock::ticks();
        loop {
            let polls = if self.waiting.policy == WaitPolicy::Park { 1 } else { POLLS_PER_RELEASE };
            let mut state = self.lock();
            let mut turn = Turn::Idle;
            for _ in 0..polls {
                turn = state.turn();
                if turn != Turn::Idle {
                    break;
                }
                cpu::spin_hint();
            }
            let result = poll(&mut state);
            state.link.note_cpu();
            let shares_cpu = state.link.shares_cpu();
            self.release(state);
            if let Poll::Ready(result) = result {
                self.learn(start);
                return Ok(result);
            }
            let now = clock::ticks();
            if deadline.has_passed_at(now) {
                return Err(TimedOut);
            }
            match turn {
                Turn::Worked | Turn::Ended => start = now,
                Turn::Short => std::thread::sleep(SHORTAGE_PAUSE),
                Turn::Idle if self.spins(now.wrapping_sub(start), shares_cpu) => {}
                Turn::Idle => {
                    if let Err(error) = self.sleep(deadline) {
                        self.with(|state| state.finish(CallError::Io(error)));
                    }
                }
            }
        }
    }

    /// Whether a leader that has found nothing for so many ticks polls on.
    fn spins(&self, idle: u64, shares_cpu: bool) -> bool {
        match self.waiting.policy {
            WaitPolicy::Busy => true,
            WaitPolicy::Park => false,
            WaitPolicy::Adaptive => cpu::spinning_pays() && !shares_cpu && idle < self.spin_ticks(),
        }
    }

    fn spin_ticks(&self) -> u64 {
        let stage = self.stage.lock().expect("nobody panics with the lock");
        let longest = || clock::ticks_in(self.waiting.spin_bound);
        stage.as_ref().map_or_else(longest, |stage| stage.budget.ticks())
    }

    /// Learns how long what was waited for has taken.
    fn learn(&self, start: u64) {
        let mut stage = self.stage.lock().expect("nobody panics with the lock");
        if let Some(stage) = &mut *stage {
            stage.budget.learn(clock::ticks().wrapping_sub(start));
        }
    }

    /// Sleeps until the peer or somebody of this process wakes the leader.
    fn sleep(&self, deadline: Deadline) -> io::Result<()> {
        let mut stage = self.stage.lock().expect("nobody panics with the lock");
        let stage = match &mut *stage {
            Some(stage) => stage,
            none => none.insert(self.build_stage()?),
        };
        let mut state = self.lock();
        let awaits_room = state.link.has_unwritten();
        if awaits_room != stage.awaits_room {
            stage.awaits_room = awaits_room;
            stage.sleeper.watch_room(state.link.socket(), SOCKET, awaits_room)?;
        }
        let asleep = state.prepare_sleep();
        self.release(state);
        if !asleep {
            return Ok(());
        }
        let mut notice = None;
        for wake in stage.sleeper.wait(deadline.time_left())? {
            if wake.token == SOCKET {
                notice = Some(if wake.hung_up { Notice::PeerGone } else { Notice::Readable });
            }
        }
        let mut state = self.lock();
        state.driver_is_awake = true;
        if let Some(notice) = notice {
            state.notice(notice);
        }
        self.release(state);
        Ok(())
    }

    fn build_stage(&self) -> io::Result<Stage> {
        let sleeper = Sleeper::new()?;
        let interrupt = Arc::new(Interrupt(Notifier::new()?));
        let mut state = self.lock();
        sleeper.watch(state.link.socket(), SOCKET)?;
        sleeper.watch(&interrupt.0, INTERRUPT)?;
        state.driver = Some(Waker::from(interrupt));
        let budget = SpinBudget::new(clock::ticks_in(self.waiting.spin_bound));
        Ok(Stage { sleeper, budget, awaits_room: false })
    }
}

/// Tokens of a leader's sleeper.
const SOCKET: u64 = 0;
const INTERRUPT: u64 = 1;
