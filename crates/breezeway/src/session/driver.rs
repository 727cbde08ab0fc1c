//! Driver of a shared session for an event loop of any kind.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::Waker;
use std::time::Duration;

use breezeway_os::spin::Spinner;
use breezeway_os::{Peer, Waiting, clock};
use rustix::io::dup;

use super::shared::Shared;
use super::stand_in::Alarm;
use super::state::{State, Turn};
use crate::carrier::{Carrier, Notice};
use crate::error::{HandshakeError, SessionError, describe};
use crate::log_limit::LogLimit;
use crate::presence::Presence;
use crate::time::to_deadline;
use crate::unserved::Unserved;

/// Next step of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Take another turn: something came, or may come at once.
    Turn,
    /// Take another turn when the socket is readable, or writable if `writable`, or the waker was
    /// woken, or `at_most` has passed.
    Sleep {
        /// True if a writable socket ends the sleep as well.
        writable: bool,
        /// Longest sleep, if it has a limit: then a reply has waited for too long or room for one
        /// must be polled for, the session has drained, or its client has taken no reply for too
        /// long.
        at_most: Option<Duration>,
    },
    /// Take another turn after a pause: this process is short of open files or memory, or the
    /// session closes and the peer has not taken all entries.
    Pause,
    /// The session is over.
    End,
}

/// A driver of a shared session for an event loop: a task of an async runtime, or a thread with
/// epoll.
///
/// Its descriptor is the session's socket, which the loop watches for being readable:
/// edge-triggered, because the peer can leave data there that no turn takes, such as segments that
/// it never announces. The loop must not read or write the socket.
///
/// A loop takes any number of [turns](Self::turn), asks for the [next step](Self::next), and after
/// a sleep reports the [event of the socket](Self::ready). Dropping the driver ends the session. If
/// this side has closed the session and pending entries find no room, the drop waits for the rest
/// of its second. If the client has closed it and has no room for the replies, the drop waits until
/// the client has taken nothing for 1 s, and for 5 s at most.
pub struct Driver {
    /// Copy of the session's socket. Dropped before the session, which closes its own without
    /// blocking where that is the last one.
    socket: OwnedFd,
    shared: Arc<Shared>,
    /// Descriptor that is readable once the client's process is gone.
    exit: Option<OwnedFd>,
    /// Count of the session at its listener, if it has one.
    counted: Option<Counted>,
    spinning: Spinning,
    /// True if a large reply was being copied in the last turn.
    is_copying: bool,
}

/// A session's place among those that its listener may have, and in its owner's books.
pub(crate) struct Counted {
    pub(crate) presence: Presence,
    pub(crate) _place: Arc<()>,
}

/// Idle turns of a driver.
struct Spinning {
    spinner: Spinner,
    /// Minimum number of idle turns, whatever the budget.
    least: u32,
    /// Time of the last turn that found something.
    since: u64,
    /// Number of idle turns since then.
    idle: u32,
}

impl Spinning {
    fn new(waiting: Waiting, least: u32) -> Self {
        Self { spinner: Spinner::new(waiting), least, since: clock::ticks(), idle: 0 }
    }

    /// Records a turn that has found something.
    fn worked(&mut self) {
        let now = clock::ticks();
        if self.idle > 0 {
            self.spinner.learn(now.wrapping_sub(self.since));
        }
        (self.since, self.idle) = (now, 0);
    }

    /// Records a turn that has found nothing. Returns true if another is to be taken.
    fn goes_on(&mut self, shares_cpu: impl FnOnce() -> bool) -> bool {
        self.idle = self.idle.saturating_add(1);
        let idle_for = || clock::ticks().wrapping_sub(self.since);
        !self.spinner.is_rare()
            && (self.idle <= self.least || self.spinner.spins(idle_for, shares_cpu))
    }
}

/// Returns the step after a turn. After an idle turn it announces a sleep, which `waker` ends.
fn next_after(turn: Turn, state: &mut State, waker: &Waker) -> Next {
    match turn {
        Turn::Ended => {
            state.step_drain();
            if !state.connection.ending.is_draining() {
                return Next::End;
            }
            // The requests that have come may be accepted until the drain is over.
            state.set_driver(waker);
            let at_most = to_deadline(state.connection.ending.poll_timeout()).time_left();
            return Next::Sleep { writable: false, at_most };
        }
        Turn::Worked => return Next::Turn,
        Turn::Short | Turn::Closing => return Next::Pause,
        Turn::Idle => state.set_driver(waker),
    }
    if let Some(until) = state.prepare_sleep() {
        Next::Sleep { writable: state.link.status().unwritten > 0, at_most: until.time_left() }
    } else if state.is_ended() {
        Next::End
    } else {
        Next::Turn
    }
}

/// Minimum number of idle turns before a sleep unless messages are rare. The tasks that a turn has
/// woken run between them, and their messages may be answered by then.
const MIN_IDLE_TURNS: u32 = 3;
/// Value of [`MIN_IDLE_TURNS`] if the peer is in this process, and perhaps driven by the same
/// thread. A sleeping peer receives a message once that thread's runtime polls its sockets, as
/// tokio does after 61 polls. A driver that sleeps before that is asleep when the answer comes, and
/// the delay repeats.
const MIN_IDLE_TURNS_WITHIN: u32 = 64;

impl AsFd for Driver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>) -> Result<Self, HandshakeError> {
        // This takes no turn: trust in the peer is set later.
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

    /// Attaches the exit descriptor of the client and the count of the session at its listener.
    pub(crate) fn accepted(mut self, exit: Option<OwnedFd>, counted: Counted) -> Self {
        (self.exit, self.counted) = (exit, Some(counted));
        self
    }

    /// Returns a descriptor that is readable once the peer's process is gone, to be watched beside
    /// the socket: a forked child of the peer may hold the socket open. Clients have none, nor have
    /// sessions over TCP.
    pub fn take_exit(&mut self) -> Option<OwnedFd> {
        self.exit.take()
    }

    /// Returns the counts of [`ServerSession::unserved`](super::ServerSession::unserved). They are
    /// complete once the session is over: a session that closes refuses further requests until its
    /// shutdown is sent.
    pub fn unserved(&self) -> Unserved {
        self.shared.with(|state| state.unserved())
    }

    /// Takes a turn: receives entries, sends pending ones, and wakes their waiters. Does not block,
    /// except that a system call is repeated if the kernel has no memory for it, with pauses of 32
    /// ms at most in a second. Returns true if anything came.
    pub fn turn(&mut self) -> bool {
        self.shared.turn(|state, turn| {
            state.driver.is_awake = true;
            state.take_stood_in();
            turn == Turn::Worked
        })
    }

    /// Takes a turn, and returns the next step according to the session's wait policy:
    /// [`Next::Turn`] also while further turns may pay although nothing came. The loop lets others
    /// run in between.
    pub fn advance(&mut self, waker: &Waker) -> Next {
        let (spinning, is_copying) = (&mut self.spinning, &mut self.is_copying);
        self.shared.turn(|state, turn| {
            state.driver.is_awake = true;
            *is_copying = state.connection.backlog.is_copying();
            // Entries that a task has taken since count as this driver's work.
            let turn = match (turn, state.take_stood_in()) {
                (Turn::Idle, true) => Turn::Worked,
                (turn, _) => turn,
            };
            match turn {
                Turn::Worked => {
                    spinning.worked();
                    // A rare message is likely the only one. The sleep is announced before its
                    // waiter is woken, which would otherwise find this side holding the lock. A
                    // request without a waiter is begun first by the loop itself.
                    let is_begun_first = state.has_arrival() && !state.has_due();
                    if !spinning.spinner.is_rare() || is_begun_first {
                        return Next::Turn;
                    }
                    spinning.idle = 1;
                    // The first turn's sends may have made room that a waiter needs.
                    let turn = state.turn();
                    next_after(turn, state, waker)
                }
                Turn::Idle => {
                    state.link.note_cpu();
                    if spinning.goes_on(|| state.link.shares_cpu()) {
                        return Next::Turn;
                    }
                    next_after(turn, state, waker)
                }
                Turn::Short | Turn::Closing | Turn::Ended => next_after(turn, state, waker),
            }
        })
    }

    /// Returns true if the last turn of [`Self::advance`] found something.
    pub(crate) fn has_worked(&self) -> bool {
        self.spinning.idle == 0
    }

    /// Returns true if messages are so rare that the turn after one that found something finds
    /// nothing.
    pub(crate) fn is_rare(&self) -> bool {
        self.spinning.spinner.is_rare()
    }

    /// Returns true if the next turn copies a piece of a large reply, which takes some time: the
    /// loop serves other sockets before it.
    pub(crate) fn is_copying(&self) -> bool {
        self.is_copying
    }

    /// Announces that this driver takes no turns for a while, and returns the events to wait for.
    /// Threads and tasks that publish something before the next turn, and need a turn for it, wake
    /// `waker`.
    pub fn next(&mut self, waker: &Waker) -> Next {
        self.shared.turn(|state, turn| next_after(turn, state, waker))
    }

    /// Returns a waker that wakes a task that waits to receive, and then `driver`, this driver's
    /// own waker. The loop wakes it when the socket is ready, if its tasks run in the order in
    /// which they were woken: the task then receives before the driver runs. From now on, tasks
    /// that poll while the driver sleeps take turns themselves.
    pub fn alarm(&self, driver: &Waker) -> Waker {
        self.shared.with(State::set_stand_ins);
        let (shared, driver) = (Arc::clone(&self.shared), driver.clone());
        Waker::from(Arc::new(Alarm { shared, driver }))
    }

    /// Takes note of an event of the socket: it is readable or writable, or the peer is gone. The
    /// loop calls this before the next turn.
    pub fn ready(&mut self, is_peer_gone: bool) {
        self.note(if is_peer_gone { Notice::PeerGone } else { Notice::Readable });
    }

    /// Takes note, like [`ready`](Self::ready), of an edge-triggered event that has reported
    /// neither the peer's end nor an urgent byte (`EPOLLRDHUP`, `EPOLLPRI`).
    pub(crate) fn ready_with_bytes(&mut self) {
        self.note(Notice::Bytes);
    }

    fn note(&mut self, notice: Notice) {
        self.shared.with(|state| {
            state.driver.is_awake = true;
            state.notice(notice);
        });
    }

    /// Returns the error that has ended the session; `None` while it lasts, or if it was closed in
    /// order.
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

/// Logs a session's end like a worker; if many sessions break, only some of them.
fn log_end(peer: &Peer, error: Option<&SessionError>) {
    static BROKEN: LazyLock<Mutex<LogLimit>> = LazyLock::new(|| Mutex::new(LogLimit::new()));
    let Some(error) = error else { return tracing::debug!(?peer, "session closed") };
    // A session that breaks at the same moment is not worth a wait.
    match BROKEN.try_lock().ok().and_then(|mut limit| limit.admit()) {
        Some(0) => tracing::warn!(?peer, error = %describe(error), "session ended"),
        Some(suppressed) => {
            tracing::warn!(?peer, error = %describe(error), suppressed, "session ended")
        }
        None => tracing::debug!(?peer, error = %describe(error), "session ended"),
    }
}
