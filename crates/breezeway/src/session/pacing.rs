//! Limits how far messages without replies run ahead of the receiver on a shared session.

use std::task::{Context, Poll};

use breezeway_os::Deadline;
use breezeway_proto::throttle::{Admit, Hold, PATIENCE, THROTTLED_FROM};

use super::shared::{Shared, TimedOut};
use super::state::State;

impl Shared {
    /// Waits for a moment while more is in flight than a cache holds. Does not wait while a reply
    /// is pending: the entries behind it may then release memory.
    pub(super) fn hold_back(&self, len: usize, deadline: Deadline) {
        if len < THROTTLED_FROM {
            return;
        }
        let (mut hold, mut patience) = (Hold::default(), deadline);
        loop {
            match self.wait(patience, |state, cx| state.poll_throttle(cx, len, &mut hold)) {
                Ok(Admit::Now) => break,
                Ok(Admit::Anew | Admit::Later) => {}
                Err(TimedOut) => {
                    self.with(|state| state.throttle.expire(&mut hold));
                    if deadline.has_passed() {
                        break;
                    }
                }
            }
            patience = Deadline::after(PATIENCE).min(deadline);
        }
    }
}

impl State {
    /// Decides about a message of `len` bytes. Returns ready if it may be sent, or if the wait
    /// starts again.
    fn poll_throttle(&mut self, cx: &Context<'_>, len: usize, hold: &mut Hold) -> Poll<Admit> {
        if self.connection.ending.reason().is_some() || self.connection.calls.awaits_any() {
            return Poll::Ready(Admit::Now);
        }
        let (in_flight, _) = self.link.in_flight(|bytes| self.throttle.is_exceeded(bytes, len));
        match self.throttle.admit(in_flight, len, hold) {
            Admit::Later => {
                self.awaiting.room.remember(cx, &mut self.due);
                Poll::Pending
            }
            admitted => Poll::Ready(admitted),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};
    use std::time::Instant;

    use breezeway_proto::throttle::{Admit, Hold, PATIENCE};

    use crate::unstable::Tuning as _;
    use crate::{Incoming, ServerSession, Session, SessionOptions};

    const BOUND: usize = 64 << 10;

    fn pair() -> (Session, ServerSession) {
        Session::pair(&SessionOptions::new().under_way(Some(BOUND as u64))).unwrap()
    }

    /// Returns true if more than the usual may be in flight.
    fn is_widened(session: &Session) -> bool {
        session.handle.shared.with(|state| !state.throttle.is_exceeded(BOUND, 1))
    }

    #[test]
    fn message_too_far_ahead_is_delayed_and_sent() {
        let (session, server) = pair();
        session.post(0, &[1; BOUND]).unwrap();
        for reserved in [false, true] {
            let start = Instant::now();
            if reserved {
                session.request(0).post_space(session.reserve(BOUND).unwrap()).unwrap();
            } else {
                session.post(0, &[1; BOUND]).unwrap();
            }
            assert!(start.elapsed() >= PATIENCE);
            session.handle.shared.with(|state| state.throttle.admit(0, 0, &mut Hold::default()));
        }
        drop(session);
        let mut served = 0;
        while let Some(Incoming::Call(call)) = server.accept().unwrap() {
            assert_eq!(call.into_message().len(), BOUND);
            served += 1;
        }
        assert_eq!(served, 3);
    }

    #[test]
    fn keeping_receiver_is_not_waited_for_again() {
        let (session, server) = pair();
        let mut kept = Vec::new();
        for _ in 0..8 {
            session.post(0, &[1; BOUND]).unwrap();
            match server.accept().unwrap() {
                Some(Incoming::Call(call)) => kept.push(call.into_message()),
                _ => panic!("no message"),
            }
        }
        assert!(is_widened(&session));
        drop(kept);
        session.post(0, &[1; BOUND]).unwrap();
        assert!(!is_widened(&session), "everything has come back");
    }

    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn waiter_is_woken_by_returned_bytes() {
        let (session, server) = pair();
        let shared = &session.handle.shared;
        session.post(0, &[1; BOUND]).unwrap();
        let wakes = Arc::new(Wakes(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&wakes));
        let cx = Context::from_waker(&waker);
        let mut hold = Hold::default();
        let poll = |hold: &mut Hold| shared.with(|state| state.poll_throttle(&cx, BOUND, hold));
        assert_eq!(poll(&mut hold), Poll::Ready(Admit::Anew), "so much is under way");
        assert_eq!(poll(&mut hold), Poll::Pending);
        shared.turn(|_, _| ());
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0, "nothing has come back");
        drop(server.accept().unwrap());
        shared.turn(|_, _| ());
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert_eq!(poll(&mut hold), Poll::Ready(Admit::Now));
    }

    #[test]
    fn bytes_taken_by_others_do_not_extend_the_wait() {
        let (session, server) = pair();
        let shared = &session.handle.shared;
        let cx = Context::from_waker(Waker::noop());
        let mut hold = Hold::default();
        let mut outcomes = Vec::new();
        session.post(0, &[1; BOUND]).unwrap();
        for _ in 0..3 {
            outcomes.push(shared.with(|state| state.poll_throttle(&cx, 2 * BOUND, &mut hold)));
            drop(server.accept().unwrap());
            // This message of another sender does not ask the throttle.
            session.try_post(0, &[1; BOUND]).unwrap();
        }
        assert_eq!(outcomes, [Poll::Ready(Admit::Anew), Poll::Pending, Poll::Pending]);
    }

    #[test]
    fn a_call_that_waits_for_its_reply_holds_back_no_other() {
        let (session, server) = pair();
        let caller = session.clone();
        let calling = std::thread::spawn(move || caller.call(0, &[1; BOUND]).unwrap().len());
        let Some(Incoming::Call(first)) = server.accept().unwrap() else { panic!("no call") };
        session.post(0, &[1; BOUND]).unwrap();
        assert!(!is_widened(&session), "nothing was waited for");
        let _ = first.echo();
        assert_eq!(calling.join().unwrap(), BOUND);
    }

    #[test]
    fn a_message_that_is_held_back_ends_with_its_session() {
        let (session, server) = pair();
        session.post(0, &[1; BOUND]).unwrap();
        drop(server);
        // A caller that waits, or polls, receives the end.
        while session.post(0, &[1; BOUND]).is_ok() {}
        assert!(session.reserve(BOUND).is_err());
    }
}
