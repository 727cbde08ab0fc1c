use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;

use breezeway_adversary::native::layout::control;
use breezeway_adversary::native::{Entry, Peer, Terms};
use breezeway_adversary::{Shared, socket};

use super::*;
use crate::call::{Call, Handled};
use crate::options::SessionOptions;

/// Tokens of the sessions, in the order in which they are added.
const CHURNING: usize = 0;
const HONEST: usize = 1;

fn echo(call: Call<'_>) -> Handled {
    let request = call.request().to_vec();
    call.reply(&request)
}

/// A session, and its client.
fn session(options: &SessionOptions) -> (ServerSession, Peer) {
    let (client, server) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let serving = scope.spawn(|| ServerSession::from_socket(server.into(), options).unwrap());
        let peer = Peer::client(client.into(), Terms::default());
        (serving.join().unwrap(), peer)
    })
}

/// Keeps the ring of a client from running empty: adds segments that are retired at once.
fn stay_ahead(peer: &mut Peer, segment: &Shared) {
    while peer.ring.tail - peer.view.load(control::CONSUMED_AT) < 4 {
        let number = (peer.ring.tail / 2) as u32;
        socket::send(&peer.socket, &[1], &[segment.fd.as_fd()]).unwrap();
        peer.publish_silently(&Entry::segment_add(number, 4096));
        peer.publish_silently(&Entry::segment_retire(number));
    }
}

/// Whether an armed session whose doorbell rings is served within so many steps of the worker once
/// it is time to listen, while another one has an entry about a segment at each of them.
fn serves_beside_churn(wait: WaitPolicy, steps: u32) -> bool {
    let options = SessionOptions::new().wait(wait);
    let mut worker = Worker::new(options.waiting(), Arc::new(Inbox::new().unwrap())).unwrap();
    let (churned, mut churning) = session(&options);
    let (served, mut honest) = session(&options);
    worker.add(churned).unwrap();
    worker.add(served).unwrap();
    assert!(worker.arm(HONEST), "nothing was asked of it yet");
    // What the hellos left to report is not to wake it below.
    worker.listened = clock::ticks();
    worker.sleeper.wait(Some(Duration::ZERO)).unwrap();
    let segment = Shared::fit(4096);
    stay_ahead(&mut churning, &segment);
    honest.publish(&Entry::request(1, 0, b"x"));
    worker.listened = clock::ticks().wrapping_sub(clock::ticks_in(LISTEN_EVERY));
    for _ in 0..steps {
        stay_ahead(&mut churning, &segment);
        worker.step(&echo).unwrap();
        assert!(worker.slots[CHURNING].as_ref().is_some_and(|slot| slot.active), "{wait:?}");
        if honest.view.try_next().is_some() {
            return true;
        }
    }
    false
}

#[test]
fn a_worker_that_can_never_arm_a_session_listens_for_the_others() {
    // Park listens in its first step. The others do with their next reading of the clock.
    for (wait, steps) in [
        (WaitPolicy::Park, 2),
        (WaitPolicy::Adaptive, ROUNDS_PER_TICK + 1),
        (WaitPolicy::Busy, ROUNDS_PER_TICK + 1),
    ] {
        assert!(serves_beside_churn(wait, steps), "{wait:?}: not served in {steps} steps");
    }
}
