//! Sessions whose callers take their turns.

use std::os::unix::net::UnixStream;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use breezeway_adversary::native::{Peer, Terms};
use breezeway_adversary::socket;
use breezeway_os::{Deadline, WaitPolicy};
use rustix::net::{Shutdown, shutdown};

use super::TimedOut;
use crate::carrier::Notice;
use crate::options::SessionOptions;
use crate::session::Session;

/// Longer than any policy but `Busy` spins.
const SLEEP: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(10);

fn session(options: &SessionOptions) -> (Session, Peer) {
    let (hostile, honest) = UnixStream::pair().unwrap();
    let serving = thread::spawn(move || Peer::server(hostile.into(), Terms::default()));
    let session = Session::from_socket(honest.into(), options).unwrap();
    (session, serving.join().unwrap())
}

/// Leads until the session has ended, at most for `time`.
fn lead_to_end(session: &Session, time: Duration) -> Result<(), TimedOut> {
    session.handle.shared.wait(Deadline::after(time), |state, _| match state.is_ended() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
}

/// Runs `end` with the peer of each session whose next leader finds one event for some doorbells
/// and everything that `end` does. The leader must see the session's end.
fn with_each(end: impl Fn(Peer) -> Option<Peer>) {
    for wait in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        for has_slept in [false, true] {
            for doorbells in [1, 7, 8, 600] {
                let (session, peer) = session(&SessionOptions::new().wait(wait));
                if has_slept {
                    lead_to_end(&session, SLEEP).unwrap_err();
                }
                socket::send(&peer.socket, &vec![0; doorbells], &[]).unwrap();
                let _open = end(peer);
                let outcome = lead_to_end(&session, PATIENCE);
                outcome.unwrap_or_else(|_| {
                    panic!("{wait:?}, has slept: {has_slept}, {doorbells} doorbells: not seen")
                });
            }
        }
    }
}

#[test]
fn leader_sees_end_behind_doorbells_without_another_event() {
    with_each(|peer| {
        drop(peer);
        None
    });
    with_each(|peer| {
        shutdown(&peer.socket, Shutdown::Write).unwrap();
        Some(peer)
    });
}

#[test]
fn glance_after_an_old_event_sees_the_end() {
    let (session, peer) = session(&SessionOptions::new());
    peer.ring_doorbell();
    session.handle.shared.with(|state| state.notice(Notice::Bytes));
    drop(peer);
    // The first glance reads the socket, and the next one ends the session.
    assert!((0..2).any(|_| session.is_going_away()));
}
