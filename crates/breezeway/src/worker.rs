//! A thread that serves many sessions: it polls the recently active ones, and sleeps for the
//! others.
//!
//! Each session is *active*, polled in turn with a budget, or *armed*: its doorbell is announced
//! and its socket watched. An idle session thus costs nothing, also under `WaitPolicy::Busy`,
//! which only never arms the last one. A session that waits for a resource which this process lacks
//! is *paused*.

mod ending;
mod guard;
mod inbox;
mod load;
mod sessions;
mod slot;
#[cfg(test)]
mod tests;
mod turns;
mod waiting;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::spin::Spinner;
use breezeway_os::{Deadline, Sleeper, Waiting, Wake, clock};
use breezeway_shm::statistics::{Description, Meter};

use crate::call::Handler;
use crate::error::{SessionError, describe};
use crate::exclusive_server::{ExclusiveServerSession, Progress};
use crate::log_limit::LogLimit;
use crate::presence::Hooks;
use crate::slice::{SLICE, Slice};

pub(crate) use guard::Guard;
use guard::Watch;
use inbox::INBOX;
pub(crate) use inbox::Inbox;
use load::Workload;
use slot::Slot;
use turns::Turns;

/// Polls for a request of the only active session in each round.
const POLLS_ALONE: u32 = 16;
/// Interval at which a thread that does not sleep checks for doorbells and dead peers.
const LISTEN_EVERY: Duration = Duration::from_micros(100);
/// Interval like [`LISTEN_EVERY`] while messages arrive on sockets, which have no other report.
const LISTEN_FOR_MESSAGES_EVERY: Duration = Duration::from_micros(5);
/// Time without work after which a session is armed while others are busy.
const ACTIVE_FOR: Duration = Duration::from_millis(1);
/// Duration of a turn that delays other sessions by more than they may expect.
const SLOW: Duration = Duration::from_millis(1);

/// Next step of a worker.
enum Next {
    Poll,
    Sleep,
}

/// Times in clock ticks, so that hot paths convert nothing.
struct Times {
    slice: u64,
    listen: u64,
    listen_for_messages: u64,
    active: u64,
    slow: u64,
}

impl Times {
    fn new() -> Self {
        Self {
            slice: clock::ticks_in(SLICE),
            listen: clock::ticks_in(LISTEN_EVERY),
            listen_for_messages: clock::ticks_in(LISTEN_FOR_MESSAGES_EVERY),
            active: clock::ticks_in(ACTIVE_FOR),
            slow: clock::ticks_in(SLOW),
        }
    }
}

pub(crate) struct Worker {
    spinner: Spinner,
    inbox: Arc<Inbox>,
    hooks: Hooks,
    sleeper: Sleeper,
    times: Times,
    workload: Workload,
    /// Lets other workers take over its armed sessions, if there are other workers.
    watch: Option<Watch>,
    /// Sessions by token, except the armed ones that other workers may take.
    slots: Vec<Option<Box<Slot>>>,
    /// Events that rang, while they are handled.
    heard: Vec<Wake>,
    /// The active sessions.
    active: Turns,
    /// Rounds over the active sessions so far.
    round: u64,
    /// Tokens of the paused sessions, which are tried again at `resume`.
    paused: Vec<usize>,
    resume: Deadline,
    /// Records how this thread waits, for tools.
    meter: Meter,
    /// The last reading of the clock, in ticks: after each turn with work, and at intervals.
    now: u64,
    /// Rounds since that reading.
    rounds: u32,
    /// Time since when no work was found, if a tick has noticed that.
    idle_since: Option<u64>,
    listened: u64,
    /// Time of the last message on a socket, in clock ticks.
    socket_work: u64,
    broken: LogLimit,
    short: LogLimit,
}

impl Worker {
    pub(crate) fn new(wait: Waiting, hooks: Hooks, inbox: Arc<Inbox>) -> io::Result<Self> {
        let spinner = Spinner::new(wait);
        let now = clock::ticks();
        let sleeper = Sleeper::new()?;
        sleeper.watch(&inbox, INBOX)?;
        Ok(Self {
            spinner,
            inbox,
            hooks,
            sleeper,
            times: Times::new(),
            workload: Workload::new(now),
            watch: None,
            slots: Vec::new(),
            heard: Vec::new(),
            active: Turns::default(),
            round: 1,
            paused: Vec::new(),
            resume: Deadline::NEVER,
            meter: Meter::new(&Description::of_worker(wait.policy)),
            now,
            rounds: 0,
            idle_since: None,
            listened: 0,
            socket_work: 0,
            broken: LogLimit::new(),
            short: LogLimit::new(),
        })
    }

    /// Makes the guard give its armed sessions to other workers, while this worker is in a handler
    /// for long.
    pub(crate) fn guarded_by(&mut self, guard: &mut Guard) -> io::Result<()> {
        self.watch = Some(guard.watch(&self.sleeper, &self.inbox)?);
        Ok(())
    }

    /// Serves until the inbox announces the stop, and then serves earlier requests for a bounded
    /// time.
    pub(crate) fn run(mut self, handler: &impl Handler, drain: Duration) -> io::Result<()> {
        while !self.take_inbox() {
            self.step(handler)?;
        }
        // Takes deliveries after the last ones and before the stop.
        self.take_inbox();
        self.finish(handler, drain)
    }

    /// Sends clients to the successor, and serves them until they have gone.
    #[cold]
    fn send_away(&mut self) {
        self.reclaim_all();
        for token in 0..self.slots.len() {
            if let Some(slot) = &mut self.slots[token] {
                slot.session.say_go_away();
            }
            if !self.paused.contains(&token) {
                self.put_away(token);
            }
        }
    }

    /// Serves the active sessions once, and sleeps if it is time to.
    #[inline(always)]
    fn step(&mut self, handler: &impl Handler) -> io::Result<()> {
        self.resume_paused();
        let found = self.round(handler)?;
        match self.after_round(found)? {
            Next::Poll => Ok(()),
            Next::Sleep => self.sleep(),
        }
    }

    /// Takes new sessions; returns true if the worker is to end.
    #[inline]
    fn take_inbox(&mut self) -> bool {
        let Some(arrived) = self.inbox.take() else { return false };
        for (token, id) in arrived.called {
            // The token may be another session's by now.
            self.reclaim(token);
            let is_meant = |slot: &Slot| slot.session.id() == id;
            if self.slots.get(token).is_some_and(|slot| slot.as_deref().is_some_and(is_meant)) {
                self.paused.retain(|&other| other != token);
                self.activate(token);
            } else if !self.paused.contains(&token) {
                self.put_away(token);
            }
        }
        self.note_unpaused();
        for token in arrived.rang {
            self.reclaim(token);
            self.hear_again(token);
        }
        for slot in arrived.handed {
            if let Some(token) = self.add(slot) {
                self.hear_again(token);
            }
        }
        for session in arrived.sessions {
            self.start(session);
        }
        let is_stopping = self.inbox.is_stopping();
        // The end itself sends each go-away.
        if self.inbox.is_draining() && !is_stopping {
            self.send_away();
        }
        is_stopping
    }

    fn start(&mut self, session: ExclusiveServerSession) {
        tracing::debug!(peer = ?session.peer(), "session started");
        self.add(Box::new(Slot::new(session, &self.hooks, clock::ticks())));
    }

    /// Reads a session's socket, after a turn that has served nothing. Requests are seen in memory,
    /// so a socket could stay unread, and a client that has closed it may have sent its own end of
    /// it as a "segment", which hides the end until it is read.
    #[cold]
    fn read_unread(&mut self, token: usize) {
        let Some(slot) = &mut self.slots[token] else { return };
        match slot.session.read_unread() {
            // The next turn that serves nothing tries again.
            Ok(is_empty) => slot.unread = !is_empty,
            Err(error) => self.end(token, Err(error)),
        }
    }

    /// Serves each active session for a slice, or the rest of those of an interrupted round;
    /// returns true if any had work.
    #[inline]
    fn round(&mut self, handler: &impl Handler) -> io::Result<bool> {
        let polls = if self.polls_long() { POLLS_ALONE } else { 1 };
        let mut found = false;
        self.round += u64::from(self.active.begin_round());
        while let Some(token) = self.active.next() {
            let Some(slot) = &mut self.slots[token] else { unreachable!("active sessions exist") };
            slot.round = self.round;
            self.inbox.load().turn_begins(self.now);
            let slice = Slice::new(self.now, self.times.slice);
            let mut slice = slice.interrupted_by(self.inbox.flag());
            let progress = slot.session.serve_some(handler, polls, &mut slice);
            match progress.and_then(|progress| {
                slot.watch_room(&self.sleeper, token)?;
                Ok(progress)
            }) {
                Ok(Progress::Served(0)) if slot.session.is_exhausted() => {
                    self.end(token, Err(SessionError::PeerDied));
                }
                // The peer of a socket rings without a request to do so.
                Ok(Progress::Served(0)) if slot.on_socket && self.active.len() > 1 => {
                    self.arm(token);
                }
                Ok(Progress::Served(0)) if slot.unread => self.read_unread(token),
                Ok(Progress::Served(0)) => {}
                Ok(Progress::Served(_)) => {
                    let now = slice.end();
                    slot.last_work = now;
                    if slot.on_socket {
                        self.socket_work = now;
                    }
                    found = true;
                    self.worked_until(now)?;
                    // The delivery does not wait for the rest of the round, whatever it is.
                    if self.inbox.flag().is_pending() {
                        return Ok(true);
                    }
                }
                Ok(Progress::Closing) => self.pause(token),
                Ok(Progress::Closed) => self.end(token, Ok(())),
                Err(error) if error.is_shortage() && slot.session.may_retry() => {
                    if let Some(suppressed) = self.short.admit() {
                        let (peer, reason) = (slot.session.peer(), describe(&error));
                        tracing::warn!(?peer, error = %reason, suppressed, "session waits");
                    }
                    self.pause(token);
                }
                Err(error) => self.end(token, Err(error)),
            }
        }
        Ok(found)
    }

    /// Records the time after a turn with work, and handles pending events if it is time to: a
    /// handler may have taken long, and other sessions must not wait for the rest of the round.
    #[inline(always)]
    fn worked_until(&mut self, now: u64) -> io::Result<()> {
        let ticks = now.saturating_sub(self.now);
        self.workload.worked(ticks, now, self.inbox.load());
        self.now = now;
        self.rounds = 0;
        if ticks >= self.times.slow
            && let Some(watch) = &mut self.watch
        {
            watch.was_slow(&self.sleeper, now)?;
        }
        self.listen_if_due()
    }

    /// Returns true if the only active session is worth many polls, as one poll costs next to
    /// nothing.
    #[inline(always)]
    fn polls_long(&self) -> bool {
        !self.spinner.sleeps_at_once() && self.active.len() == 1 && !self.polls_one_socket()
    }

    /// Returns true if the only active session is one on a socket.
    #[inline(always)]
    fn polls_one_socket(&self) -> bool {
        match *self.active.tokens() {
            [token] => self.slots[token].as_ref().is_some_and(|slot| slot.on_socket),
            _ => false,
        }
    }
}

/// Removes armed sessions from the inbox: they hold the inbox that holds them, and would never be
/// freed.
impl Drop for Worker {
    fn drop(&mut self) {
        self.reclaim_all();
    }
}
