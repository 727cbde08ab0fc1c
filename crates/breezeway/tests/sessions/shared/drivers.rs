//! Sessions driven turn by turn, as an event loop does it.

use std::future::Future;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::{
    Driver, Incoming, Next, OwnedCall, PendingCall, ServerSession, Session, SessionOptions,
    WaitPolicy,
};
use breezeway_adversary::native::{Peer, Terms};
use breezeway_adversary::socket;

use rustix::io::ioctl_fionread;

use super::PATIENCE;

/// Longer than any policy but `Busy` spins.
const RARELY: Duration = Duration::from_millis(1);
/// More rare messages than it takes to be sure that they are.
const EVIDENCE: usize = 10;

pub(super) struct Driven {
    pub(super) client: (Session, Driver),
    pub(super) server: (ServerSession, Driver),
}

impl Driven {
    pub(super) fn new(policy: WaitPolicy) -> Self {
        Self::with(&SessionOptions::new().wait(policy))
    }

    pub(super) fn with(options: &SessionOptions) -> Self {
        let (one, other) = UnixStream::pair().unwrap();
        let options = &options.clone().handshake_timeout(PATIENCE);
        let server = thread::spawn({
            let options = options.clone();
            move || ServerSession::from_socket_driven(other.into(), &options).unwrap()
        });
        let client = Session::from_socket_driven(one.into(), options).unwrap();
        Self { client, server: server.join().unwrap() }
    }

    fn post(&self) {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(self.client.0.poll_post(&mut cx, 0, None, b"x"), Poll::Ready(Ok(()))));
    }

    /// Returns the result of the turn after the one in which the server's driver takes a message,
    /// which is accepted between the two.
    fn take(&mut self) -> Next {
        drop(self.accept());
        self.server.1.advance(Waker::noop())
    }

    fn accept(&mut self) -> OwnedCall {
        let (shared, driver) = &mut self.server;
        driver.ready(false);
        assert_eq!(driver.advance(Waker::noop()), Next::Turn, "accepting precedes the sleep");
        match shared.try_accept() {
            Some(Incoming::Call(call)) => call,
            _ => panic!("not taken in one turn"),
        }
    }

    /// Takes turns until the server's driver sleeps.
    fn sleep(&mut self) {
        let start = Instant::now();
        while self.server.1.advance(Waker::noop()) == Next::Turn {
            assert!(start.elapsed() < PATIENCE, "it never sleeps");
        }
    }

    fn rarely(&mut self) -> Next {
        pause();
        self.post();
        self.take()
    }

    /// Returns the result of the turn in which the client's driver takes a rare reply.
    fn reply_rarely(&mut self) -> Next {
        pause();
        let mut cx = Context::from_waker(Waker::noop());
        let call = self.client.0.poll_start_call(&mut cx, 0, None, b"x", None);
        let Poll::Ready(Ok(mut call)) = call else { panic!("there is room for it") };
        self.accept().echo().unwrap();
        let driver = &mut self.client.1;
        driver.ready(false);
        let next = driver.advance(Waker::noop());
        assert!(Pin::new(&mut call).poll(&mut cx).is_ready(), "taken in one turn");
        next
    }
}

fn pause() {
    let start = Instant::now();
    while start.elapsed() < RARELY {
        thread::yield_now();
    }
}

#[test]
fn rare_reply_is_taken_in_one_turn_that_ends_in_sleep() {
    let mut driven = Driven::new(WaitPolicy::Adaptive);
    let sleep = Next::Sleep { writable: false, at_most: None };
    for _ in 0..EVIDENCE {
        driven.reply_rarely();
        while driven.client.1.advance(Waker::noop()) == Next::Turn {}
    }
    for _ in 0..EVIDENCE {
        assert_eq!(driven.reply_rarely(), sleep);
    }
}

#[test]
fn rare_request_is_accepted_before_turn_that_ends_in_sleep() {
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park] {
        let mut driven = Driven::new(policy);
        driven.sleep();
        for _ in 0..EVIDENCE {
            driven.rarely();
            driven.sleep();
        }
        for _ in 0..EVIDENCE {
            assert_eq!(
                driven.rarely(),
                Next::Sleep { writable: false, at_most: None },
                "{policy:?}"
            );
        }
    }
}

#[test]
fn a_driver_spins_again_once_messages_follow_each_other() {
    let mut driven = Driven::new(WaitPolicy::Adaptive);
    driven.sleep();
    for _ in 0..2 * EVIDENCE {
        driven.rarely();
        driven.sleep();
    }
    // Two messages in 100 microseconds, which a busy machine may not manage at once.
    let start = Instant::now();
    loop {
        driven.post();
        if driven.take() == Next::Turn {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "it sleeps after each");
    }
}

#[test]
fn driver_leaves_turns_to_a_peer_in_its_process() {
    // After so many polls tokio looks at its sockets, one of which wakes the peer.
    const POLLS: usize = 61;
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park] {
        let mut driven = Driven::new(policy);
        driven.post();
        assert_eq!(driven.take(), Next::Turn);
        for turn in 0..POLLS {
            let next = driven.server.1.advance(Waker::noop());
            assert_eq!(next, Next::Turn, "{policy:?}, turn {turn}");
        }
        driven.sleep();
    }
}

#[test]
fn a_busy_driver_never_sleeps_however_rare_messages_are() {
    let mut driven = Driven::new(WaitPolicy::Busy);
    for _ in 0..2 * EVIDENCE {
        assert_eq!(driven.rarely(), Next::Turn);
        assert_eq!(driven.server.1.advance(Waker::noop()), Next::Turn);
    }
}

#[test]
fn driver_counts_refusals_after_its_channel_is_gone() {
    let mut driven = Driven::new(WaitPolicy::Park);
    let (shared, mut driver) = driven.server;
    shared.drain(Duration::ZERO);
    assert!(matches!(shared.accept(), Ok(None)), "the time is over");
    // The client has not learned of it.
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..3 {
        let call = driven.client.0.poll_start_call(&mut cx, 0, None, b"", None);
        assert!(matches!(call, Poll::Ready(Ok(_))));
    }
    assert!(matches!(driven.client.0.poll_post(&mut cx, 0, None, b"x"), Poll::Ready(Ok(()))));
    drop(shared);
    driver.turn();
    let unserved = driver.unserved();
    assert_eq!((unserved.calls_refused, unserved.messages_lost), (3, 1));
    driven.client.1.turn();
}

/// A session of which the client has kept so many bytes of the first reply that the second, of as
/// many, finds no room; and both calls.
fn with_a_reply_that_waits(len: usize) -> (Driven, [PendingCall; 2]) {
    let mut driven = Driven::with(&SessionOptions::new().cap(3 * len as u64 / 2));
    let mut cx = Context::from_waker(Waker::noop());
    let calls =
        [(); 2].map(|()| match driven.client.0.poll_start_call(&mut cx, 0, None, b"", None) {
            Poll::Ready(Ok(call)) => call,
            _ => panic!("the call does not start"),
        });
    driven.server.1.turn();
    for _ in 0..2 {
        let Some(Incoming::Call(call)) = driven.server.0.try_accept() else { panic!("no call") };
        let _ = call.reply(vec![1; len]);
    }
    driven.client.1.turn();
    (driven, calls)
}

#[test]
fn closing_leaves_pending_replies_to_the_driver() {
    let (driven, [first, mut second]) = with_a_reply_that_waits(64 << 10);
    let (server, mut server_driver) = driven.server;
    let (client, mut client_driver) = driven.client;
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(kept)) = pin!(first).poll(&mut cx) else { panic!("no first reply") };
    drop(server);
    assert_eq!(server_driver.advance(Waker::noop()), Next::Pause, "closing did not wait for it");
    drop(kept);
    let start = Instant::now();
    let mut reply = Poll::Pending;
    while reply.is_pending() {
        assert!(start.elapsed() < PATIENCE, "the second reply does not come");
        client_driver.turn();
        let _ = server_driver.advance(Waker::noop());
        reply = Pin::new(&mut second).poll(&mut cx);
    }
    let Poll::Ready(Ok(reply)) = reply else { panic!("the second reply is lost") };
    assert_eq!(reply.to_vec(), vec![1; 64 << 10]);
    assert_eq!(server_driver.advance(Waker::noop()), Next::End);
    assert!(server_driver.error().is_none());
    client_driver.turn();
    assert!(client_driver.error().is_none() && client.is_ended());
}

#[test]
fn dropped_driver_waits_for_pending_replies() {
    let (driven, [first, mut second]) = with_a_reply_that_waits(64 << 10);
    let (server, server_driver) = driven.server;
    let (_client, mut client_driver) = driven.client;
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(kept)) = pin!(first).poll(&mut cx) else { panic!("no first reply") };
    drop(server);
    let ends = thread::spawn(move || drop(server_driver));
    drop(kept);
    client_driver.turn();
    ends.join().unwrap();
    client_driver.turn();
    let Poll::Ready(Ok(reply)) = Pin::new(&mut second).poll(&mut cx) else { panic!("it is lost") };
    assert_eq!(reply.len(), 64 << 10);
}

/// Notes, when the last waker that a session has is dropped with it, whether a descriptor is still
/// what it was.
struct Noting {
    descriptor: String,
    was: PathBuf,
    is_same: mpsc::Sender<bool>,
}

impl Wake for Noting {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Noting {
    fn drop(&mut self) {
        let now = std::fs::read_link(&self.descriptor).ok();
        let _ = self.is_same.send(now.as_ref() == Some(&self.was));
    }
}

/// The close of the last copy closes unread descriptors, for as long as that takes.
#[test]
fn a_drivers_copy_of_the_socket_is_closed_before_the_session_is() {
    let Driven { server: (shared, mut driver), client: _client } = Driven::new(WaitPolicy::Park);
    let descriptor = format!("/proc/self/fd/{}", driver.as_fd().as_raw_fd());
    let was = std::fs::read_link(&descriptor).unwrap();
    let (is_same, outcome) = mpsc::channel();
    let waker = Waker::from(Arc::new(Noting { descriptor, was, is_same }));
    while driver.next(&waker) == Next::Turn {}
    drop((waker, shared));
    assert!(outcome.try_recv().is_err(), "the session has one");
    drop(driver);
    assert_eq!(outcome.recv_timeout(PATIENCE), Ok(false));
}

/// A session whose driver sleeps, and its server.
fn sleeping_with_peer() -> (Session, Driver, Peer) {
    let (hostile, honest) = UnixStream::pair().unwrap();
    let serving = thread::spawn(move || Peer::server(hostile.into(), Terms::default()));
    let options = SessionOptions::new().wait(WaitPolicy::Park);
    let (session, mut driver) = Session::from_socket_driven(honest.into(), &options).unwrap();
    while driver.advance(Waker::noop()) == Next::Turn {}
    (session, driver, serving.join().unwrap())
}

/// Takes turns until the driver sleeps, or the session is over.
fn advance(driver: &mut Driver) -> Next {
    let turns = std::iter::repeat_with(|| driver.advance(Waker::noop()));
    turns.take(1000).find(|next| *next != Next::Turn).expect("it never sleeps")
}

#[test]
fn event_of_unknown_kind_leaves_nothing_unread() {
    let (_session, mut driver, peer) = sleeping_with_peer();
    for _ in 0..20 {
        peer.ring_doorbell();
        driver.ready(false);
        assert!(matches!(advance(&mut driver), Next::Sleep { .. }));
        assert_eq!(ioctl_fionread(&driver).unwrap(), 0, "a level-triggered loop spins");
    }
}

#[test]
fn event_of_unknown_kind_may_hide_the_end() {
    let (_session, mut driver, peer) = sleeping_with_peer();
    peer.ring_doorbell();
    drop(peer);
    driver.ready(false);
    assert_eq!(advance(&mut driver), Next::End);
}

#[test]
fn event_of_unknown_kind_may_hide_an_urgent_byte() {
    let (_session, mut driver, peer) = sleeping_with_peer();
    peer.ring_doorbell();
    socket::send_urgent(&peer.socket, &[1], &[peer.socket.as_fd()]).unwrap();
    driver.ready(false);
    assert_eq!(advance(&mut driver), Next::End);
}
