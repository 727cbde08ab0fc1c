//! The receiving side of a client: replies to calls in flight.

use breezeway_os::Deadline;
use breezeway_proto::in_flight::{CallId, EndedCall};
use breezeway_proto::validate::{Side, Subject, validate_plain};
use breezeway_proto::{CallViolation, ErrorCode, LONGEST_REASON};
use breezeway_shm::{ForeignBytes, Want};

use super::ExclusiveSession;
use crate::carrier::{LinkError, Notice};
use crate::error::CallError;
use crate::link::Flush;
use crate::message::Message;

impl ExclusiveSession {
    #[inline(always)]
    pub(super) fn await_reply(&mut self, deadline: Deadline) -> Result<Reply<'_>, CallError> {
        match self.next_answer(deadline) {
            Ok(EndedCall { call, error: None, .. }) => {
                self.reply_lent = true;
                Ok(Reply { session: self, call })
            }
            Ok(EndedCall { call, error: Some(code), .. }) => Err(self.failure(call, code)),
            Err(error) => Err(self.not_answered(error)),
        }
    }

    /// Takes the next reply if it has arrived.
    pub(super) fn try_reply(&mut self) -> Result<Option<Reply<'_>>, CallError> {
        match self.answer_at_hand() {
            Ok(Some(EndedCall { call, error: None, .. })) => {
                self.reply_lent = true;
                Ok(Some(Reply { session: self, call }))
            }
            Ok(Some(EndedCall { call, error: Some(code), .. })) => Err(self.failure(call, code)),
            Ok(None) => Ok(None),
            Err(error) => Err(self.not_answered(error)),
        }
    }

    /// Takes the entries that have arrived until one answers a call that was not given up.
    fn answer_at_hand(&mut self) -> Result<Option<EndedCall>, CallError> {
        self.link.flush(Flush::All)?;
        let mut sweep = self.sweep()?;
        while self.next_is_there(&mut sweep)? {
            let head = self.link.head();
            if !head.is_message() {
                self.session_entry()?;
                continue;
            }
            let answer = self.calls.answer(head)?;
            if answer.wanted {
                return Ok(Some(answer));
            }
            self.link.finish()?;
        }
        // The server's end is checked last: entries sent before it are still received.
        let is_gone = self.link.status().closed;
        self.link.drain()?;
        if is_gone { Err(CallError::PeerDied) } else { Ok(None) }
    }

    /// Takes entries until one answers a call that was not given up.
    #[inline(always)]
    fn next_answer(&mut self, deadline: Deadline) -> Result<EndedCall, CallError> {
        loop {
            if !self.take()? && !self.wait_and_take(deadline)? {
                continue;
            }
            let head = self.link.head();
            if !head.is_message() {
                self.session_entry()?;
                continue;
            }
            let answer = self.calls.answer(head)?;
            if answer.wanted {
                return Ok(answer);
            }
            self.link.finish()?;
        }
    }

    /// Waits for the next message and takes it; may return false as [`Link::take`] does.
    #[inline(always)]
    fn wait_and_take(&mut self, deadline: Deadline) -> Result<bool, CallError> {
        self.link.wait(Want::Data, deadline).map_err(|failure| self.wait_error(failure))?;
        check(deadline)?;
        self.take()
    }

    /// Takes the next message as [`Link::take`] does.
    #[inline(always)]
    fn take(&mut self) -> Result<bool, CallError> {
        match self.link.take() {
            Ok(taken) => Ok(taken),
            Err(error) => self.not_taken(error),
        }
    }

    /// Fails the call whose reply found no memory, unless it was given up. Any other error ends the
    /// session.
    #[cold]
    fn not_taken(&mut self, error: LinkError) -> Result<bool, CallError> {
        let reply = match &error {
            LinkError::Unreceived(unreceived) => unreceived.reply(),
            _ => None,
        };
        let Some(head) = reply else { return Err(error.into()) };
        let EndedCall { call, wanted, .. } = self.calls.answer(head)?;
        match (wanted, error) {
            (true, LinkError::Unreceived(unreceived)) => {
                let (code, reason) = (ErrorCode::NoMemory, unreceived.to_string());
                Err(CallError::Failed { call, code, reason })
            }
            _ => Ok(false),
        }
    }

    /// Returns the error of a missing reply. If the deadline has passed, the calls in flight are
    /// given up.
    #[cold]
    fn not_answered(&mut self, error: CallError) -> CallError {
        if matches!(error, CallError::DeadlinePassed | CallError::Shortage(_)) {
            self.calls.give_up_all();
        }
        self.failed(error)
    }

    /// Returns the error of requests that may not have reached the server.
    #[cold]
    pub(super) fn not_flushed(&mut self, failure: LinkError) -> CallError {
        let error = self.wait_error(failure);
        self.not_answered(error)
    }

    #[cold]
    pub(super) fn wait_error(&self, failure: LinkError) -> CallError {
        match failure {
            LinkError::ReceiveBufferFull => CallError::TooManyInFlight(self.calls.wanted()),
            error => error.into(),
        }
    }

    #[cold]
    fn failure(&mut self, call: CallId, code: ErrorCode) -> CallError {
        let body = self.link.body();
        let reason = body.slice(..body.len().min(LONGEST_REASON)).to_vec();
        let reason = String::from_utf8_lossy(&reason).into_owned();
        self.finish_reply();
        CallError::Failed { call, code, reason }
    }

    /// Releases the reply that was taken.
    #[inline(always)]
    pub(crate) fn finish_reply(&mut self) {
        self.reply_lent = false;
        if self.link.finish().is_err() {
            self.ending.end((), false);
        }
    }

    /// Returns the bytes of the reply that was taken.
    #[inline]
    pub(crate) fn reply_bytes(&self) -> ForeignBytes<'_> {
        self.link.body()
    }

    /// Detaches the reply that was taken from the session.
    pub(crate) fn detach_reply(&mut self) -> Message {
        Message::plain(self.link.detach())
    }

    /// Drops the replies that have arrived to calls that were given up; returns true if none is
    /// still to come. An error ends the session.
    pub(crate) fn settle(&mut self) -> bool {
        // The session's next user gets the error; this caller only checks that the session is
        // usable.
        self.drop_late_replies().is_ok() && !self.has_late_replies()
    }

    /// Drops replies to calls that were given up; returns true if there were any.
    pub(super) fn drop_late_replies(&mut self) -> Result<bool, CallError> {
        self.try_drop_late_replies().map_err(|error| self.failed(error))
    }

    fn try_drop_late_replies(&mut self) -> Result<bool, CallError> {
        let mut dropped = false;
        let mut sweep = self.sweep()?;
        while self.next_is_there(&mut sweep)? {
            let head = self.link.head();
            if head.is_go_away() {
                self.session_entry()?;
                dropped = true;
                continue;
            }
            if !head.is_message() || self.calls.wants(head) {
                break;
            }
            self.calls.answer(head)?;
            self.link.finish()?;
            dropped = true;
        }
        Ok(dropped)
    }

    /// Returns true if the server announced its end: takes the replies that will not be received
    /// any more. An error ends the session.
    #[cold]
    pub(super) fn was_shut_down(&mut self) -> bool {
        self.try_find_shutdown().unwrap_or_else(|error| {
            self.failed(error);
            false
        })
    }

    fn try_find_shutdown(&mut self) -> Result<bool, CallError> {
        let mut sweep = self.sweep()?;
        while self.next_is_there(&mut sweep)? {
            match self.about()? {
                Subject::Shutdown => return Ok(true),
                Subject::GoAway => self.ending.peer_goes_away(),
                Subject::Message => {
                    self.calls.answer(self.link.head())?;
                }
                _ => {}
            }
            self.link.finish()?;
        }
        Ok(false)
    }

    /// Returns true if the server exists, according to the kernel, and is not going away. For a
    /// session without a call in flight: entries that have arrived are dropped.
    pub(crate) fn is_alive(&mut self) -> bool {
        !self.is_ended()
            && !self.was_shut_down()
            && self.ending.may_begin()
            && self.link.drain().is_ok()
            && !self.link.status().closed
    }

    /// Returns true if an entry that was not taken has arrived, or an error. Without a call in
    /// flight it is an entry about segments or the session's end. On a socket only the bytes that
    /// were read count.
    pub(crate) fn has_arrivals(&mut self) -> bool {
        self.link.has(Want::Data).unwrap_or(true)
    }

    /// Handles a valid entry about the session.
    #[cold]
    pub(super) fn session_entry(&mut self) -> Result<(), CallError> {
        match self.about()? {
            Subject::Shutdown => return Err(CallError::Closed),
            Subject::GoAway => self.ending.peer_goes_away(),
            _ => {}
        }
        Ok(self.link.finish()?)
    }

    /// Validates the current entry.
    fn about(&self) -> Result<Subject, CallViolation> {
        let side = Side::Client { going_away: self.ending.is_going_away() };
        validate_plain(self.link.head(), self.link.body().len(), side)
    }

    /// Begins a sweep over the entries that have arrived.
    fn sweep(&mut self) -> Result<Sweep, LinkError> {
        self.link.notice(Notice::Turn)?;
        // A reply to each call, the go-away entry, and the shutdown.
        Ok(Sweep { left: self.link.most_pending.unwrap_or(self.calls.len() + 2) })
    }

    /// Takes the next message of a sweep if one has arrived.
    #[cold]
    fn next_is_there(&mut self, sweep: &mut Sweep) -> Result<bool, CallError> {
        while sweep.left > 0 {
            sweep.left -= 1;
            // On a socket, taking reads; in shared memory it may return false although more entries
            // are there.
            if self.take()? {
                return Ok(true);
            }
            if !self.link.has(Want::Data)? {
                return Ok(false);
            }
        }
        Ok(false)
    }
}

/// Number of entries still to be taken by a sweep: at first as many as can be there at the same
/// time. A server that adds entries without end thus does not hold the caller.
struct Sweep {
    left: usize,
}

/// Checks the deadline: a peer that always has an entry, but never a reply, does not hold a caller
/// beyond it.
#[inline(always)]
fn check(deadline: Deadline) -> Result<(), CallError> {
    if deadline.has_passed() { Err(CallError::DeadlinePassed) } else { Ok(()) }
}

/// A reply, lent by the peer until this is dropped.
pub struct Reply<'s> {
    session: &'s mut ExclusiveSession,
    call: CallId,
}

impl Reply<'_> {
    /// Returns the id of the call that it answers.
    pub fn call(&self) -> CallId {
        self.call
    }

    /// Returns its bytes: a private copy up to 104 bytes, else the peer's memory, which the peer
    /// may still change.
    #[inline]
    pub fn bytes(&self) -> ForeignBytes<'_> {
        self.session.reply_bytes()
    }

    /// Returns a private copy of its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }

    /// Converts the reply to a message that owns its memory, may be sent to any thread, and
    /// outlives the session, which can make its next call. A payload lent by the peer counts
    /// against the peer's cap until the message is dropped.
    ///
    /// ```
    /// use breezeway::{Call, ExclusiveSession, SessionOptions};
    ///
    /// const ECHO: u32 = 0;
    ///
    /// let (mut session, server) = ExclusiveSession::pair(&SessionOptions::new())?;
    /// let serving = std::thread::spawn(move || server.serve(&|call: Call<'_>| call.echo()));
    /// let one = session.call(ECHO, &[1; 1000])?.into_message();
    /// let two = session.call(ECHO, &[2; 1000])?.into_message();
    /// let sum = std::thread::spawn(move || one.to_vec()[0] + two.to_vec()[0]);
    /// assert_eq!(sum.join().unwrap(), 3);
    /// # drop(session);
    /// # serving.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_message(self) -> Message {
        self.session.detach_reply()
    }
}

impl Drop for Reply<'_> {
    #[inline]
    fn drop(&mut self) {
        self.session.finish_reply();
    }
}

impl std::fmt::Debug for Reply<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Reply")
            .field("call", &self.call)
            .field("bytes", &self.bytes())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use breezeway_adversary::native::layout::kind;
    use breezeway_adversary::native::{Entry, Peer, Terms};

    use crate::{ExclusiveSession, SessionOptions};

    /// Returns true if an idle session is still used after its server has sent `entry`.
    fn is_alive_after(entry: &Entry) -> bool {
        let (hostile, honest) = UnixStream::pair().unwrap();
        let serving = std::thread::spawn(|| Peer::server(hostile.into(), Terms::default()));
        let options = SessionOptions::new().ring_capacity(64);
        let mut session = ExclusiveSession::from_socket(honest.into(), &options).unwrap();
        let mut peer = serving.join().unwrap();
        peer.publish(entry);
        session.is_alive()
    }

    #[test]
    fn an_idle_session_whose_server_breaks_a_rule_is_not_reused() {
        let on_a_stream = |kind| Entry { stream: 1, ..Entry::session(kind, 0, &[]) };
        assert!(is_alive_after(&on_a_stream(kind::RESET)), "a reset is ignored");
        for number in [0, kind::CANCEL, kind::DEADLINE, 10, u8::MAX] {
            assert!(!is_alive_after(&on_a_stream(number)), "kind {number}");
        }
        assert!(!is_alive_after(&Entry::reply(1, b"to nothing")));
    }
}
