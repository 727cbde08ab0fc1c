//! Handlers on threads of their own, so that a slow one delays no other session of its worker.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use breezeway_proto::ErrorCode;

use crate::call::{Call, Elsewhere, Handled, Handler};
use crate::call_limit::CallLimit;
use crate::error::describe;
use crate::presence::SessionId;
use crate::reasons::panic_message;
use crate::session::OwnedCall;

/// Queue of calls that wait for a thread. Sessions take turns, so a session with many calls does
/// not delay the others by all of them.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    /// Sessions with calls, in the order of their turns.
    turns: VecDeque<SessionId>,
    calls: HashMap<SessionId, VecDeque<OwnedCall>>,
    /// Threads that wait for a call.
    idle: usize,
    closed: bool,
}

impl State {
    fn push(&mut self, call: OwnedCall) {
        let session = call.session();
        let calls = self.calls.entry(session).or_default();
        if calls.is_empty() {
            self.turns.push_back(session);
        }
        calls.push_back(call);
    }

    /// Returns the next call, of the session next in turn.
    fn pop(&mut self) -> Option<OwnedCall> {
        let session = self.turns.pop_front()?;
        let calls = self.calls.get_mut(&session)?;
        let call = calls.pop_front();
        if calls.is_empty() {
            self.calls.remove(&session);
        } else {
            self.turns.push_back(session);
        }
        call
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No handler runs with the lock held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, call: OwnedCall) {
        let mut state = self.lock();
        state.push(call);
        let wakes = state.idle > 0;
        drop(state);
        if wakes {
            self.arrived.notify_one();
        }
    }

    fn next(&self) -> Option<OwnedCall> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(call) = state.pop() {
                return Some(call);
            }
            state.idle += 1;
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Makes the threads end after the calls that they are serving. Waiting calls are dropped, and
    /// so fail if their session still exists.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let dropped = std::mem::take(&mut state.calls);
        state.turns.clear();
        drop(state);
        drop(dropped);
        self.arrived.notify_all();
    }

    /// Serves calls until the queue is closed.
    pub(crate) fn serve(&self, handler: &impl Handler) {
        while let Some(call) = self.next() {
            serve(call, handler, None);
        }
    }
}

/// Calls the handler, and fails the call if the handler has not replied. `limit` counts the call if
/// the handler defers it.
pub(crate) fn serve(call: OwnedCall, handler: &impl Handler, limit: Option<&CallLimit>) {
    let mut place = Some(call);
    let mut elsewhere = Elsewhere { place: &mut place, limit };
    let call = Call::offloaded(&mut elsewhere);
    // The handler sees only the call, and after a panic only its place is used.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        handler.handle(call).map_err(|error| (ErrorCode::Failed, describe(&*error)))
    }));
    let (code, reason) = match outcome {
        Ok(Ok(_)) => (ErrorCode::Failed, "the handler did not reply".to_owned()),
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let message = panic_message(&*panic);
            (ErrorCode::Panicked, format!("the handler panicked: {message}"))
        }
    };
    let Some(call) = place else {
        if code == ErrorCode::Panicked {
            tracing::warn!(%reason, "handler failed");
        }
        return;
    };
    if code == ErrorCode::Panicked || call.is_one_way() {
        tracing::warn!(method = call.method(), %reason, "handler failed");
    }
    // If the session has ended, no caller waits any more.
    let _ = call.fail(code, reason);
}

/// The handler of workers that pass their calls to other threads.
pub(crate) struct Offloading(pub(crate) Arc<Queue>);

impl Handler for Offloading {
    fn handle(&self, call: Call<'_>) -> Handled {
        let (call, later) = call.defer()?;
        self.0.push(call);
        Ok(later)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use breezeway_os::Deadline;
    use breezeway_proto::validate::Request;

    use super::*;
    use crate::error::CallError;
    use crate::message::Message;
    use crate::options::SessionOptions;
    use crate::session::{Incoming, ServerSession, Session};

    fn pair() -> (Session, ServerSession) {
        Session::pair(&SessionOptions::new()).unwrap()
    }

    fn call(session: &ServerSession, method: u32) -> OwnedCall {
        let request = Request { stream: 1, method, one_way: false, metadata: false, time: 0 };
        session.adopt(request, Message::default(), Deadline::NEVER)
    }

    #[test]
    fn sessions_take_turns_and_each_has_its_calls_in_order() {
        let sessions = [pair(), pair(), pair()];
        let [(_, flood), (_, other), (_, third)] = &sessions;
        let mut state = State::default();
        for method in 0..4 {
            state.push(call(flood, method));
        }
        for method in 10..12 {
            state.push(call(other, method));
        }
        state.push(call(third, 20));
        let order: Vec<_> = std::iter::from_fn(|| state.pop()).map(|call| call.method()).collect();
        assert_eq!(order, [0, 10, 20, 1, 11, 2, 3]);
        assert!(state.calls.is_empty() && state.turns.is_empty());
    }

    /// Returns the failure of a call to method 5 that `act` gets.
    fn outcome(act: impl FnOnce(OwnedCall)) -> (ErrorCode, String) {
        let (client, server) = pair();
        let calling = thread::spawn(move || client.call(5, b"x").map(|reply| reply.to_vec()));
        let Some(Incoming::Call(call)) = server.accept().unwrap() else { panic!("no call") };
        act(call);
        match calling.join().unwrap() {
            Err(CallError::Failed { code, reason, .. }) => (code, reason),
            other => panic!("{other:?}"),
        }
    }

    fn outcome_of(handler: impl Handler) -> (ErrorCode, String) {
        outcome(|call| serve(call, &handler, None))
    }

    #[test]
    fn a_handler_that_fails_panics_or_keeps_silent_fails_its_call() {
        let failed = outcome_of(|_: Call<'_>| Err("no such user".into()));
        assert_eq!(failed, (ErrorCode::Failed, "no such user".to_owned()));
        let panicked = outcome_of(|_: Call<'_>| panic!("on purpose"));
        assert_eq!(panicked, (ErrorCode::Panicked, "the handler panicked: on purpose".to_owned()));
        let unknown = outcome_of(|call: Call<'_>| call.no_such_method());
        assert_eq!(unknown, (ErrorCode::NoSuchMethod, "there is no method 5".to_owned()));
        // It has replied to another call, whose proof it returns.
        let silent = outcome_of(|call: Call<'_>| {
            let (_client, elsewhere) = pair();
            let mut place = Some(self::call(&elsewhere, 6));
            assert!(!call.is_one_way());
            Call::offloaded(&mut Elsewhere { place: &mut place, limit: None }).done()
        });
        assert_eq!(silent, (ErrorCode::Failed, "the handler did not reply".to_owned()));
    }

    #[test]
    fn calls_that_wait_when_the_queue_is_closed_fail() {
        let (code, _) = outcome(|call| {
            let queue = Queue::default();
            queue.push(call);
            queue.close();
            assert!(queue.next().is_none());
        });
        assert_eq!(code, ErrorCode::Failed);
    }
}
