//! Sessions of one worker take turns by time: a slow handler delays the others until it returns,
//! not until everything is served that its client has sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use std::sync::Mutex;
use std::sync::mpsc;

use breezeway::{Call, Server, ServerOptions, SessionOptions};

use crate::support::{EVERY_POLICY, Folder, PATIENCE, connect, eventually, patient, within};

const SLOW: u32 = 0;
const QUICK: u32 = 1;
/// Number of slow calls in flight.
const DEPTH: usize = 60;
/// Quick calls, each after a pause in which its session is armed.
const QUICK_CALLS: u64 = 10;

/// Returns the maximum number of slow calls that are served before the quick call of a session that
/// rests between its calls, while another one keeps its worker busy.
fn slow_calls_before_a_quick_one(options: SessionOptions) -> u64 {
    let folder = Folder::new();
    let options = ServerOptions::new().session(options);
    let server = Server::bind_with(folder.address(), options).unwrap();
    let stopper = server.stopper();
    let slow = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&slow);
    let serving = std::thread::spawn(move || {
        server.serve(move |call: Call<'_>| {
            if call.method() == SLOW {
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(2) {}
                count.fetch_add(1, Ordering::SeqCst);
            }
            call.reply(count.load(Ordering::SeqCst).to_le_bytes())
        })
    });
    let (mut busy, mut armed) = (connect(&folder), connect(&folder));
    // From then on it is the worker's: a client is connected before that.
    armed.call(QUICK, b"").unwrap();
    let over = Arc::new(AtomicU64::new(0));
    let ends = Arc::clone(&over);
    let flood = std::thread::spawn(move || {
        for _ in 0..DEPTH {
            busy.send(SLOW, b"").unwrap();
        }
        while ends.load(Ordering::Relaxed) == 0 {
            busy.receive().unwrap();
            busy.send(SLOW, b"").unwrap();
        }
    });
    let most = within(PATIENCE, "the quick calls", {
        let slow = Arc::clone(&slow);
        move || {
            let waited = |_| {
                // Long enough to be armed.
                let before = slow.load(Ordering::SeqCst);
                eventually("a few are served", || slow.load(Ordering::SeqCst) > before + 3);
                armed.send(QUICK, b"").unwrap();
                // A delay of this thread lowers the count.
                let sent = slow.load(Ordering::SeqCst);
                let reply = armed.receive().unwrap().to_vec();
                u64::from_le_bytes(reply.try_into().unwrap()).saturating_sub(sent)
            };
            (0..QUICK_CALLS).map(waited).max().unwrap()
        }
    });
    over.store(1, Ordering::Relaxed);
    within(PATIENCE, "the slow calls", move || flood.join().unwrap());
    stopper.stop();
    within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
    most
}

#[test]
fn ringing_session_waits_for_present_call_of_another() {
    for policy in EVERY_POLICY {
        let waited = slow_calls_before_a_quick_one(patient().wait(policy));
        // The present one, and one whose turn had begun when the doorbell rang.
        assert!(waited <= 2, "{policy:?}: {waited} slow calls were served first");
    }
}

/// Blocks its worker until the test lets it go on.
const BLOCK: u32 = 2;
/// Sessions of a server with two workers.
const SESSIONS: usize = 6;

#[test]
fn free_worker_serves_sessions_of_a_blocked_one() {
    for policy in EVERY_POLICY {
        let folder = Folder::new();
        let options = ServerOptions::new().session(patient().wait(policy)).workers(2);
        let server = Server::bind_with(folder.address(), options).unwrap();
        let stopper = server.stopper();
        let (blocked, is_blocked) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let (blocked, released) = (Mutex::new(blocked), Mutex::new(released));
        let serving = std::thread::spawn(move || {
            server.serve(move |call: Call<'_>| {
                match call.method() {
                    // By which its worker is known to be slow.
                    SLOW => std::thread::sleep(Duration::from_millis(2)),
                    BLOCK => {
                        blocked.lock().unwrap().send(()).unwrap();
                        let _ = released.lock().unwrap().recv_timeout(PATIENCE);
                    }
                    _ => {}
                }
                call.done()
            })
        });
        let mut sessions: Vec<_> = (0..SESSIONS).map(|_| connect(&folder)).collect();
        for session in &mut sessions {
            session.call(QUICK, b"").unwrap();
        }
        let mut blocking = sessions.pop().unwrap();
        blocking.call(SLOW, b"").unwrap();
        // Long enough for the others to be armed, which nothing but time does.
        std::thread::sleep(Duration::from_millis(20));
        blocking.send(BLOCK, b"").unwrap();
        is_blocked.recv_timeout(PATIENCE).expect("the handler runs");
        within(PATIENCE, "calls of all other sessions", move || {
            for session in &mut sessions {
                for _ in 0..3 {
                    session.call(QUICK, b"").unwrap();
                }
            }
        });
        release.send(()).unwrap();
        within(PATIENCE, "the reply", move || blocking.receive().map(drop).unwrap());
        stopper.stop();
        within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
    }
}
