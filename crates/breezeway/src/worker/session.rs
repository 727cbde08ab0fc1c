//! A session as its worker serves it: a plain one, which is the worker's alone, or a shared one,
//! whose streams other threads serve.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use breezeway_os::{Deadline, Peer};

use super::ending::Rest;
use super::{Inbox, SharedSession};
use crate::call::Handler;
use crate::carrier::Carrier;
use crate::error::SessionError;
use crate::link::{Notice, WaitFailure};
use crate::presence::SessionId;
use crate::served::{Progress, ServerSession};
use crate::server::Unserved;
use crate::slice::Slice;

#[allow(clippy::large_enum_variant, reason = "one per session, and the large one is the fast one")]
pub(crate) enum Session {
    Plain(ServerSession),
    Shared(SharedSession),
}

use Session::{Plain, Shared};

impl From<ServerSession> for Session {
    fn from(session: ServerSession) -> Self {
        Plain(session)
    }
}

impl From<SharedSession> for Session {
    fn from(session: SharedSession) -> Self {
        Shared(session)
    }
}

// ---- what it is ----
impl Session {
    pub(super) fn id(&self) -> SessionId {
        match self {
            Plain(session) => session.id(),
            Shared(session) => session.id(),
        }
    }

    pub(super) fn peer(&self) -> &Peer {
        match self {
            Plain(session) => session.peer(),
            Shared(session) => session.peer(),
        }
    }

    pub(super) fn carrier(&self) -> Carrier {
        match self {
            Plain(session) => session.carrier(),
            Shared(session) => session.carrier(),
        }
    }

    /// Passes its socket to `act`: of a shared session, while no other thread uses it.
    pub(super) fn with_socket<R>(&self, act: impl FnOnce(BorrowedFd<'_>) -> R) -> R {
        match self {
            Plain(session) => act(session.socket()),
            Shared(session) => session.with_socket(act),
        }
    }

    /// Like [`with_socket`](Self::with_socket), unless another thread uses it now.
    pub(super) fn try_with_socket<R>(&self, act: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        match self {
            Plain(session) => Some(act(session.socket())),
            Shared(session) => session.try_with_socket(act),
        }
    }

    /// Readable once the client's process is gone.
    pub(super) fn exit(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Plain(session) => session.exit(),
            Shared(session) => session.exit(),
        }
    }

    /// From now on a worker serves it, which knows it by this token.
    pub(super) fn join(&mut self, inbox: Arc<Inbox>, token: usize) {
        match self {
            Plain(session) => session.join(inbox),
            Shared(session) => session.join(inbox, token),
        }
    }

    /// Drives the shared session from now on that a plain one has become.
    #[inline(always)]
    pub(super) fn become_shared(&mut self, inbox: &Arc<Inbox>, token: usize) {
        if let Plain(session) = self
            && let Some((channel, exit)) = session.take_shared()
        {
            let mut session = SharedSession::new(channel, exit, None);
            session.join(Arc::clone(inbox), token);
            *self = Shared(session);
        }
    }
}

// ---- serving ----
impl Session {
    /// Serves what is there, within a slice, polling so many times for the first of it. An error
    /// ends the session.
    #[inline(always)]
    pub(super) fn serve_some(
        &mut self,
        handler: &impl Handler,
        polls: u32,
        slice: &mut Slice<'_>,
    ) -> Result<Progress, SessionError> {
        match self {
            Plain(session) => session.serve_some(handler, polls, slice),
            Shared(session) => session.serve_some(handler, polls, slice),
        }
    }

    /// Whether the client is gone and all that it committed was taken. (A shared session says so
    /// when it is served.)
    pub(super) fn is_exhausted(&mut self) -> bool {
        match self {
            Plain(session) => session.is_exhausted(),
            Shared(_) => false,
        }
    }

    /// What a turn that has served nothing has left.
    pub(super) fn rest(&mut self) -> Rest {
        match self {
            Plain(session) if session.is_backlogged() => Rest::Waits,
            Plain(session) => match session.may_have_more() {
                true => Rest::Served,
                false => Rest::Nothing,
            },
            Shared(session) if session.was_busy() => Rest::Waits,
            Shared(_) => Rest::Nothing,
        }
    }

    /// Whether this side, being short of something, is to try again later.
    pub(super) fn may_retry(&mut self) -> bool {
        match self {
            Plain(session) => session.may_retry(),
            Shared(session) => session.may_retry(),
        }
    }

    /// Announces that the worker is about to sleep, and polls once more. True if there is nothing
    /// to do.
    pub(super) fn prepare_sleep(&mut self) -> Result<bool, SessionError> {
        match self {
            Plain(session) => session.prepare_sleep(),
            Shared(session) => Ok(session.prepare_sleep()),
        }
    }

    /// Takes note of an event of the socket.
    pub(super) fn notice(&mut self, notice: Notice) -> Result<(), SessionError> {
        match self {
            Plain(session) => Ok(session.link().notice(notice)?),
            Shared(session) => {
                session.notice(notice);
                Ok(())
            }
        }
    }

    /// Reads what has come on the socket beside messages, and validates it; false if something may
    /// be left there, or somebody else had the session's lock.
    pub(super) fn drain(&mut self) -> Result<bool, SessionError> {
        match self {
            Plain(session) => {
                let link = session.link();
                link.drain()?;
                Ok(!link.is_unread())
            }
            Shared(session) => Ok(session.drain()),
        }
    }

    /// Asks the kernel whether the client is still there.
    pub(super) fn client_is_gone(&self) -> bool {
        match self {
            Plain(session) => session.client_is_gone(),
            Shared(session) => session.client_is_gone(),
        }
    }

    /// Whether the client last waited on the CPU that this thread runs on.
    pub(super) fn shares_cpu(&mut self) -> bool {
        match self {
            Plain(session) => session.link().shares_cpu(),
            Shared(session) => session.shares_cpu(),
        }
    }
}

// ---- replies that come later, and the end ----
impl Session {
    /// Returns true while threads serve its calls or streams, or replies wait.
    pub(super) fn is_in_use(&self) -> bool {
        match self {
            Plain(_) => false,
            Shared(session) => session.is_in_use(),
        }
    }

    /// Whether it is to be served again before long although no event will report anything.
    pub(super) fn looks_again(&self) -> bool {
        match self {
            Plain(session) => session.looks_again(),
            Shared(session) => session.looks_again(),
        }
    }

    /// Whether something is left to be written once the socket has room.
    #[inline(always)]
    pub(super) fn has_unwritten(&self) -> bool {
        match self {
            Plain(session) => session.has_unwritten(),
            Shared(session) => session.has_unwritten(),
        }
    }

    /// Says that the session is over, behind all replies.
    pub(super) fn say_shutdown(&mut self, until: Deadline) {
        match self {
            Plain(session) => session.say_shutdown(),
            Shared(session) => session.say_shutdown(until),
        }
    }

    /// Writes what is left, until the deadline; true if that was too early.
    pub(super) fn flush(&mut self, deadline: Deadline) -> bool {
        match self {
            Plain(session) => {
                matches!(session.link().flush(deadline), Err(WaitFailure::DeadlinePassed))
            }
            Shared(session) => session.flush(deadline),
        }
    }

    /// Tells what was not begun that it will not be, and counts what else is left.
    pub(super) fn refuse_the_rest(&mut self) -> Unserved {
        match self {
            Plain(session) => session.refuse_the_rest(),
            Shared(session) => session.refuse_the_rest(),
        }
    }

    /// Lets a client that knows what this means ask for nothing more.
    pub(super) fn say_go_away(&mut self) {
        match self {
            Plain(session) => session.say_go_away(),
            Shared(session) => session.say_go_away(),
        }
    }
}
