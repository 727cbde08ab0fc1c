//! Driving a shared session from an event loop of any kind.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::Waker;

use rustix::io::dup;

use super::shared::Shared;
use super::state::Turn;
use crate::error::{CallError, SessionError};
use crate::handshake::HandshakeError;
use crate::link::Notice;

/// What a driver does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Take another turn: something came, or may come at once.
    Turn,
    /// Take another turn when the socket is readable, or writable if `writable`, or the waker was
    /// woken.
    Sleep {
        /// Whether to wait until the socket can be written as well.
        writable: bool,
    },
    /// This process is short of open files or memory: take another turn in a while.
    Pause,
    /// The session is over.
    End,
}

/// Drives a shared session from an event loop: a task of an async runtime, or a thread with epoll.
///
/// Its descriptor is the session's socket, to be watched for being readable, level- or
/// edge-triggered. It must not be read or written.
///
/// A loop takes [turns](Self::turn), as many as it likes, asks [what to do next](Self::next), and
/// after a sleep says [what it noticed](Self::ready). Dropping the driver ends the session.
pub struct Driver {
    shared: Arc<Shared>,
    socket: OwnedFd,
}

impl AsFd for Driver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>) -> Result<Self, HandshakeError> {
        let socket = shared.turn(|state, _| dup(state.link.socket()));
        let socket = socket.map_err(|_| HandshakeError::OpenFiles)?;
        Ok(Self { shared, socket })
    }

    /// Takes what has come, sends what is owed, and wakes who waits for it. Never blocks. True if
    /// anything came.
    pub fn turn(&mut self) -> bool {
        self.shared.turn(|state, turn| {
            state.driver_is_awake = true;
            turn == Turn::Worked
        })
    }

    /// Announces that nobody takes turns for a while, and says what to wait for. Threads and tasks
    /// that publish something meanwhile, and need a turn for it, wake `waker`.
    pub fn next(&mut self, waker: &Waker) -> Next {
        self.shared.turn(|state, turn| match turn {
            Turn::Ended => Next::End,
            Turn::Worked => Next::Turn,
            Turn::Short => Next::Pause,
            Turn::Idle => {
                state.set_driver(waker);
                if state.prepare_sleep() {
                    Next::Sleep { writable: state.link.has_unwritten() }
                } else if state.is_ended() {
                    Next::End
                } else {
                    Next::Turn
                }
            }
        })
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
        self.shared.with(|state| state.finish(CallError::Ended));
    }
}
