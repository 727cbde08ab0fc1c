//! How a server's end replies, behind its client's shutdown, to the calls that came before it
//! (`docs/abi.md`, section 1.1).
//!
//! All else is over with the shutdown. Turns go on until these calls are replied to, or the client
//! has closed its socket and no reply waits for room, or has taken none of those that wait for a
//! second. Replies after that are published where they find room at once.

use std::sync::Arc;

use breezeway_os::Deadline;
use breezeway_proto::Head;
use breezeway_shm::SendError;

use super::closing::LINGER;
use super::draining::Draining;
use super::outgoing::Outgoing;
use super::state::State;
use crate::error::CallError;

/// Calls that are served behind the client's shutdown.
#[derive(Default)]
pub(super) struct LastReplies {
    /// When replies have waited for too long for a client that takes none; none while none waits.
    until: Option<Deadline>,
    /// Bytes that the socket had not taken when this was last looked at.
    unwritten: usize,
}

impl State {
    /// Takes in the peer's shutdown, behind which nothing is read. An error is the end.
    pub(super) fn peer_has_closed(&mut self) -> Result<(), CallError> {
        if self.connection.is_client() {
            return Err(CallError::Closed);
        }
        if self.end.is_none() {
            self.end = Some(Arc::new(CallError::Closed));
            self.last_replies = Some(LastReplies::default());
            self.wake_users();
        }
        Ok(())
    }

    /// Ends a session whose client has closed it once nothing is left to be replied, or the client
    /// takes no replies. `sent` is true if some went out.
    pub(super) fn end_last_replies(&mut self, sent: bool) -> Result<(), CallError> {
        let Some(last) = &mut self.last_replies else { return Ok(()) };
        let unwritten = self.link.unwritten();
        let has_taken = unwritten < std::mem::replace(&mut last.unwritten, unwritten);
        if self.connection.backlog.is_empty() && !self.link.has_unwritten() {
            last.until = None;
            let nothing_is_left = self.connection.served.len() == 0 || self.link.is_peer_gone();
            return if nothing_is_left { Err(CallError::Closed) } else { Ok(()) };
        }
        if sent || has_taken {
            last.until = None;
        }
        let is_late = last.until.get_or_insert_with(|| Deadline::after(LINGER)).has_passed();
        if is_late {
            let replies = self.connection.backlog.len();
            tracing::warn!(replies, "replies are lost: their client has closed and takes none");
            return Err(CallError::Closed);
        }
        Ok(())
    }

    /// Returns true if something may still be accepted although the client has closed: replies wait
    /// for room first, or the session drains.
    pub(super) fn awaits_last_arrivals(&self) -> bool {
        let drains = matches!(self.draining, Draining::Until { .. });
        self.last_replies.is_some() && (drains || !self.connection.arrivals.is_empty())
    }

    /// Publishes a reply behind the client's end, of which nobody takes turns any more.
    #[cold]
    pub(super) fn send_behind_the_end(
        &mut self,
        head: Head,
        mut outgoing: Outgoing<'_>,
    ) -> Result<(), CallError> {
        let by_client =
            matches!(self.end.as_deref(), Some(CallError::Closed | CallError::PeerDied));
        if !by_client || self.connection.is_client() {
            return self.check();
        }
        match self.send_behind_replies(head, &mut outgoing) {
            // What the client does not learn of, it finds when it looks.
            Ok(()) => drop(self.link.flush_now()),
            Err(SendError::TooLarge { len, cap }) => return Err(CallError::TooLarge { len, cap }),
            Err(_) => return self.check(),
        }
        Ok(())
    }

    /// The last handle is dropped: this ends the session, unless its client has done so and calls
    /// are still served.
    pub(super) fn leave(&mut self) {
        let serves = self.last_replies.is_some() && self.connection.arrivals.is_empty();
        if !serves {
            self.close();
        } else if !self.has_driver {
            self.linger_for_last_replies();
        }
    }
}
