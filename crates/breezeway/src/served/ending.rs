//! How a session ends that its server does not go on with.

use breezeway_os::Deadline;
use breezeway_proto::validate::{Request, Side, Subject, check_plain_request, validate_plain};
use breezeway_proto::{ErrorCode, Head, Kind};

use super::{Place, ServerSession};
use crate::error::SessionError;
use crate::link::{Body, WaitFailure};
use crate::server::Unserved;

/// What a call is told that was not begun before its server's time to drain was over.
pub(crate) const NOT_BEGUN: &str = "the server ended before it began the call";

impl ServerSession {
    /// Lets a client that takes the entry open nothing more here (`docs/abi.md`, section 1.2).
    /// Where there is no room for it now, the next call of this tries again.
    pub(crate) fn say_go_away(&mut self) {
        match &mut self.place {
            Place::Alone(link) if self.terms.may_say_go_away => {
                let said = link.send(Head::of_session(Kind::GoAway, 0), Body::Bytes(&[]));
                self.terms.may_say_go_away = said.is_err();
                // Of a dead peer the next turn learns.
                let _ = link.flush_now();
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

    fn say_shutdown_alone(&mut self) {
        let Place::Alone(link) = &mut self.place else { return };
        if self.broken || std::mem::replace(&mut self.has_said_shutdown, true) {
            // Without an orderly end: the client is to see that.
            return;
        }
        if !self.client_has_closed {
            // A full ring or a dead peer: the end of file says the same, less politely.
            let _ = link.send(Head::of_session(Kind::Shutdown, 0), Body::Bytes(&[]));
        }
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

    /// Tells the calls and streams that were not begun that they will not be, as there is no more
    /// time, and counts what else is left.
    pub(crate) fn refuse_the_rest(&mut self) -> Unserved {
        if self.place.is_shared() {
            return self.place.driver_mut().refuse_the_rest();
        }
        let mut rest = Unserved::default();
        // An error ends the session, which ends anyway.
        let _ = self.try_refuse(&mut rest);
        rest
    }

    fn try_refuse(&mut self, rest: &mut Unserved) -> Result<(), SessionError> {
        // A client that asks for more meanwhile, without end, keeps nobody.
        for _ in 0..self.place.link().max_pending(self.terms.max_in_flight) {
            let link = self.link();
            if !link.take()? {
                // It says no behind an entry about a segment as well.
                if link.ready()? {
                    continue;
                }
                break;
            }
            let head = link.head();
            match validate_plain(head, link.body().len(), Side::Server)? {
                Subject::Message => {
                    check_plain_request(head)?;
                    let request = Request::of(head);
                    if request.one_way {
                        rest.messages_lost += 1;
                    } else {
                        rest.calls_refused += 1;
                        let mut replied = false;
                        let serving = self.serving(request, &mut replied);
                        // Where there is no room the end says less: that it may have run.
                        let _ = serving.fail(ErrorCode::Refused, NOT_BEGUN);
                    }
                }
                Subject::Shutdown => {
                    self.client_has_closed = true;
                    break;
                }
                _ => {}
            }
            self.link().finish()?;
        }
        Ok(self.link().flush_now()?)
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
