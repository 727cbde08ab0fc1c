//! Driving a shared session from an event loop of any kind.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::Waker;
use std::time::Duration;

use breezeway_os::spin::SpinBudget;
use breezeway_os::{Peer, WaitPolicy, Waiting, clock, cpu};
use rustix::io::dup;

use super::shared::Shared;
use super::stand_in::Alarm;
use super::state::{State, Turn};
use crate::carrier::Carrier;
use crate::error::SessionError;
use crate::handshake::HandshakeError;
use crate::link::Notice;
use crate::log_limit::LogLimit;
use crate::presence::Presence;
use crate::server::Unserved;

/// What a driver does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Take another turn: something came, or may come at once.
    Turn,
    /// Take another turn when the socket is readable, or writable if `writable`, or the waker was
    /// woken, or so much time is over.
    Sleep {
        /// Whether to wait until the socket can be written as well.
        writable: bool,
        /// The longest sleep, if it has a limit: then a reply has waited for too long or room for
        /// one is to be looked for, the session has drained, or its client has taken no reply for
        /// too long.
        at_most: Option<Duration>,
    },
    /// This process is short of open files or memory, or the session closes and the other side
    /// has not taken all that was sent: take another turn in a while.
    Pause,
    /// The session is over.
    End,
}

/// Drives a shared session from an event loop: a task of an async runtime, or a thread with epoll.
///
/// Its descriptor is the session's socket, to be watched for being readable: edge-triggered, as the
/// other side can leave something there that no turn takes, such as segments that it never
/// announces. It must not be read or written.
///
/// A loop takes [turns](Self::turn), as many as it likes, asks [what to do next](Self::next), and
/// after a sleep says [what it noticed](Self::ready). Dropping the driver ends the session; if the
/// session was closed and is still sending what it owes, that waits for the rest of its second.
pub struct Driver {
    /// Before the session, which closes its own without blocking where that is the last one.
    socket: OwnedFd,
    shared: Arc<Shared>,
    /// Readable once the client's process is gone.
    exit: Option<OwnedFd>,
    /// Set of a session that a listener counts.
    counted: Option<Counted>,
    spinning: Spinning,
    /// Whether a large reply is being copied, as of the last turn.
    is_copying: bool,
}

/// A session's place among those that its listener may have, and in its owner's books.
pub(crate) struct Counted {
    pub(crate) presence: Presence,
    pub(crate) _place: Arc<()>,
}

/// How long a driver goes on taking turns although nothing comes.
struct Spinning {
    budget: SpinBudget,
    longest: u64,
    /// Idle turns that are taken whatever the budget.
    least: u32,
    /// When the last turn was taken that found something.
    since: u64,
    /// Idle turns since then.
    idle: u32,
}

impl Spinning {
    fn new(waiting: Waiting, least: u32) -> Self {
        let longest = clock::ticks_in(waiting.spin_bound);
        let budget = SpinBudget::new(longest);
        Self { budget, longest, least, since: clock::ticks(), idle: 0 }
    }

    /// Whether messages are so rare that idle turns find none: the last waits were all too long to
    /// be spun through.
    fn is_rare(&self, waiting: Waiting) -> bool {
        waiting.policy != WaitPolicy::Busy && self.budget.ticks() <= self.longest / RARE
    }

    /// A turn has found something.
    fn worked(&mut self) {
        let now = clock::ticks();
        if self.idle > 0 {
            self.budget.learn(now.wrapping_sub(self.since));
        }
        (self.since, self.idle) = (now, 0);
    }

    /// A turn has found nothing; whether to take another.
    fn goes_on(&mut self, waiting: Waiting, shares_cpu: bool) -> bool {
        self.idle = self.idle.saturating_add(1);
        match waiting.policy {
            WaitPolicy::Busy => true,
            _ if self.is_rare(waiting) => false,
            WaitPolicy::Park => self.idle <= self.least,
            WaitPolicy::Adaptive if self.idle <= self.least => true,
            WaitPolicy::Adaptive => {
                let idle = clock::ticks().wrapping_sub(self.since);
                cpu::spinning_pays() && !shares_cpu && idle < self.budget.ticks()
            }
        }
    }
}

/// What to do after a turn: after one that found nothing, a sleep is announced, which `waker` ends.
fn next_after(turn: Turn, state: &mut State, waker: &Waker) -> Next {
    match turn {
        Turn::Ended => return Next::End,
        Turn::Worked => return Next::Turn,
        Turn::Short | Turn::Closing => return Next::Pause,
        Turn::Idle => state.set_driver(waker),
    }
    if let Some(until) = state.prepare_sleep() {
        Next::Sleep { writable: state.link.has_unwritten(), at_most: until.time_left() }
    } else if state.is_ended() {
        Next::End
    } else {
        Next::Turn
    }
}

/// Turns that are taken before a sleep unless messages are rare: between them run the tasks that a
/// turn has woken, and what those send may be answered by then.
const MIN_IDLE_TURNS: u32 = 3;
/// As many where the other side is in this process, and perhaps driven by the same thread. If it
/// sleeps, it learns what was sent once that thread's runtime looks at its sockets, as tokio does
/// after 61 polls; who sleeps before that is asleep when the answer comes, and so on.
const MIN_IDLE_TURNS_WITHIN: u32 = 64;
/// Messages are rare once spins without a message have cut the spin budget to this part of the
/// longest.
const RARE: u64 = 32;

impl AsFd for Driver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>) -> Result<Self, HandshakeError> {
        // No turn: whether the peer is trusted with what it takes is said later.
        let socket = shared.with(|state| dup(state.link.socket()));
        let socket = socket.map_err(|_| HandshakeError::OpenFiles)?;
        // A turn on a socket is a system call.
        let is_within = shared.carrier == Carrier::Shm
            && shared.peer.pid.is_some_and(|pid| pid == std::process::id());
        let least = if is_within { MIN_IDLE_TURNS_WITHIN } else { MIN_IDLE_TURNS };
        let spinning = Spinning::new(shared.waiting, least);
        shared.with(|state| state.has_driver = true);
        Ok(Self { shared, socket, exit: None, counted: None, spinning, is_copying: false })
    }

    /// Of a session that a listener counts.
    pub(crate) fn accepted(mut self, exit: Option<OwnedFd>, counted: Counted) -> Self {
        (self.exit, self.counted) = (exit, Some(counted));
        self
    }

    /// A descriptor that is readable once the other side's process is gone, to be watched beside
    /// the socket: a forked child of it may hold the socket open. Clients have none, nor have
    /// sessions over TCP.
    pub fn take_exit(&mut self) -> Option<OwnedFd> {
        self.exit.take()
    }

    /// As [`ServerChannel::unserved`](super::ServerChannel::unserved), and all of it once the
    /// session is over: one that closes refuses what comes until it has said so.
    pub fn unserved(&self) -> Unserved {
        self.shared.with(|state| state.unserved())
    }

    /// Takes what has come, sends what is owed, and wakes who waits for it. Blocks for nobody; only
    /// where the kernel has no memory for a system call it is made again, with pauses of 32 ms at
    /// most in a second. True if anything came.
    pub fn turn(&mut self) -> bool {
        self.shared.turn(|state, turn| {
            state.driver_is_awake = true;
            state.take_stood_in();
            turn == Turn::Worked
        })
    }

    /// Takes a turn, and says what to do next as the session's wait policy wants it: [`Next::Turn`]
    /// also while it may pay to take further turns although nothing came. The loop gives way to
    /// others in between.
    pub fn advance(&mut self, waker: &Waker) -> Next {
        let (spinning, is_copying) = (&mut self.spinning, &mut self.is_copying);
        let waiting = self.shared.waiting;
        self.shared.turn(|state, turn| {
            state.driver_is_awake = true;
            *is_copying = state.connection.backlog.is_copying();
            // What a task has taken meanwhile was this driver's to take.
            let turn = match (turn, state.take_stood_in()) {
                (Turn::Idle, true) => Turn::Worked,
                (turn, _) => turn,
            };
            match turn {
                Turn::Worked => {
                    spinning.worked();
                    // A rare message is likely the only one. The sleep is announced before whoever
                    // waits for it is woken, who would find this side holding the lock.
                    if !spinning.is_rare(waiting) {
                        return Next::Turn;
                    }
                    spinning.idle = 1;
                    // What the first turn has sent may have made room that somebody waits for.
                    let turn = state.turn();
                    next_after(turn, state, waker)
                }
                Turn::Idle => {
                    state.link.note_cpu();
                    if spinning.goes_on(waiting, state.link.shares_cpu()) {
                        return Next::Turn;
                    }
                    next_after(turn, state, waker)
                }
                Turn::Short | Turn::Closing | Turn::Ended => next_after(turn, state, waker),
            }
        })
    }

    /// Whether the last turn of [`Self::advance`] found something.
    #[doc(hidden)]
    pub fn has_worked(&self) -> bool {
        self.spinning.idle == 0
    }

    /// Whether the next turn copies a piece of a large reply, which takes some time: sockets of
    /// others are to be looked at before it.
    #[doc(hidden)]
    pub fn is_copying(&self) -> bool {
        self.is_copying
    }

    /// Announces that nobody takes turns for a while, and says what to wait for. Threads and tasks
    /// that publish something meanwhile, and need a turn for it, wake `waker`.
    pub fn next(&mut self, waker: &Waker) -> Next {
        self.shared.turn(|state, turn| next_after(turn, state, waker))
    }

    /// A waker that wakes a task that waits for what comes, and then `driver`, this driver's own:
    /// to be woken when the socket is ready, where tasks run in the order in which they were woken.
    /// Then that task finds what has come before the driver does: from now on tasks that poll while
    /// the driver sleeps take turns themselves.
    pub fn alarm(&self, driver: &Waker) -> Waker {
        self.shared.with(State::set_stand_ins);
        let (shared, driver) = (Arc::clone(&self.shared), driver.clone());
        Waker::from(Arc::new(Alarm { shared, driver }))
    }

    /// Says what was noticed of the socket: that it is readable or writable, or that the other side
    /// is gone. Comes before the next turn.
    pub fn ready(&mut self, is_peer_gone: bool) {
        let notice = if is_peer_gone { Notice::PeerGone } else { Notice::Readable };
        self.shared.with(|state| {
            state.driver_is_awake = true;
            state.notice(notice);
        });
    }

    /// Why the session is over; none while it goes on, or if it was closed in order.
    pub fn error(&self) -> Option<SessionError> {
        let end = self.shared.with(|state| state.check());
        end.err().and_then(SessionError::of_call)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let error = self.error();
        if let Some(counted) = &mut self.counted {
            log_end(&self.shared.peer, error.as_ref());
            if let Some(error) = error {
                counted.presence.fails(error);
            }
        }
        self.shared.with(State::lose_driver);
    }
}

/// Logs a session's end, as workers do, and of many that break only some.
fn log_end(peer: &Peer, error: Option<&SessionError>) {
    static BROKEN: LazyLock<Mutex<LogLimit>> = LazyLock::new(|| Mutex::new(LogLimit::new()));
    let Some(error) = error else { return tracing::debug!(?peer, "session closed") };
    // Another that breaks at this moment is not worth a wait.
    match BROKEN.try_lock().ok().and_then(|mut limit| limit.admit()) {
        Some(0) => tracing::warn!(?peer, %error, "session ended"),
        Some(suppressed) => tracing::warn!(?peer, %error, suppressed, "session ended"),
        None => tracing::debug!(?peer, %error, "session ended"),
    }
}
