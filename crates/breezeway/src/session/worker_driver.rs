//! Driver of a shared session for a server's worker, which drives many sessions and waits for none
//! of them.
//!
//! Other threads use the session at the same time: those that serve its streams and its deferred
//! calls. Each sends its own entries, and needs the worker only to receive, or to wait for room.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use breezeway_os::{Deadline, TrustedPeer, clock};
use rustix::net::{Shutdown, shutdown};

use super::shared::Shared;
use super::state::{State, Turn};
use super::{Incoming, ServerSession};
use crate::carrier::{Notice, Status};
use crate::error::SessionError;
use crate::unserved::Unserved;

/// A worker's driver of a shared session.
pub(crate) struct WorkerDriver {
    session: ServerSession,
    /// Event of the socket that was not passed to the session yet.
    noticed: Option<Notice>,
    /// Status of the session's link as of the last turn.
    status: Status,
    /// Time of the end of a session that drains.
    end: Option<Deadline>,
    /// Number of calls and streams in progress when this closed the session.
    calls_cut: usize,
}

impl WorkerDriver {
    /// Creates the driver of a session. If the session has no worker, the waiting threads take the
    /// turns, and this only holds the session.
    pub(crate) fn new(session: ServerSession) -> Self {
        let status = session.handle.shared.with(|state| state.link.status());
        Self { session, noticed: None, status, end: None, calls_cut: 0 }
    }

    pub(crate) fn session(&self) -> &ServerSession {
        &self.session
    }

    /// Returns received messages as slices, without a copy, from now on.
    pub(crate) fn trust(&self, proof: TrustedPeer) {
        self.shared().with(|state| state.link.trust(proof));
    }

    /// Sets the time for which replies wait for memory.
    pub(crate) fn set_reply_timeout(&self, timeout: Duration) {
        let patience = clock::ticks_in(timeout);
        self.shared().with(|state| state.connection.backlog.set_patience(patience));
    }

    /// Passes the session's socket to `act`, once no other thread uses the session.
    pub(crate) fn with_socket<R>(&self, act: impl FnOnce(BorrowedFd<'_>) -> R) -> R {
        self.shared().with_socket(act)
    }

    /// Like [`with_socket`](Self::with_socket), unless another thread uses the session now.
    pub(crate) fn try_with_socket<R>(&self, act: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        self.shared().try_with(|state| act(state.link.socket()))
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.session.handle.shared
    }

    /// Sets the waker to be woken when another thread needs the worker.
    pub(crate) fn set_waker(&self, waker: &Waker) {
        self.shared().with(|state| state.set_driver(waker));
    }

    /// Takes note of an event of the socket.
    pub(crate) fn notice(&mut self, notice: Notice) {
        self.noticed = self.noticed.max(Some(notice));
    }

    /// Takes turns, at most `polls`, until one finds something. Returns its result, or `None` if
    /// another thread had the session's lock, and true if anything can be accepted. Never waits,
    /// except where the kernel has no memory for a system call: 32 ms at most in a second. An error
    /// names the shortage of this process. Closes a session that has drained.
    pub(crate) fn turn(&mut self, polls: u32) -> Result<(Option<Turn>, bool), SessionError> {
        let (noticed, end, mut calls_cut) = (self.noticed, self.end, self.calls_cut);
        let shared = self.shared();
        let seen = shared.try_with(|state| {
            if let Some(notice) = noticed {
                state.notice(notice);
            }
            let mut turn = shared.take_turns(state, polls);
            let end = end.filter(|_| state.connection.ending.has_drained() && !state.is_ended());
            if let Some(end) = end {
                calls_cut = state.unserved().calls_cut;
                turn = state.close_by(end);
            }
            // Other threads send by themselves: this one may be at another session.
            state.driver.is_awake = false;
            if turn == Turn::Idle {
                state.link.note_cpu();
            }
            let has_arrivals = state.has_arrival();
            let shortage = if has_arrivals { None } else { state.shortage.take() };
            (turn, has_arrivals, shortage, state.link.status())
        });
        let Some((turn, has_arrivals, shortage, status)) = seen else {
            return Ok((None, false));
        };
        (self.noticed, self.status) = (None, status);
        self.calls_cut = calls_cut;
        match (turn, shortage) {
            (Turn::Short, Some(error)) => Err(SessionError::Shortage(error)),
            _ => Ok((Some(turn), has_arrivals)),
        }
    }

    /// Returns the client's next call or stream, if it is there and no other thread has the
    /// session's lock: otherwise the next turn reports it.
    pub(crate) fn accept(&self) -> Option<Incoming> {
        let arrival = self.shared().try_with(|state| {
            let arrival = state.arrival();
            state.settle();
            arrival
        });
        arrival.flatten().map(|arrival| self.session.incoming(arrival))
    }

    /// Announces that the worker takes no turns until it is woken, or until the returned time.
    /// Returns `None` if there is something to do first, such as to watch the socket for room.
    pub(crate) fn prepare_sleep(&mut self) -> Option<Deadline> {
        if self.noticed.is_some() {
            return None;
        }
        let (had_unwritten, drains) = (self.has_unwritten(), self.end.is_some());
        let until = self.shared().try_with(|state| {
            // The socket is watched for room as of the last turn. A thread may have sent since, and
            // have woken no worker if the last sleep was for room.
            let may_sleep = state.turn() == Turn::Idle
                && !state.has_arrival()
                && !(drains && state.connection.ending.has_drained())
                && (state.link.status().unwritten > 0) == had_unwritten;
            let until = may_sleep.then(|| state.prepare_sleep());
            state.driver.is_awake = false;
            until.flatten()
        });
        until.flatten()
    }

    pub(crate) fn has_unwritten(&self) -> bool {
        self.status.unwritten > 0
    }

    /// Serves the requests that the client has committed, until `end` at most, and then closes the
    /// session.
    pub(crate) fn drain(&mut self, end: Deadline) {
        self.end = Some(end);
        self.shared().with(|state| state.drain(end));
    }

    /// Returns the requests that a session which is over has left undone.
    pub(crate) fn unserved(&self) -> Unserved {
        // A client that has ended the session waits for no call.
        Unserved { calls_cut: self.calls_cut, ..self.session.unserved() }
    }

    /// Returns true if the client is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.status.closed
    }

    /// Returns true if the client last waited on the CPU that this thread runs on.
    pub(crate) fn shares_cpu(&self) -> bool {
        self.shared().try_with(|state| state.link.shares_cpu()).unwrap_or(false)
    }

    /// Asks the client to make no more calls and open no more streams, if there is room for the
    /// entry.
    pub(crate) fn say_go_away(&self) {
        self.shared().with(State::go_away);
    }

    /// Returns a function that runs its argument with the session's lock.
    #[cfg(test)]
    pub(crate) fn locked(&self) -> impl FnOnce(&mut dyn FnMut() -> bool) -> bool + Send + 'static {
        let shared = Arc::clone(self.shared());
        move |act: &mut dyn FnMut() -> bool| shared.with(|_| act())
    }

    /// Returns the error that has ended the session; `None` while it lasts, or if it was closed in
    /// order.
    pub(crate) fn error(&self) -> Option<SessionError> {
        self.shared().with(|state| state.check()).err().and_then(SessionError::of_call)
    }
}

impl Drop for WorkerDriver {
    fn drop(&mut self) {
        let shared = self.shared();
        let drives = shared.with(|state| {
            if state.has_driver {
                state.close_by(Deadline::after(Duration::ZERO));
            }
            state.has_driver
        });
        if !drives {
            // The drop of the last handle closes it.
            return;
        }
        if Arc::strong_count(shared) > 1 {
            // A handler may keep its call for long: the client sees the end now.
            shared.with_socket(|socket| {
                let _ = shutdown(socket, Shutdown::Both);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::thread;
    use std::time::Instant;

    use breezeway_adversary::socket::PATIENCE;
    use breezeway_os::Peer;

    use super::*;
    use crate::carrier::Carrier;
    use crate::handshake;
    use crate::options::SessionOptions;
    use crate::session::ending::tests::start;
    use crate::session::{Driving, Session, Stream};

    /// A message so large that a socket takes some of them, and fewer than stop further ones.
    static MESSAGE: [u8; 32 * 1024] = [7; 32 * 1024];

    /// Returns the client of a session on a socket, and the driver of its worker.
    fn session() -> (Session, WorkerDriver) {
        session_after(|_| ())
    }

    /// Returns a session like [`session`], which the worker receives once the client has run
    /// `first`.
    fn session_after(first: impl FnOnce(&Session)) -> (Session, WorkerDriver) {
        let (client, server) = UnixStream::pair().unwrap();
        let options = SessionOptions::new().stream_window(1 << 20, 1 << 40);
        let server_peer = Peer::of(&server).unwrap();
        let accepting = thread::spawn({
            let options = options.clone();
            move || handshake::accept(OwnedFd::from(server), Carrier::Unix, &options).unwrap()
        });
        let peer = Peer::of(&client).unwrap();
        let (carrier, driving) = (Carrier::Unix, Driving::ByCallers);
        let client = OwnedFd::from(client);
        let session = Session::negotiate(client, peer, carrier, &options, driving).unwrap();
        first(&session);
        let agreed = accepting.join().unwrap();
        let server = ServerSession::new(agreed, server_peer, &options, Driving::Elsewhere);
        (session, WorkerDriver::new(server.reply_timeout(PATIENCE)))
    }

    /// Takes turns until one finds nothing.
    fn take_turns(driver: &mut WorkerDriver) {
        let finds_nothing = |_| driver.turn(1).unwrap().0 == Some(Turn::Idle);
        assert!((0..1000).any(finds_nothing), "each turn finds something");
    }

    /// Sends until the socket takes no more, which no turn notices. Returns the number of messages.
    fn fill(driver: &WorkerDriver, stream: &mut Stream) -> usize {
        let is_full = |_: &usize| {
            stream.sender().send_until(&MESSAGE, Instant::now() + PATIENCE).unwrap();
            driver.shared().with(|state| state.link.status().unwritten > 0)
        };
        (1..1000).find(is_full).expect("the socket takes everything")
    }

    /// Lets the client take `messages` messages, and the worker send the messages that find room
    /// then.
    fn empty(driver: &mut WorkerDriver, client: &mut Stream, messages: usize) {
        for _ in 0..messages {
            take_turns(driver);
            let received = client.receiver().receive_until(Instant::now() + PATIENCE);
            assert!(received.unwrap().unwrap().to_vec() == MESSAGE);
        }
        take_turns(driver);
    }

    #[test]
    fn messages_wait_for_the_trust_decision() {
        let (_channel, mut driver) = session_after(|session| session.post(7, b"x").unwrap());
        assert!(driver.accept().is_none());
        take_turns(&mut driver);
        assert!(matches!(driver.accept(), Some(Incoming::Call(call)) if call.method() == 7));
    }

    #[test]
    fn worker_does_not_sleep_over_unwritten_bytes() {
        let (session, mut driver) = session();
        let mut client = session.open(0).unwrap();
        take_turns(&mut driver);
        let Some(Incoming::Stream(0, mut stream)) = driver.accept() else { panic!("no stream") };
        let sent = fill(&driver, &mut stream);
        take_turns(&mut driver);
        assert!(driver.has_unwritten() && driver.prepare_sleep().is_some(), "it sleeps for room");
        empty(&mut driver, &mut client, sent);
        assert!(!driver.has_unwritten(), "everything is sent");
        // No worker is woken: the last sleep was for room.
        let sent = fill(&driver, &mut stream);
        assert!(
            driver.prepare_sleep().is_none(),
            "it sleeps, and does not watch the socket for room"
        );
        take_turns(&mut driver);
        assert!(
            driver.has_unwritten() && driver.prepare_sleep().is_some(),
            "it sleeps for room again"
        );
        empty(&mut driver, &mut client, sent);
        assert!(
            !driver.has_unwritten() && driver.prepare_sleep().is_some(),
            "it sleeps for the client"
        );
    }

    #[test]
    fn calls_that_end_behind_the_close_are_cut() {
        let (session, mut driver) = session();
        let call = start(&session, b"x");
        take_turns(&mut driver);
        let Some(Incoming::Call(held)) = driver.accept() else { panic!("no call") };
        driver.drain(Deadline::after(Duration::ZERO));
        driver.turn(1).unwrap();
        let _ = held.echo();
        assert_eq!(driver.unserved().calls_cut, 1);
        drop(call);
    }

    #[test]
    fn the_farewell_is_written_behind_replies_that_fill_the_socket() {
        const CALLS: usize = 8;
        let (session, mut driver) = session();
        let mut cx = Context::from_waker(Waker::noop());
        let mut calls = Vec::new();
        for _ in 0..CALLS {
            match session.poll_start_call(&mut cx, 0, None, b"x", None) {
                Poll::Ready(call) => calls.push(call.unwrap()),
                Poll::Pending => panic!("there is room for it"),
            }
        }
        take_turns(&mut driver);
        while let Some(Incoming::Call(call)) = driver.accept() {
            let _ = call.reply(vec![7; 400_000]);
        }
        // Nothing is read before the session drains.
        driver.drain(Deadline::after(PATIENCE));
        take_turns(&mut driver);
        assert!(driver.has_unwritten(), "the socket takes everything");
        thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let began = Instant::now();
                let mut cx = Context::from_waker(Waker::noop());
                for call in &mut calls {
                    let reply = loop {
                        // Takes a turn.
                        session.is_going_away();
                        if let Poll::Ready(reply) = Pin::new(&mut *call).poll(&mut cx) {
                            break reply;
                        }
                        assert!(began.elapsed() < PATIENCE, "no reply");
                    };
                    assert_eq!(reply.unwrap().to_vec().len(), 400_000);
                }
                while !session.is_ended() {
                    session.is_going_away();
                    assert!(began.elapsed() < PATIENCE, "it does not end");
                }
            });
            while driver.turn(1).unwrap().0 != Some(Turn::Ended) {
                thread::yield_now();
            }
            drop(driver);
            reading.join().unwrap();
        });
        let end =
            session.handle.shared.with(|state| state.connection.ending.reason().cloned()).unwrap();
        assert!(matches!(*end, crate::error::CallError::Closed), "{end}");
    }
}
