//! A thread that serves many sessions: it looks at those that were recently active, and sleeps for the rest.
//!
//! Each session is either *active*, looked at in turn with a budget, or *armed*: its doorbell is announced and its socket watched. An idle session
//! thus costs nothing, also under [`WaitPolicy::Busy`], which only never arms the last one.

mod inbox;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::spin::SpinBudget;
use breezeway_os::{Deadline, Sleeper, WaitPolicy, Waiting, Wake, clock, cpu};

use crate::call::Handler;
use crate::carrier::Carrier;
use crate::error::SessionError;
use crate::link::{Notice, WaitFailure};
use crate::served::{BUDGET, Progress, ServerSession};

pub(crate) use inbox::Inbox;

/// Rounds over the active sessions between two readings of the clock.
const ROUNDS_PER_TICK: u32 = 16;
/// Looks for a request of the only active session in each round.
const LOOKS_ALONE: u32 = 16;
/// How often a thread that does not sleep asks for doorbells and dead peers.
const LISTEN_EVERY: Duration = Duration::from_micros(100);
/// As [`LISTEN_EVERY`], while messages come on sockets: it is then the way to hear of them.
const LISTEN_FOR_MESSAGES_EVERY: Duration = Duration::from_micros(5);
/// A session without work for so long is armed while others are busy.
const ACTIVE_FOR: Duration = Duration::from_millis(1);
/// How long a server that ends waits for clients to take the replies that it owes them, and how long for one of them at a time.
const DRAIN: Duration = Duration::from_secs(1);
const DRAIN_TURN: Duration = Duration::from_millis(5);
/// The token of the inbox.
const INBOX: u64 = u64::MAX;
/// Set in the token of a client's exit descriptor.
const EXIT: u64 = 1 << 32;

struct Slot {
    session: ServerSession,
    /// Whether its messages travel on the socket that is watched.
    on_socket: bool,
    /// Whether the socket is watched for room to write.
    awaits_room: bool,
    active: bool,
    /// Whether it had work since the last tick.
    worked: bool,
    /// When it last had work, in clock ticks, as of some tick.
    last_work: u64,
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
    Look,
    Sleep,
}

pub(crate) struct Worker {
    wait: WaitPolicy,
    inbox: Arc<Inbox>,
    sleeper: Sleeper,
    /// Sessions by token.
    slots: Vec<Option<Slot>>,
    /// Tokens of the active ones.
    active: Vec<usize>,
    budget: SpinBudget,
    /// Rounds since the last reading of the clock.
    rounds: u32,
    /// Since when nothing was found, if a tick has seen that.
    idle_since: Option<u64>,
    listened: u64,
    /// When messages last came on a socket, in clock ticks, as of some tick; and whether they did since.
    socket_work: u64,
    socket_worked: bool,
}

impl Worker {
    pub(crate) fn new(wait: Waiting, inbox: Arc<Inbox>) -> io::Result<Self> {
        clock::calibrate();
        let sleeper = Sleeper::new()?;
        sleeper.watch(&inbox, INBOX)?;
        let budget = SpinBudget::new(clock::ticks_in(wait.spin_bound));
        Ok(Self {
            wait: wait.policy,
            inbox,
            sleeper,
            slots: Vec::new(),
            active: Vec::new(),
            budget,
            rounds: 0,
            idle_since: None,
            listened: 0,
            socket_work: 0,
            socket_worked: false,
        })
    }

    /// Serves until the inbox says stop.
    pub(crate) fn run(mut self, handler: &impl Handler) -> io::Result<()> {
        while !self.take_inbox() {
            let found = self.round(handler);
            match self.after_round(found)? {
                Next::Look => {}
                Next::Sleep => self.sleep()?,
            }
        }
        self.write_what_is_owed();
        Ok(())
    }

    /// Before the end, gives clients a while to take the replies that their sockets have not taken.
    fn write_what_is_owed(&mut self) {
        let start = clock::ticks();
        loop {
            let mut owing = false;
            for slot in self.slots.iter_mut().flatten() {
                let link = slot.session.link();
                if link.has_unwritten() {
                    // A client that does not read delays the others by a moment only.
                    let turn = Deadline::after(DRAIN_TURN);
                    owing |= matches!(link.flush(turn), Err(WaitFailure::DeadlinePassed));
                }
            }
            if !owing || clock::ticks().wrapping_sub(start) >= clock::ticks_in(DRAIN) {
                return;
            }
        }
    }

    /// Takes new sessions; true if the worker is to end.
    #[inline]
    fn take_inbox(&mut self) -> bool {
        let Some(arrived) = self.inbox.take() else { return false };
        for session in arrived {
            if let Err(error) = self.add(session) {
                tracing::warn!(%error, "cannot watch a new session, which ends");
                self.inbox.session_ended();
            }
        }
        self.inbox.is_stopping()
    }

    fn add(&mut self, mut session: ServerSession) -> io::Result<()> {
        let token = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        self.sleeper.watch(session.link().socket(), token as u64)?;
        if let Some(exit) = session.exit() {
            self.sleeper.watch(exit, token as u64 | EXIT)?;
        }
        let slot = Slot {
            on_socket: session.link().carrier() != Carrier::Shm,
            session,
            awaits_room: false,
            active: true,
            worked: true,
            last_work: clock::ticks(),
        };
        if token == self.slots.len() {
            self.slots.push(Some(slot));
        } else {
            self.slots[token] = Some(slot);
        }
        self.active.push(token);
        Ok(())
    }

    /// Serves each active session within its budget; true if any had work.
    #[inline]
    fn round(&mut self, handler: &impl Handler) -> bool {
        let looks = if self.looks_long() { LOOKS_ALONE } else { 1 };
        let mut found = false;
        let mut index = 0;
        while let Some(&token) = self.active.get(index) {
            let Some(slot) = &mut self.slots[token] else { unreachable!("active sessions exist") };
            let progress = slot.session.serve_some(handler, looks);
            match progress.and_then(|progress| {
                slot.watch_room(&self.sleeper, token)?;
                Ok(progress)
            }) {
                Ok(Progress::Served(0)) if slot.session.is_exhausted() => {
                    self.end(token, Err(SessionError::PeerDied));
                }
                // The other side of a socket rings without being asked to.
                Ok(Progress::Served(0)) if slot.on_socket && self.active.len() > 1 => {
                    index += usize::from(!self.arm(token));
                }
                Ok(Progress::Served(0)) => index += 1,
                Ok(Progress::Served(served)) => {
                    // One that uses up its budget takes long: the others are heard in between.
                    self.rounds += if served == BUDGET { ROUNDS_PER_TICK } else { 0 };
                    slot.worked = true;
                    self.socket_worked |= slot.on_socket;
                    found = true;
                    index += 1;
                }
                Ok(Progress::Closed) => self.end(token, Ok(())),
                Err(error) => self.end(token, Err(error)),
            }
        }
        found
    }

    /// Whether the only active session is worth many looks, as one costs next to nothing.
    #[inline(always)]
    fn looks_long(&self) -> bool {
        self.wait != WaitPolicy::Park && self.active.len() == 1 && !self.polls_one_socket()
    }

    /// Whether the only active session is one on a socket.
    #[inline(always)]
    fn polls_one_socket(&self) -> bool {
        match self.active[..] {
            [token] => self.slots[token].as_ref().is_some_and(|slot| slot.on_socket),
            _ => false,
        }
    }

    /// Drops a session that is over.
    #[cold]
    fn end(&mut self, token: usize, outcome: Result<(), SessionError>) {
        self.active.retain(|&other| other != token);
        let Some(mut slot) = self.slots[token].take() else { return };
        if let Err(error) = outcome {
            tracing::warn!(peer = ?slot.session.peer(), %error, "session ended");
        }
        // Not left to closing: a forked child may hold copies, and the token is used again.
        let forgotten = self.sleeper.forget(slot.session.link().socket());
        let exit = slot.session.exit().map_or(Ok(()), |exit| self.sleeper.forget(exit));
        if let Err(error) = forgotten.and(exit) {
            tracing::warn!(%error, "cannot forget a session's descriptors");
        }
        self.inbox.session_ended();
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
        self.rounds += 1;
        if self.rounds < ROUNDS_PER_TICK { Ok(Next::Look) } else { self.tick(found) }
    }

    /// What needs the clock: listening now and then, arming sessions that fell idle, and the end of spinning.
    #[inline(never)]
    fn tick(&mut self, found: bool) -> io::Result<Next> {
        self.rounds = 0;
        let now = clock::ticks();
        if now.wrapping_sub(self.listened) >= clock::ticks_in(self.listen_every(now)) {
            self.listened = now;
            self.listen(Some(Duration::ZERO))?;
            self.arm_idle(now);
        }
        if found || self.wait == WaitPolicy::Busy {
            return Ok(Next::Look);
        }
        let since = *self.idle_since.get_or_insert(now);
        if now.wrapping_sub(since) < self.budget.ticks() && self.spinning_helps() {
            return Ok(Next::Look);
        }
        Ok(Next::Sleep)
    }

    fn listen_every(&mut self, now: u64) -> Duration {
        if std::mem::take(&mut self.socket_worked) {
            self.socket_work = now;
        }
        let recent = now.wrapping_sub(self.socket_work) < clock::ticks_in(ACTIVE_FOR);
        if recent { LISTEN_FOR_MESSAGES_EVERY } else { LISTEN_EVERY }
    }

    /// Whether a peer can answer while this thread spins.
    fn spinning_helps(&mut self) -> bool {
        cpu::spinning_pays()
            && self.active.iter().any(|&token| {
                self.slots[token].as_mut().is_some_and(|slot| !slot.session.link().shares_cpu())
            })
    }

    /// Hears what rang, sleeping at most `timeout` for it.
    fn listen(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let mut failed = Vec::new();
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
            if !slot.active {
                slot.active = true;
                slot.worked = true;
                self.active.push(token);
            }
        }
        for (token, error) in failed {
            self.end(token, Err(error.into()));
        }
        Ok(())
    }

    /// Arms sessions that had no work for a while; under `Busy` all but the last.
    fn arm_idle(&mut self, now: u64) {
        let patience = clock::ticks_in(ACTIVE_FOR);
        let mut index = 0;
        while self.active.len() > 1
            && let Some(&token) = self.active.get(index)
        {
            let Some(slot) = &mut self.slots[token] else { unreachable!("active sessions exist") };
            if std::mem::take(&mut slot.worked) {
                slot.last_work = now;
            }
            if now.wrapping_sub(slot.last_work) < patience || !self.arm(token) {
                index += 1;
            }
        }
    }

    /// Announces that a session's doorbell is wanted. True if it is no longer active.
    fn arm(&mut self, token: usize) -> bool {
        let Some(slot) = &mut self.slots[token] else { return false };
        match slot.session.link().prepare_sleep() {
            Ok(true) => {
                slot.active = false;
                self.active.retain(|&other| other != token);
                true
            }
            Ok(false) => false,
            Err(error) => {
                self.end(token, Err(error.into()));
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
            self.arm(self.active[index]);
        }
        if self.active.is_empty() && !self.inbox.has_changed() {
            self.listen(None)?;
        }
        if let Some(since) = self.idle_since.take() {
            self.budget.learn(clock::ticks().wrapping_sub(since));
        }
        Ok(())
    }
}
