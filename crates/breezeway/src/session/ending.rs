//! The end of a shared session (`docs/abi.md`, sections 1.1 and 1.2): the IO and the waits of the
//! stages that the protocol decides ([`Ending`](breezeway_proto::ending::Ending)).

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use breezeway_os::Deadline;
use breezeway_proto::{ErrorCode, Head};
use breezeway_shm::SendError;

use super::outgoing::Outgoing;
use super::receiving::Arrival;
use super::state::{RETRY, State, Turn};
use crate::carrier::{Body, Status};
use crate::error::CallError;
use crate::link::Flush;
use crate::reasons::NOT_BEGUN;
use crate::time::{now, to_deadline, to_time};
use crate::unserved::Unserved;

/// Longest wait of a session that ends for a peer that makes no room for earlier entries.
pub(crate) const LINGER: Duration = Duration::from_secs(1);
/// Longest wait of the drop of a server's session for a client that takes its last replies slowly.
const LAST_REPLIES_TIME: Duration = Duration::from_secs(5);
/// Number of entries that a closing session takes from a socket after it has drained: as many as
/// the largest ring holds.
const LAST_ON_SOCKET: usize = 1 << 16;

// ---- go-away and drain ----
impl State {
    /// Lets the client begin nothing new, by a go-away entry as soon as there is room for it.
    pub(super) fn go_away(&mut self) {
        self.connection.ending.go_away();
        self.send_go_away();
    }

    fn send_go_away(&mut self) {
        // The next turn, which a driver that is awake takes, detects a dead peer.
        let _ = self.send_controls();
        self.unflushed = true;
    }

    /// Serves earlier requests, until `deadline` at most.
    pub(super) fn drain(&mut self, deadline: Deadline) {
        if self.connection.ending.drain(to_time(deadline)) {
            self.send_go_away();
            self.wake_acceptors();
        }
    }

    /// Wakes the threads and tasks that accept. One of them may be the thread that leads, which
    /// sleeps in another place, or is about to.
    pub(super) fn wake_acceptors(&mut self) {
        self.due.append(&mut self.awaiting.arrival);
        self.wake_driver();
    }

    /// Takes the steps of an end that has begun. `sent` is true if entries that waited were sent.
    #[inline]
    pub(super) fn step_end(&mut self, sent: bool) -> Result<(), CallError> {
        if !self.connection.ending.has_begun() {
            return Ok(());
        }
        self.step_drain();
        self.flush()?;
        let Status { unwritten, gone, .. } = self.link.status();
        if !self.connection.step_last_replies(sent, unwritten, gone, now()) {
            return Ok(());
        }
        if unwritten > 0 || !self.connection.backlog.is_empty() {
            let replies = self.connection.backlog.len();
            tracing::warn!(replies, "replies are lost: their client takes none, or too slowly");
        }
        Err(CallError::Closed)
    }

    /// Ends the drain if that is due, and refuses the requests that a drained session did not
    /// begin.
    #[inline]
    pub(super) fn step_drain(&mut self) {
        if self.connection.ending.has_begun() {
            self.step_drain_begun();
        }
    }

    #[cold]
    fn step_drain_begun(&mut self) {
        if self.connection.step_drain(self.link.status().unwritten > 0, now()) {
            self.wake_acceptors();
        }
        while let Some((stream, waiter)) = self.connection.take_refused() {
            self.discarded.extend(waiter);
            let reason = (NOT_BEGUN, NOT_BEGUN);
            self.send_failure(stream, ErrorCode::Refused, reason, Deadline::NEVER);
        }
    }

    /// Returns the requests that were left undone, and those that would be if the session ended
    /// now.
    pub(super) fn unserved(&self) -> Unserved {
        let refused = self.connection.ending.refused();
        Unserved {
            calls_refused: refused.calls,
            calls_cut: self.connection.served.len() + self.connection.streams.live_count(),
            messages_lost: refused.one_way,
        }
    }

    /// Like [`Self::poll_arrival`], but returns `None` once the session has drained.
    pub(super) fn poll_request(
        &mut self,
        cx: &Context<'_>,
    ) -> Poll<Result<Option<Arrival>, CallError>> {
        let polled = self.poll_arrival(cx)?;
        match polled {
            Poll::Pending if self.connection.ending.has_drained() => Poll::Ready(Ok(None)),
            polled => polled.map(|arrival| Ok(Some(arrival))),
        }
    }
}

// ---- last replies, behind the client's shutdown ----
impl State {
    /// Takes note of the peer's shutdown: nothing behind it is read. An error is the end.
    pub(super) fn peer_closed(&mut self) -> Result<(), CallError> {
        if self.connection.is_client() {
            return Err(CallError::Closed);
        }
        if self.connection.ending.begin_last_replies(Arc::new(CallError::Closed)) {
            self.wake_users();
        }
        Ok(())
    }

    /// Publishes a reply behind the client's end, after which no driver takes turns.
    #[cold]
    pub(super) fn send_behind_the_end(
        &mut self,
        head: Head,
        mut outgoing: Outgoing<'_>,
    ) -> Result<(), CallError> {
        let reason = self.connection.ending.reason().map(Arc::as_ref);
        let by_client = matches!(reason, Some(CallError::Closed | CallError::PeerDied));
        if !by_client || self.connection.is_client() {
            return self.check();
        }
        match self.send_behind_replies(head, &mut outgoing) {
            // A client that this does not wake finds the reply when it reads its ring.
            Ok(()) => drop(self.link.flush(Flush::All)),
            Err(SendError::TooLarge { len, cap }) => return Err(CallError::TooLarge { len, cap }),
            Err(_) => return self.check(),
        }
        Ok(())
    }

    /// Ends the session as its last handle is dropped, unless the client has closed it and calls
    /// are still served.
    pub(super) fn leave(&mut self) {
        let serves =
            self.connection.ending.serves_last_replies() && self.connection.arrivals.is_empty();
        if !serves {
            self.close();
        } else if !self.has_driver {
            self.send_last_replies();
        }
    }

    /// Ends the session as its driver is dropped: no turn follows.
    pub(super) fn lose_driver(&mut self) {
        self.has_driver = false;
        if self.connection.ending.serves_last_replies() {
            self.refuse_last_arrivals();
            return self.send_last_replies();
        }
        self.finish(CallError::ClosedHere);
        self.linger();
    }

    /// Ends a drain that no turn ends, as the driver is gone.
    fn refuse_last_arrivals(&mut self) {
        if self.connection.ending.is_draining() {
            self.connection.ending.cut_drain();
            self.step_drain();
            let _ = self.flush();
            self.wake_acceptors();
        }
    }

    /// Takes turns until the replies that wait behind the client's shutdown are sent, or one ends
    /// the session because the client takes none, or too slowly.
    fn send_last_replies(&mut self) {
        let latest = to_time(Deadline::after(LAST_REPLIES_TIME));
        self.connection.ending.limit_last_replies(latest);
        while self.connection.ending.serves_last_replies()
            && (!self.connection.backlog.is_empty() || self.link.status().unwritten > 0)
        {
            let has_waited = !self.wait_to_say_more(Deadline::after(RETRY));
            if self.turn() == Turn::Idle && !has_waited {
                // Entries that are never read end each wait.
                std::thread::sleep(RETRY);
            }
        }
    }
}

// ---- closing ----
impl State {
    /// Ends the session in order. The driver sends the entries that the peer does not take at once;
    /// without a driver this thread waits for that. A thread that leads may sleep for the same, and
    /// takes no turn during that sleep.
    pub(super) fn close(&mut self) {
        self.close_by(Deadline::after(LINGER));
    }

    /// Like [`Self::close`], with its time. Returns the result of the turn that it takes.
    pub(super) fn close_by(&mut self, until: Deadline) -> Turn {
        let (reason, last_entries) =
            (Arc::new(CallError::ClosedHere), self.link.most_pending.unwrap_or(LAST_ON_SOCKET));
        if self.connection.ending.close(reason, to_time(until), last_entries) {
            self.wake_all();
        }
        let turn = self.turn();
        if turn != Turn::Ended && !self.has_driver {
            self.linger();
            return Turn::Ended;
        }
        turn
    }

    /// Waits until a session that closes is over.
    fn linger(&mut self) {
        while let Some(until) = self.connection.ending.closes_until() {
            let has_room = self.wait_to_say_more(to_deadline(until));
            if self.turn() == Turn::Closing && !has_room {
                self.end_closing();
            }
        }
    }

    fn wait_to_say_more(&mut self, until: Deadline) -> bool {
        if self.connection.backlog.is_empty() {
            self.link.flush(Flush::AllBy(until)).is_ok()
        } else {
            self.link.wait(self.more_room, until).is_ok()
        }
    }

    /// Takes a turn of a session that is over here.
    pub(super) fn turn_closing(&mut self) -> Turn {
        let Some(until) = self.connection.ending.closes_until() else { return Turn::Ended };
        let taken = self.try_turn();
        self.connection.arrivals.clear();
        let waits = match taken {
            Ok(_) if self.connection.ending.takes_last_entries() => return Turn::Worked,
            Ok(_) | Err(CallError::Shortage(_)) => self.say_shutdown(),
            Err(_) => false,
        };
        if waits && !until.has_passed_at(now()) {
            return Turn::Closing;
        }
        self.end_closing();
        Turn::Ended
    }

    /// Sends the shutdown behind everything else. Returns true if that has to wait.
    fn say_shutdown(&mut self) -> bool {
        if !self.connection.backlog.is_empty() || self.send_shutdown() {
            return true;
        }
        self.link.flush(Flush::All).is_ok() && self.link.status().unwritten > 0
    }

    /// Publishes the shutdown that is due. Returns true if there is to be room for it in the socket
    /// first.
    fn send_shutdown(&mut self) -> bool {
        if !self.connection.ending.next_transmit().is_some_and(|kind| kind.is_shutdown()) {
            return false;
        }
        let sent = self.link.send(Head::of_shutdown(), Body::Bytes(&[]));
        let is_full = matches!(sent, Err(SendError::Full { .. }));
        let waits = is_full && self.link.status().unwritten > 0;
        if !waits {
            // A full ring or a dead peer: the end of file has the same effect.
            self.connection.ending.transmitted();
        }
        waits
    }

    /// Ends the session: its time has passed, or nothing is left.
    fn end_closing(&mut self) {
        self.send_shutdown();
        let _ = self.link.flush(Flush::All);
        self.connection.ending.end_closing();
        if !self.connection.backlog.is_empty() {
            let replies = self.connection.backlog.len();
            tracing::warn!(replies, "a closed session's replies are lost: its client made no room");
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
