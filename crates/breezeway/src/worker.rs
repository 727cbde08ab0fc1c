//! A thread that serves many sessions: it polls the recently active ones, and sleeps for the
//! others.
//!
//! Each session is *active*, polled in turn with a budget, or *armed*: its doorbell is announced
//! and its socket watched. An idle session thus costs nothing, also under [`WaitPolicy::Busy`],
//! which only never arms the last one. A session that waits for a resource which this process lacks
//! is *paused*.

mod ending;
mod guard;
mod inbox;
mod load;
mod slot;
#[cfg(test)]
mod tests;
mod turns;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::shortage::RETRY_AFTER;
use breezeway_os::spin::Spinner;
use breezeway_os::{Deadline, Sleeper, WaitPolicy, Waiting, Wake, clock, cpu};
use breezeway_shm::statistics::{Description, Field, Meter, WaitsFor};

use crate::call::Handler;
use crate::carrier::Notice;
use crate::error::{SessionError, describe};
use crate::log_limit::LogLimit;
use crate::presence::Hooks;
use crate::served::{ExclusiveServerSession, Progress};
use crate::slice::{SLICE, Slice};

pub(crate) use guard::Guard;
use guard::Watch;
use inbox::INBOX;
pub(crate) use inbox::Inbox;
use load::Workload;
use slot::{EXIT, Slot};
use turns::Turns;

/// Rounds without work over the active sessions between two readings of the clock.
const ROUNDS_PER_TICK: u32 = 16;
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

    /// Adds a session; returns its token.
    fn add(&mut self, mut slot: Box<Slot>) -> Option<usize> {
        let is_free = |token: usize| self.slots.get(token).is_none_or(Option::is_none);
        let token = match &self.watch {
            Some(_) => self.inbox.armed().first_free(is_free),
            None => self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len()),
        };
        slot.session.join(self.inbox.clone(), token);
        if let Err(error) = slot.watch(&self.sleeper, token) {
            tracing::warn!(%error, "cannot watch a session, which ends");
            self.inbox.session_ended();
            return None;
        }
        (slot.active, slot.round) = (true, 0);
        if self.slots.len() <= token {
            self.slots.resize_with(token + 1, || None);
        }
        self.slots[token] = Some(slot);
        self.active.add_last(token);
        Some(token)
    }

    /// Takes an armed session back from the place where other workers may take it.
    fn reclaim(&mut self, token: usize) {
        if self.watch.is_some() && self.slots.get(token).is_some_and(Option::is_none) {
            self.slots[token] = self.inbox.armed().claim(token);
        }
    }

    fn reclaim_all(&mut self) {
        for token in 0..self.slots.len() {
            self.reclaim(token);
        }
    }

    /// Leaves an armed session to the first claimant, if other workers can use it.
    fn put_away(&mut self, token: usize) {
        if self.watch.is_some()
            && let Some(slot) = self.slots.get_mut(token)
            && let Some(slot) = slot.take_if(|slot| !slot.active)
        {
            self.inbox.armed().put(token, slot);
        }
    }

    /// Reads a session's socket, after a turn that has served nothing. Requests are seen in memory,
    /// so a socket could stay unread, and a client that has closed it may have sent its own end of
    /// it as a "segment", which hides the end until it is read.
    #[cold]
    fn read_socket(&mut self, token: usize) {
        let Some(slot) = &mut self.slots[token] else { return };
        match slot.session.read_socket() {
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
                Ok(Progress::Served(0)) if slot.unread => self.read_socket(token),
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

    /// Drops a session that has ended.
    #[cold]
    fn end(&mut self, token: usize, outcome: Result<(), SessionError>) {
        self.active.remove(token);
        self.paused.retain(|&other| other != token);
        self.note_unpaused();
        let Some(mut slot) = self.slots[token].take() else { return };
        let peer = slot.session.peer();
        match outcome {
            Ok(()) => tracing::debug!(?peer, "session closed"),
            Err(error) => {
                match self.broken.admit() {
                    Some(0) => tracing::warn!(?peer, error = %describe(&error), "session ended"),
                    Some(suppressed) => {
                        tracing::warn!(?peer, error = %describe(&error), suppressed, "session ended")
                    }
                    None => tracing::debug!(?peer, error = %describe(&error), "session ended"),
                }
                slot.presence.fails(error);
            }
        }
        self.inbox.leave_undone(slot.session.unserved());
        // Not left to closing: a forked child may hold copies, and the token is used again.
        slot.forget(&self.sleeper);
        self.inbox.session_ended();
        self.keep_one_active();
    }

    /// Keeps one session active under `Busy`: the one that was served last, if all others are
    /// armed.
    fn keep_one_active(&mut self) {
        if self.spinner.policy() != WaitPolicy::Busy || !self.active.is_empty() {
            return;
        }
        self.reclaim_all();
        let slots = self.slots.iter_mut().enumerate();
        let armed = slots.filter_map(|(token, slot)| Some((token, slot.as_mut()?)));
        let latest = armed.filter(|(token, _)| !self.paused.contains(token));
        let latest = latest.max_by_key(|(_, slot)| slot.last_work).map(|(token, _)| token);
        if let Some(token) = latest {
            self.activate(token);
        }
        for token in 0..self.slots.len() {
            if !self.paused.contains(&token) {
                self.put_away(token);
            }
        }
    }

    /// Makes a session active. It has one turn per round, also if it was active earlier in this
    /// round.
    fn activate(&mut self, token: usize) {
        let Some(slot) = &mut self.slots[token] else { return };
        if std::mem::replace(&mut slot.active, true) {
            return;
        }
        if slot.round == self.round {
            self.active.add_for_next_round(token);
        } else {
            self.active.add_next(token);
        }
    }

    /// Pauses a session that waits for a resource which this process lacks, or, after its end, for
    /// its client to take entries.
    #[cold]
    fn pause(&mut self, token: usize) {
        self.active.remove(token);
        let Some(slot) = &mut self.slots[token] else { return };
        slot.active = false;
        self.paused.push(token);
        self.resume = self.resume.min(Deadline::after(RETRY_AFTER));
        self.keep_one_active();
    }

    /// Restarts the pause's full length for the next paused session, once no session is paused.
    fn note_unpaused(&mut self) {
        if self.paused.is_empty() {
            self.resume = Deadline::NEVER;
        }
    }

    /// Tries paused sessions again when it is time.
    #[inline(always)]
    fn resume_paused(&mut self) {
        if !self.paused.is_empty() && self.resume.has_passed() {
            self.resume = Deadline::NEVER;
            for token in std::mem::take(&mut self.paused) {
                self.activate(token);
            }
        }
    }

    /// Decides, mostly without reading the clock, on the step after a round.
    #[inline]
    fn after_round(&mut self, found: bool) -> io::Result<Next> {
        if found {
            self.idle_since = None;
        } else {
            if self.active.is_empty() || self.spinner.sleeps_at_once() {
                return Ok(Next::Sleep);
            }
            if self.spinner.policy() == WaitPolicy::Adaptive && self.polls_one_socket() {
                // A client on this CPU gets to send a request; elsewhere this costs less than a
                // read.
                std::thread::yield_now();
            } else {
                cpu::spin_hint();
            }
        }
        if found {
            return Ok(Next::Poll);
        }
        self.rounds += 1;
        if self.rounds < ROUNDS_PER_TICK { Ok(Next::Poll) } else { self.tick() }
    }

    /// Handles the cases that need the clock when no work was found: listening at intervals, and
    /// the end of spinning.
    #[inline(never)]
    fn tick(&mut self) -> io::Result<Next> {
        self.rounds = 0;
        let before = std::mem::replace(&mut self.now, clock::ticks());
        let spent = clock::nanoseconds(self.now.saturating_sub(before));
        self.meter.add(Field::SpinTime, spent);
        self.listen_if_due()?;
        if self.spinner.policy() == WaitPolicy::Busy {
            return Ok(Next::Poll);
        }
        let now = self.now;
        let since = *self.idle_since.get_or_insert(now);
        let (active, slots) = (self.active.tokens(), &mut self.slots);
        let mut shares_cpu =
            |&token: &usize| slots[token].as_mut().is_none_or(|slot| slot.session.shares_cpu());
        let all_share_cpu = || active.iter().all(&mut shares_cpu);
        let spins = self.spinner.spins(|| now.wrapping_sub(since), all_share_cpu);
        Ok(if spins { Next::Poll } else { Next::Sleep })
    }

    /// Handles pending events, without sleeping, and arms sessions that became idle, if the last
    /// time was long enough ago.
    #[inline(always)]
    fn listen_if_due(&mut self) -> io::Result<()> {
        let recent = self.now.wrapping_sub(self.socket_work) < self.times.active;
        let every = if recent { self.times.listen_for_messages } else { self.times.listen };
        if self.now.wrapping_sub(self.listened) >= every { self.listen_now() } else { Ok(()) }
    }

    #[inline(never)]
    fn listen_now(&mut self) -> io::Result<()> {
        self.listened = self.now;
        self.listen(Some(Duration::ZERO))?;
        self.arm_idle();
        Ok(())
    }

    /// Handles pending events, and sleeps at most `timeout` for them.
    fn listen(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.heard.clear();
        self.heard.extend_from_slice(self.sleeper.wait(timeout)?);
        for index in 0..self.heard.len() {
            let Wake { token, hung_up } = self.heard[index];
            if token != INBOX {
                let gone = hung_up || token & EXIT != 0;
                let notice = if gone { Notice::PeerGone } else { Notice::Readable };
                self.hear((token & !EXIT) as usize, notice);
            }
        }
        self.note_unpaused();
        Ok(())
    }

    /// Handles the doorbell of a session, or the end of its client. Also for an active session, as
    /// this event will not be reported again.
    fn hear(&mut self, token: usize, notice: Notice) {
        self.reclaim(token);
        let Some(Some(slot)) = self.slots.get_mut(token) else { return };
        if let Err(error) = slot.session.notice(notice) {
            return self.end(token, Err(error));
        }
        slot.unread = true;
        if !slot.active {
            slot.last_work = self.now;
            self.paused.retain(|&other| other != token);
            self.activate(token);
        }
    }

    /// Handles a doorbell that the guard took. The token may be another session's by now, so the
    /// events are read from the session's own descriptors.
    #[cold]
    fn hear_again(&mut self, token: usize) {
        let Some(Some(slot)) = self.slots.get_mut(token) else { return };
        let gone = slot.session.client_is_gone();
        self.hear(token, if gone { Notice::PeerGone } else { Notice::Readable });
    }

    /// Arms sessions without recent work; under `Busy` all but the last.
    fn arm_idle(&mut self) {
        // A slow worker's active sessions wait for it; another worker may take an armed one.
        let careful = self.watch.as_ref().is_some_and(|watch| watch.is_careful(self.now));
        let idle_for = if careful { self.times.slice } else { self.times.active };
        let mut index = 0;
        while self.active.len() > 1
            && let Some(&token) = self.active.tokens().get(index)
        {
            let Some(slot) = &self.slots[token] else { unreachable!("active sessions exist") };
            let is_idle = self.now.wrapping_sub(slot.last_work) >= idle_for;
            if !is_idle || !self.arm(token) {
                index += 1;
            }
        }
    }

    /// Announces that a session's doorbell is wanted. Returns true if it is no longer active.
    fn arm(&mut self, token: usize) -> bool {
        let Some(slot) = &mut self.slots[token] else { return false };
        if !slot.may_sleep() {
            return false;
        }
        match slot.session.prepare_sleep() {
            Ok(Some(until)) => {
                slot.active = false;
                self.active.remove(token);
                if until != Deadline::NEVER {
                    self.paused.push(token);
                    self.resume = self.resume.min(until);
                } else {
                    self.put_away(token);
                }
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.end(token, Err(error));
                true
            }
        }
    }

    /// Arms every session and sleeps until one rings, unless one has work after all.
    #[inline(never)]
    fn sleep(&mut self) -> io::Result<()> {
        let since = self.idle_since.take().unwrap_or(self.now);
        let mut index = self.active.len();
        while index > 0 {
            index -= 1;
            self.arm(self.active.tokens()[index]);
        }
        if !self.active.is_empty() {
            // Sessions that could not be armed have entries, perhaps always one more. Other
            // sessions are heard as well.
            self.now = clock::ticks();
            self.listen_if_due()?;
        } else {
            self.inbox.load().sleeps();
            if let Some(watch) = &mut self.watch {
                watch.end(&self.sleeper)?;
            }
            if self.inbox.flag().sleep() {
                let until = if self.paused.is_empty() { Deadline::NEVER } else { self.resume };
                self.meter.sleeps(WaitsFor::Data);
                self.listen(until.time_left())?;
                self.listened = clock::ticks();
                self.meter.waited();
            }
            self.inbox.flag().wake();
            self.now = clock::ticks();
            self.inbox.load().turn_begins(self.now);
            if let Some(watch) = &mut self.watch {
                watch.begin(&self.sleeper, self.now)?;
            }
        }
        self.spinner.learn(self.now.wrapping_sub(since));
        Ok(())
    }
}

/// Removes armed sessions from the inbox: they hold the inbox that holds them, and would never be
/// freed.
impl Drop for Worker {
    fn drop(&mut self) {
        self.reclaim_all();
    }
}
