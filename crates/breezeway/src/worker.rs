//! A thread that serves many sessions: it polls those that were recently active, and sleeps for the
//! rest.
//!
//! Each session is *active*, polled in turn with a budget, or *armed*: its doorbell is announced
//! and its socket watched. An idle session thus costs nothing, also under [`WaitPolicy::Busy`],
//! which only never arms the last one. A session that this process is too short of something to
//! serve is *paused*.

mod inbox;
mod load;
mod news;
mod sync;
#[cfg(test)]
mod tests;
mod turns;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::spin::SpinBudget;
use breezeway_os::{Deadline, Sleeper, WaitPolicy, Waiting, Wake, clock, cpu};

use crate::call::Handler;
use crate::carrier::Carrier;
use crate::deferred::RETRY;
use crate::error::SessionError;
use crate::link::{Notice, WaitFailure};
use crate::log_limit::LogLimit;
use crate::presence::{Hooks, Presence};
use crate::served::{Progress, SHORTAGE_PAUSE, ServerSession};
use crate::slice::{SLICE, Slice};

pub(crate) use inbox::Inbox;
pub(crate) use load::Load;
use load::Workload;
pub(crate) use news::News;
use turns::Turns;

/// Rounds without work over the active sessions between two readings of the clock.
const ROUNDS_PER_TICK: u32 = 16;
/// Polls for a request of the only active session in each round.
const POLLS_ALONE: u32 = 16;
/// How often a thread that does not sleep asks for doorbells and dead peers.
const LISTEN_EVERY: Duration = Duration::from_micros(100);
/// As [`LISTEN_EVERY`], while messages come on sockets, of which nothing else reports.
const LISTEN_FOR_MESSAGES_EVERY: Duration = Duration::from_micros(5);
/// A session without work for so long is armed while others are busy.
const ACTIVE_FOR: Duration = Duration::from_millis(1);
/// How long a server that ends waits for clients to take the replies that it owes them, and how
/// long for one of them at a time.
const DRAIN: Duration = Duration::from_secs(1);
const DRAIN_TURN: Duration = Duration::from_millis(5);
/// Sessions whose sockets are read for each session that arrives.
const SOCKETS_PER_ARRIVAL: usize = 16;
/// The token of the inbox.
const INBOX: u64 = u64::MAX;
/// Set in the token of a client's exit descriptor.
const EXIT: u64 = 1 << 32;

struct Slot {
    session: ServerSession,
    /// Dropped after the session: its end is reported when the client can see it.
    presence: Presence,
    /// Whether its messages travel on the socket that is watched.
    on_socket: bool,
    /// Whether the socket is watched for room to write.
    awaits_room: bool,
    active: bool,
    /// Whether its doorbell rang, and nothing was served since.
    rang: bool,
    /// Whether its doorbell rang since its socket was last read.
    unread: bool,
    /// When it last had work, in clock ticks.
    last_work: u64,
    /// The round in which it last had a turn.
    round: u64,
}

impl Slot {
    /// Lets a session whose replies its socket does not take be woken when it does.
    #[inline(always)]
    fn watch_room(&mut self, sleeper: &Sleeper, token: usize) -> Result<(), SessionError> {
        let awaits_room = self.on_socket && self.session.link().has_unwritten();
        if awaits_room != self.awaits_room {
            self.awaits_room = awaits_room;
            let socket = self.session.link().socket();
            let outcome = sleeper.watch_room(socket, token as u64, awaits_room);
            outcome.map_err(SessionError::Io)?;
        }
        Ok(())
    }
}

/// What a worker does next.
enum Next {
    Poll,
    Sleep,
}

/// Times in clock ticks, so that no conversion is left for a hot path.
struct Times {
    slice: u64,
    listen: u64,
    listen_for_messages: u64,
    active: u64,
}

impl Times {
    fn new() -> Self {
        Self {
            slice: clock::ticks_in(SLICE),
            listen: clock::ticks_in(LISTEN_EVERY),
            listen_for_messages: clock::ticks_in(LISTEN_FOR_MESSAGES_EVERY),
            active: clock::ticks_in(ACTIVE_FOR),
        }
    }
}

pub(crate) struct Worker {
    wait: WaitPolicy,
    inbox: Arc<Inbox>,
    hooks: Hooks,
    sleeper: Sleeper,
    times: Times,
    workload: Workload,
    /// Sessions by token.
    slots: Vec<Option<Slot>>,
    /// The active ones.
    active: Turns,
    /// Rounds over the active ones so far.
    round: u64,
    /// Tokens of the paused ones, and when they are tried again.
    paused: Vec<usize>,
    resume: Deadline,
    /// The session whose socket was last read because others arrived.
    next_drained: usize,
    budget: SpinBudget,
    /// The last reading of the clock, in ticks: after each turn with work, and now and then.
    now: u64,
    /// Rounds since then.
    rounds: u32,
    /// Since when nothing was found, if a tick has seen that.
    idle_since: Option<u64>,
    listened: u64,
    /// When messages last came on a socket, in clock ticks.
    socket_work: u64,
    broken: LogLimit,
    short: LogLimit,
}

impl Worker {
    pub(crate) fn new(wait: Waiting, hooks: Hooks, inbox: Arc<Inbox>) -> io::Result<Self> {
        clock::calibrate();
        let now = clock::ticks();
        let sleeper = Sleeper::new()?;
        sleeper.watch(&inbox, INBOX)?;
        let budget = SpinBudget::new(clock::ticks_in(wait.spin_bound));
        Ok(Self {
            wait: wait.policy,
            inbox,
            hooks,
            sleeper,
            times: Times::new(),
            workload: Workload::new(now),
            slots: Vec::new(),
            active: Turns::default(),
            round: 1,
            paused: Vec::new(),
            resume: Deadline::NEVER,
            next_drained: 0,
            budget,
            now,
            rounds: 0,
            idle_since: None,
            listened: 0,
            socket_work: 0,
            broken: LogLimit::new(),
            short: LogLimit::new(),
        })
    }

    /// Serves until the inbox says stop.
    pub(crate) fn run(mut self, handler: &impl Handler) -> io::Result<()> {
        while !self.take_inbox() {
            self.step(handler)?;
        }
        self.wait_for_deferred()?;
        self.write_what_is_owed();
        Ok(())
    }

    /// Before the end, gives those who have deferred calls a while to reply.
    fn wait_for_deferred(&mut self) -> io::Result<()> {
        let end = Deadline::after(DRAIN);
        loop {
            let mut deferred = 0;
            let mut waiting = false;
            for token in 0..self.slots.len() {
                let Some(slot) = &mut self.slots[token] else { continue };
                if slot.session.deferred_calls() == 0 {
                    continue;
                }
                if let Err(error) = slot.session.publish_replies() {
                    self.end(token, Err(error));
                } else {
                    deferred += slot.session.deferred_calls();
                    waiting |= slot.session.has_waiting_replies();
                }
            }
            if deferred == 0 || end.has_passed() {
                return Ok(());
            }
            if self.inbox.news().sleep() {
                let until = if waiting { end.min(Deadline::after(RETRY)) } else { end };
                self.sleeper.wait(until.time_left())?;
            }
            self.inbox.news().wake();
            self.inbox.take();
        }
    }

    /// Serves the active sessions once, and sleeps if that is due.
    #[inline(always)]
    fn step(&mut self, handler: &impl Handler) -> io::Result<()> {
        self.resume_paused();
        let found = self.round(handler)?;
        match self.after_round(found)? {
            Next::Poll => Ok(()),
            Next::Sleep => self.sleep(),
        }
    }

    /// Before the end, gives clients a while to take the replies that their sockets have not taken.
    fn write_what_is_owed(&mut self) {
        let end = Deadline::after(DRAIN);
        loop {
            let mut owing = false;
            for slot in self.slots.iter_mut().flatten() {
                let link = slot.session.link();
                if link.has_unwritten() {
                    // A client that does not read delays the others by a moment only, and many of
                    // them the end by no more than its time: what a socket takes at once is written
                    // even then.
                    let turn = Deadline::after(DRAIN_TURN).min(end);
                    owing |= matches!(link.flush(turn), Err(WaitFailure::DeadlinePassed));
                }
            }
            if !owing || end.has_passed() {
                return;
            }
        }
    }

    /// Takes new sessions; true if the worker is to end.
    #[inline]
    fn take_inbox(&mut self) -> bool {
        let Some(arrived) = self.inbox.take() else { return false };
        self.drain_some(SOCKETS_PER_ARRIVAL * arrived.sessions.len());
        for (token, id) in arrived.mailed {
            // The token may be another session's by now.
            let has_mail = |slot: &Slot| slot.session.id() == id;
            if self.slots[token].as_ref().is_some_and(has_mail) {
                self.paused.retain(|&other| other != token);
                self.activate(token);
            }
        }
        self.note_unpaused();
        for session in arrived.sessions {
            tracing::debug!(peer = ?session.peer(), "session started");
            if let Err(error) = self.add(session) {
                // ENOSPC is the sysctl fs.epoll.max_user_watches (epoll(7)).
                tracing::warn!(%error, "cannot watch a new session, which ends");
                self.inbox.session_ended();
            }
        }
        self.inbox.is_stopping()
    }

    fn add(&mut self, mut session: ServerSession) -> io::Result<()> {
        let token = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        session.join(Arc::clone(&self.inbox), token);
        self.sleeper.watch(session.link().socket(), token as u64)?;
        if let Some(exit) = session.exit() {
            self.sleeper.watch(exit, token as u64 | EXIT)?;
        }
        let slot = Slot {
            presence: self.hooks.start(session.id(), session.peer()),
            on_socket: session.link().carrier() != Carrier::Shm,
            session,
            awaits_room: false,
            rang: false,
            unread: false,
            active: true,
            last_work: clock::ticks(),
            round: 0,
        };
        if token == self.slots.len() {
            self.slots.push(Some(slot));
        } else {
            self.slots[token] = Some(slot);
        }
        self.active.add_last(token);
        Ok(())
    }

    /// Reads the sockets of some sessions that rang, each in its turn. What is served is seen in
    /// memory, so a socket may stay unread, and a client that has closed it can have put its
    /// own end of it there as a "segment", which keeps the end from being seen. Such sessions
    /// must not pile up.
    #[cold]
    fn drain_some(&mut self, count: usize) {
        for _ in 0..count.min(self.slots.len()) {
            self.next_drained = (self.next_drained + 1) % self.slots.len();
            if self.slots[self.next_drained].as_ref().is_some_and(|slot| slot.unread) {
                self.drain(self.next_drained);
            }
        }
    }

    /// Reads a session's socket; false if that ended the session.
    #[cold]
    fn drain(&mut self, token: usize) -> bool {
        let Some(slot) = &mut self.slots[token] else { return false };
        (slot.rang, slot.unread) = (false, false);
        match slot.session.link().drain() {
            Ok(()) => {
                // What was read may be why its doorbell rang, and the kernel no longer reports
                // that.
                if !slot.active && !self.paused.contains(&token) {
                    self.activate(token);
                }
                true
            }
            Err(error) => {
                self.end(token, Err(error.into()));
                false
            }
        }
    }

    /// Serves each active session for a slice, or the rest of those whose turn was cut off; true if
    /// any had work.
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
            let mut slice = slice.interrupted_by(self.inbox.news());
            let progress = slot.session.serve_some(handler, polls, &mut slice);
            match progress.and_then(|progress| {
                slot.watch_room(&self.sleeper, token)?;
                Ok(progress)
            }) {
                Ok(Progress::Served(0)) if slot.session.is_exhausted() => {
                    self.end(token, Err(SessionError::PeerDied));
                }
                // The other side of a socket rings without being asked to.
                Ok(Progress::Served(0)) if slot.on_socket && self.active.len() > 1 => {
                    self.arm(token);
                }
                Ok(Progress::Served(0)) if slot.rang => {
                    self.drain(token);
                }
                Ok(Progress::Served(0)) => {}
                Ok(Progress::Served(_)) => {
                    let now = slice.end();
                    slot.rang = false;
                    slot.last_work = now;
                    if slot.on_socket {
                        self.socket_work = now;
                    }
                    found = true;
                    self.worked_until(now)?;
                    // Whatever it is that has come, it does not wait for the rest of the round.
                    if self.inbox.news().are_there() {
                        return Ok(true);
                    }
                }
                Ok(Progress::Closed) => self.end(token, Ok(())),
                Err(error) if error.is_shortage() && slot.session.may_retry() => {
                    self.pause(token, &error);
                }
                Err(error) => self.end(token, Err(error)),
            }
        }
        Ok(found)
    }

    /// Notes the time after a turn with work, and takes what rang if that is due: a handler may
    /// have taken long, and others are not to wait for the rest of the round.
    #[inline(always)]
    fn worked_until(&mut self, now: u64) -> io::Result<()> {
        self.workload.worked(now.saturating_sub(self.now), now, self.inbox.load());
        self.now = now;
        self.rounds = 0;
        self.listen_if_due()
    }

    /// Whether the only active session is worth many polls, as one costs next to nothing.
    #[inline(always)]
    fn polls_long(&self) -> bool {
        self.wait != WaitPolicy::Park && self.active.len() == 1 && !self.polls_one_socket()
    }

    /// Whether the only active session is one on a socket.
    #[inline(always)]
    fn polls_one_socket(&self) -> bool {
        match *self.active.tokens() {
            [token] => self.slots[token].as_ref().is_some_and(|slot| slot.on_socket),
            _ => false,
        }
    }

    /// Drops a session that is over.
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
                    Some(0) => tracing::warn!(?peer, %error, "session ended"),
                    Some(suppressed) => tracing::warn!(?peer, %error, suppressed, "session ended"),
                    None => tracing::debug!(?peer, %error, "session ended"),
                }
                slot.presence.fails(error);
            }
        }
        // Not left to closing: a forked child may hold copies, and the token is used again.
        let forgotten = self.sleeper.forget(slot.session.link().socket());
        let exit = slot.session.exit().map_or(Ok(()), |exit| self.sleeper.forget(exit));
        if let Err(error) = forgotten.and(exit) {
            tracing::warn!(%error, "cannot stop watching a session's descriptors");
        }
        self.inbox.session_ended();
        self.keep_one_active();
    }

    /// Under `Busy` somebody is polled as long as there is anybody: who was served last, if all
    /// others are armed.
    fn keep_one_active(&mut self) {
        if self.wait != WaitPolicy::Busy || !self.active.is_empty() {
            return;
        }
        let slots = self.slots.iter_mut().enumerate();
        let armed = slots.filter_map(|(token, slot)| Some((token, slot.as_mut()?)));
        let latest = armed.filter(|(token, _)| !self.paused.contains(token));
        if let Some((token, _)) = latest.max_by_key(|(_, slot)| slot.last_work) {
            self.activate(token);
        }
    }

    /// Polls a session from now on. It has one turn per round, also if it was active before in this
    /// one.
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

    /// Lets a session rest that this process is too short of something to serve. What it waits for
    /// stays where it is.
    #[cold]
    fn pause(&mut self, token: usize, error: &SessionError) {
        self.active.remove(token);
        let Some(slot) = &mut self.slots[token] else { return };
        slot.active = false;
        self.paused.push(token);
        self.resume = self.resume.min(Deadline::after(SHORTAGE_PAUSE));
        if let Some(suppressed) = self.short.admit() {
            tracing::warn!(peer = ?slot.session.peer(), %error, suppressed, "session waits");
        }
        self.keep_one_active();
    }

    /// Lets the next session that is paused after all others have gone rest for its whole time.
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

    /// Decides, mostly without reading the clock, what comes after a round.
    #[inline]
    fn after_round(&mut self, found: bool) -> io::Result<Next> {
        if found {
            self.idle_since = None;
        } else {
            if self.active.is_empty() || self.wait == WaitPolicy::Park {
                return Ok(Next::Sleep);
            }
            if self.wait == WaitPolicy::Adaptive && self.polls_one_socket() {
                // A client on this CPU gets to ask; elsewhere this costs less than a read.
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

    /// What needs the clock when nothing was found: listening now and then, and the end of
    /// spinning.
    #[inline(never)]
    fn tick(&mut self) -> io::Result<Next> {
        self.rounds = 0;
        self.now = clock::ticks();
        self.listen_if_due()?;
        if self.wait == WaitPolicy::Busy {
            return Ok(Next::Poll);
        }
        let now = self.now;
        let since = *self.idle_since.get_or_insert(now);
        if now.wrapping_sub(since) < self.budget.ticks() && self.spinning_helps() {
            return Ok(Next::Poll);
        }
        Ok(Next::Sleep)
    }

    /// Takes what rang, without sleeping, and arms sessions that fell idle, if that was not done
    /// for a while.
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

    /// Whether a peer can answer while this thread spins.
    fn spinning_helps(&mut self) -> bool {
        cpu::spinning_pays()
            && self.active.tokens().iter().any(|&token| {
                self.slots[token].as_mut().is_some_and(|slot| !slot.session.link().shares_cpu())
            })
    }

    /// Takes what rang, sleeping at most `timeout` for it.
    fn listen(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let mut failed = Vec::new();
        let mut rang = Vec::new();
        for &Wake { token, hung_up } in self.sleeper.wait(timeout)? {
            if token == INBOX {
                continue;
            }
            let (token, exited) = ((token & !EXIT) as usize, token & EXIT != 0);
            let Some(Some(slot)) = self.slots.get_mut(token) else { continue };
            // Also of an active one: this event will not come again.
            let notice = if exited || hung_up { Notice::PeerGone } else { Notice::Readable };
            if let Err(error) = slot.session.link().notice(notice) {
                failed.push((token, error));
            }
            slot.rang = true;
            slot.unread = true;
            slot.session.retry_replies();
            if !slot.active {
                slot.last_work = self.now;
                rang.push(token);
            }
        }
        for token in rang {
            self.paused.retain(|&other| other != token);
            self.activate(token);
        }
        self.note_unpaused();
        for (token, error) in failed {
            self.end(token, Err(error.into()));
        }
        Ok(())
    }

    /// Arms sessions that had no work for a while; under `Busy` all but the last.
    fn arm_idle(&mut self) {
        let mut index = 0;
        while self.active.len() > 1
            && let Some(&token) = self.active.tokens().get(index)
        {
            let Some(slot) = &self.slots[token] else { unreachable!("active sessions exist") };
            let is_idle = self.now.wrapping_sub(slot.last_work) >= self.times.active;
            if !is_idle || !self.arm(token) {
                index += 1;
            }
        }
    }

    /// Announces that a session's doorbell is wanted. True if it is no longer active.
    fn arm(&mut self, token: usize) -> bool {
        let Some(slot) = &mut self.slots[token] else { return false };
        match slot.session.prepare_sleep() {
            Ok(true) => {
                slot.active = false;
                self.active.remove(token);
                if slot.session.has_waiting_replies() {
                    self.paused.push(token);
                    self.resume = self.resume.min(Deadline::after(SHORTAGE_PAUSE));
                }
                true
            }
            Ok(false) => false,
            Err(error) => {
                self.end(token, Err(error));
                true
            }
        }
    }

    /// Arms every session and sleeps until one rings, unless one has work after all.
    #[inline(never)]
    fn sleep(&mut self) -> io::Result<()> {
        let mut index = self.active.len();
        while index > 0 {
            index -= 1;
            self.arm(self.active.tokens()[index]);
        }
        if !self.active.is_empty() {
            // Whoever could not be armed has entries, perhaps always one more. Others are heard as
            // well.
            self.now = clock::ticks();
            self.listen_if_due()?;
        } else {
            self.inbox.load().sleeps();
            if self.inbox.news().sleep() {
                let until = if self.paused.is_empty() { Deadline::NEVER } else { self.resume };
                self.listen(until.time_left())?;
            }
            self.inbox.news().wake();
            self.now = clock::ticks();
        }
        if let Some(since) = self.idle_since.take() {
            self.budget.learn(self.now.wrapping_sub(since));
        }
        Ok(())
    }
}
