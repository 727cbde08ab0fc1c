//! A session and its worker's state for it.

use std::io;

use breezeway_os::Sleeper;

use crate::carrier::Carrier;
use crate::error::SessionError;
use crate::exclusive_server::ExclusiveServerSession;
use crate::presence::{Hooks, Presence};

/// Set in the token of a client's exit descriptor.
pub(super) const EXIT: u64 = 1 << 32;

pub(crate) struct Slot {
    pub(super) session: ExclusiveServerSession,
    /// Dropped after the session, so its end is reported when the client can see it.
    pub(super) presence: Presence,
    /// True if its messages travel on the watched socket.
    pub(super) on_socket: bool,
    /// True if the socket is watched for room to write.
    awaits_room: bool,
    pub(super) active: bool,
    /// Set while its socket may hold bytes that no event will report again.
    pub(super) unread: bool,
    /// Time of its last work, in clock ticks.
    pub(super) last_work: u64,
    /// Round of its last turn.
    pub(super) round: u64,
}

impl Slot {
    pub(super) fn new(session: ExclusiveServerSession, hooks: &Hooks, now: u64) -> Self {
        Self {
            presence: hooks.start(session.id(), session.peer()),
            on_socket: session.carrier() != Carrier::Shm,
            session,
            awaits_room: false,
            active: true,
            unread: false,
            last_work: now,
            round: 0,
        }
    }

    /// Makes its events wake its worker.
    pub(super) fn watch(&mut self, sleeper: &Sleeper, token: usize) -> io::Result<()> {
        self.awaits_room = false;
        self.session.with_socket(|socket| sleeper.watch(socket, token as u64))?;
        match self.session.exit() {
            Some(exit) => sleeper.watch(exit, token as u64 | EXIT),
            None => Ok(()),
        }
    }

    /// Stops its events from waking that worker.
    pub(super) fn forget(&mut self, sleeper: &Sleeper) {
        let forgotten = self.session.with_socket(|socket| sleeper.forget(socket));
        let exit = self.session.exit().map_or(Ok(()), |exit| sleeper.forget(exit));
        if let Err(error) = forgotten.and(exit) {
            tracing::warn!(%error, "cannot stop watching a session's descriptors");
        }
    }

    /// Watches the socket for room, for a session whose replies the socket does not take.
    #[inline(always)]
    pub(super) fn watch_room(
        &mut self,
        sleeper: &Sleeper,
        token: usize,
    ) -> Result<(), SessionError> {
        let awaits_room = self.awaits_room_now();
        if awaits_room != self.awaits_room
            && let Some(outcome) = self
                .session
                .try_with_socket(|socket| sleeper.watch_room(socket, token as u64, awaits_room))
        {
            outcome.map_err(SessionError::Io)?;
            self.awaits_room = awaits_room;
        }
        Ok(())
    }

    fn awaits_room_now(&self) -> bool {
        self.on_socket && self.session.has_unwritten()
    }

    /// Returns false while another thread has kept its socket from being watched for room.
    pub(super) fn may_sleep(&self) -> bool {
        self.awaits_room_now() == self.awaits_room
    }
}
