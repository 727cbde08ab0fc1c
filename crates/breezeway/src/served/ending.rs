//! The end of a session by its server.

use breezeway_os::Deadline;
use breezeway_proto::{Head, Time};

use super::{Place, ServerSession};
use crate::link::{Body, WaitFailure};
use crate::server::Unserved;

/// What a call is told that was not begun before its server's time to drain was over.
pub(crate) const NOT_BEGUN: &str = "the server ended before it began the call";

impl ServerSession {
    /// Lets a client that takes the entry open nothing more here (`docs/abi.md`, section 1.2).
    /// Where there is no room for it now, the next call of this tries again.
    pub(crate) fn say_go_away(&mut self) {
        match &mut self.place {
            Place::Alone(_) if self.terms.ending.may_go_away() => {
                self.terms.ending.go_away();
                self.transmit();
            }
            Place::Alone(_) => {}
            place => place.driver().say_go_away(),
        }
    }

    /// Says that the session is over, behind all replies, and serves no more. Of a shared session
    /// what the socket does not take at once is [flushed](Self::flush) until then.
    pub(crate) fn say_shutdown(&mut self, until: Deadline) {
        match &mut self.place {
            Place::Alone(_) => self.say_shutdown_alone(),
            place => place.driver_mut().say_shutdown(until),
        }
    }

    /// Ends a session in order, unless an error has ended it: its client sees that it broke off.
    fn say_shutdown_alone(&mut self) {
        if self.terms.ending.close((), Time::NEVER) {
            self.transmit();
        }
    }

    /// Sends the entry about the end that is due, if there is room for it.
    fn transmit(&mut self) {
        let Place::Alone(link) = &mut self.place else { return };
        if let Some(kind) = self.terms.ending.next_transmit()
            && link.send(Head::of_session(kind, 0), Body::Bytes(&[])).is_ok()
        {
            self.terms.ending.transmitted();
        }
        // Of a dead peer the next turn learns.
        let _ = link.flush_now();
    }

    /// Writes what is left, until the deadline; true if that was too early.
    pub(crate) fn flush(&mut self, deadline: Deadline) -> bool {
        match &mut self.place {
            Place::Alone(link) => {
                matches!(link.flush(deadline), Err(WaitFailure::DeadlinePassed))
            }
            place => place.driver_mut().flush(deadline),
        }
    }

    /// Refuses the calls and streams that were not begun, as there is no more time, and counts the
    /// rest. A session that one thread has served is shared for that.
    pub(crate) fn refuse_the_rest(&mut self) -> Unserved {
        if !self.place.is_shared() {
            self.place.share(&self.terms);
        }
        self.place.driver_mut().refuse_the_rest()
    }
}

impl Drop for ServerSession {
    fn drop(&mut self) {
        self.say_shutdown_alone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CallError;
    use crate::options::SessionOptions;
    use crate::session::Session;

    #[test]
    fn what_was_not_begun_is_told_so_and_what_nobody_is_told_of_is_counted() {
        let (mut client, mut server) = Session::pair(&SessionOptions::new()).unwrap();
        let calls = [client.send(1, b"a").unwrap(), client.send(2, &[7; 5000]).unwrap()];
        client.post(3, b"lost").unwrap();
        server.say_go_away();
        server.say_go_away();
        let rest = server.refuse_the_rest();
        assert_eq!(rest, Unserved { calls_refused: 2, calls_cut: 0, messages_lost: 1 });
        drop(server);
        for call in calls {
            let error = client.receive().map(drop).unwrap_err();
            assert!(!error.may_have_run(), "{error}");
            assert!(matches!(error, CallError::Failed { call: refused, .. } if refused == call));
        }
        assert!(client.is_going_away());
    }
}
