//! How a shared session ends in order: what it owes is sent first, for a bounded time.

use std::time::Duration;

use breezeway_os::Deadline;
use breezeway_proto::{Head, Kind};
use breezeway_shm::SendError;

use super::draining::Draining;
use super::state::RETRY;
use super::state::{State, Turn};
use crate::error::CallError;
use crate::link::Body;

/// How long a session that closes waits for a peer that makes no room for what was sent before.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// A session that sends what it owes before its end, and takes up nothing more.
pub(super) struct Closing {
    until: Deadline,
    has_said_so: bool,
}

impl State {
    /// The session ends in order, as far as the peer can still be reached. What it does not take
    /// at once is left to the driver, if there is one; else this thread waits for it. Whoever
    /// drives may sleep for the same, and takes no turn meanwhile.
    pub(super) fn close(&mut self) {
        self.close_by(Deadline::after(LINGER));
    }

    /// As [`Self::close`], with the time that there is for it.
    pub(super) fn close_by(&mut self, until: Deadline) {
        self.begin_closing(until);
        if self.turn() == Turn::Closing && !self.has_driver {
            self.linger();
        }
    }

    fn begin_closing(&mut self, until: Deadline) {
        if !self.is_ended() {
            self.finish(CallError::ClosedHere);
            self.closing = Some(Closing { until, has_said_so: false });
        }
    }

    /// The session ends in order, as far as that needs no waiting.
    pub(super) fn close_at_once(&mut self) {
        self.begin_closing(Deadline::after(LINGER));
        if self.turn() == Turn::Closing {
            self.end_closing();
        }
    }

    /// The driver goes, and nobody takes turns from here on.
    pub(super) fn lose_driver(&mut self) {
        self.has_driver = false;
        if self.last_replies.is_some() {
            return self.linger_for_last_replies();
        }
        self.finish(CallError::ClosedHere);
        self.linger();
    }

    /// Waits until the replies that wait behind the client's shutdown are sent, or have waited for
    /// too long.
    pub(super) fn linger_for_last_replies(&mut self) {
        let until = Deadline::after(LINGER);
        while self.last_replies.is_some()
            && (!self.connection.backlog.is_empty() || self.link.has_unwritten())
            && !until.has_passed()
        {
            let has_waited = !self.wait_to_say_more(Deadline::after(RETRY));
            // The turn finds out what has come of it.
            if self.turn() == Turn::Idle && !has_waited {
                // Entries that are never read end each wait.
                std::thread::sleep(RETRY);
            }
        }
    }

    /// Waits until a session that closes is over.
    fn linger(&mut self) {
        while let Some(Closing { until, .. }) = self.closing {
            let has_room = self.wait_to_say_more(until);
            if self.turn() == Turn::Closing && !has_room {
                self.end_closing();
            }
        }
    }

    /// Waits for what a session that closes still sends, until the deadline; whether something is
    /// left then.
    pub(super) fn linger_until(&mut self, deadline: Deadline) -> bool {
        // The turn finds out what has come of it.
        self.wait_to_say_more(deadline);
        self.turn() == Turn::Closing
    }

    fn wait_to_say_more(&mut self, until: Deadline) -> bool {
        if self.connection.backlog.is_empty() {
            self.link.flush(until).is_ok()
        } else {
            self.link.wait_for_room(until).is_ok()
        }
    }

    /// Whether a session that is over here still has something to send.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// A turn of a session that is over here.
    pub(super) fn turn_closing(&mut self) -> Turn {
        let Some(Closing { until, .. }) = self.closing else { return Turn::Ended };
        let goes_on = match self.try_turn() {
            // A turn ends with its slice: what is left to be refused is told so before the end.
            Ok(true) if matches!(self.draining, Draining::Over) => true,
            Ok(_) | Err(CallError::Shortage(_)) => self.say_shutdown(),
            Err(_) => false,
        };
        self.connection.arrivals.clear();
        if goes_on && !until.has_passed() {
            return Turn::Closing;
        }
        self.end_closing();
        Turn::Ended
    }

    /// Says that the session is over once nothing else is to be said; whether that has to wait.
    fn say_shutdown(&mut self) -> bool {
        if !self.connection.backlog.is_empty() || self.send_shutdown() {
            return true;
        }
        self.link.flush_now().is_ok() && self.link.has_unwritten()
    }

    /// Whether this side may publish nothing more.
    pub(super) fn has_said_shutdown(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| closing.has_said_so)
    }

    /// Publishes it, if that was not done; whether there is to be room for it in the socket first.
    fn send_shutdown(&mut self) -> bool {
        let Some(closing) = &mut self.closing else { return false };
        // The client's is not answered by another.
        if closing.has_said_so || self.connection.has_peer_closed() {
            return false;
        }
        let sent = self.link.send(Head::of_session(Kind::Shutdown, 0), Body::Bytes(&[]));
        let waits = matches!(sent, Err(SendError::Full { .. })) && self.link.has_unwritten();
        // A full ring or a dead peer: the end of file says the same, less politely.
        closing.has_said_so = !waits;
        waits
    }

    /// There is no more time, or nothing more to do.
    fn end_closing(&mut self) {
        self.send_shutdown();
        let _ = self.link.flush_now();
        self.closing = None;
        if !self.connection.backlog.is_empty() {
            let replies = self.connection.backlog.len();
            tracing::warn!(replies, "a closed session's replies are lost: its client made no room");
        }
    }
}
