//! The guard's hand-over of a session whose socket holds doorbells that its worker has read and
//! not consumed.

use breezeway_os::Notifier;
use rustix::io::ioctl_fionread;

use super::*;

/// Calls after the hand-over, each with a doorbell: more than a socket holds.
const CALLS: u32 = 400;
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends a guard and a worker that run in threads of a scope, also when a test fails.
struct Ending {
    guard: Notifier,
    worker: Arc<Inbox>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.guard.notify();
        self.worker.stop();
    }
}

fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let end = Deadline::after(PATIENCE);
    while !done() {
        assert!(!end.has_passed(), "{what}");
        thread::yield_now();
    }
}

/// Lets the worker read so many doorbells of an armed session that it does not consume them.
fn leave_unconsumed(worker: &mut Worker, token: usize, peer: &Peer, doorbells: usize) {
    socket::send(&peer.socket, &vec![0; doorbells], &[]).unwrap();
    worker.now = clock::ticks();
    worker.listened = worker.now.wrapping_sub(clock::ticks_in(LISTEN_EVERY));
    worker.listen_if_due().unwrap();
    assert!(worker.arm(token), "nothing was asked of it");
    let armed = worker.inbox.armed();
    let slot = armed.claim(token).expect("it is armed");
    let unconsumed = slot.session.with_socket(|socket| ioctl_fionread(socket).unwrap());
    assert_eq!(unconsumed, doorbells as u64);
    armed.put(token, slot);
}

/// Publishes call `number` to a worker that sleeps, and takes the reply.
fn call(peer: &mut Peer, number: u32, worker: &Inbox) {
    eventually("the worker sleeps", || worker.load().turn_age(clock::ticks()).is_none());
    peer.publish(&Entry::request(2 * number + 1, 0, b"x"));
    eventually("the worker wakes", || peer.view.try_next().is_some());
    peer.consume();
}

/// Calls on a session that was handed over with unconsumed doorbells, and closes it.
fn use_after_hand_over(wait: WaitPolicy, doorbells: usize) {
    let options = SessionOptions::new().wait(wait);
    let (guard, mut slow, mut free) = guarded(&options);
    let (blocking, mut blocking_peer) = session(&options);
    let (armed, armed_peer) = session(&options);
    slow.start(blocking);
    slow.start(armed);
    assert!(slow.arm(1), "nothing was asked of it yet");
    slow.sleeper.wait(Some(Duration::ZERO)).unwrap();
    leave_unconsumed(&mut slow, 1, &armed_peer, doorbells);
    slow.listened = clock::ticks();
    blocking_peer.publish(&Entry::request(1, 0, b"blocks until the other is served"));
    let (guard_stop, inbox) = (guard.stopper(), Arc::clone(&free.inbox));
    thread::scope(|scope| {
        let _ending = Ending { guard: guard_stop, worker: Arc::clone(&inbox) };
        scope.spawn(|| guard.run().unwrap());
        scope.spawn(move || {
            while !free.take_inbox() {
                free.step(&echo).unwrap();
            }
        });
        let peer = Arc::new(Mutex::new(armed_peer));
        let (shared, taker) = (Arc::clone(&peer), Arc::clone(&inbox));
        let handler = move |blocking: Call<'_>| {
            call(&mut shared.lock().unwrap(), 0, &taker);
            blocking.done()
        };
        eventually("the blocking call is answered", || {
            slow.step(&handler).unwrap();
            blocking_peer.view.try_next().is_some()
        });
        assert_eq!(inbox.sessions(), 1, "it was not handed over");
        drop(handler);
        let mut peer = Arc::into_inner(peer).unwrap().into_inner().unwrap();
        for number in 1..=CALLS {
            call(&mut peer, number, &inbox);
        }
        drop(peer);
        eventually("the session ends", || inbox.sessions() == 0);
    });
}

#[test]
fn session_with_unconsumed_doorbells_wakes_its_new_worker() {
    for wait in [WaitPolicy::Park, WaitPolicy::Adaptive] {
        for doorbells in 1..8 {
            println!("{wait:?}, {doorbells} doorbells");
            use_after_hand_over(wait, doorbells);
        }
    }
}
