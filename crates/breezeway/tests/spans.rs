//! With the feature `spans`, each call has a span on both sides. One test, as a process has one
//! subscriber for all threads.

#[path = "support/collector.rs"]
mod collector;

use std::thread;
use std::time::{Duration, Instant};

use breezeway::{Address, Call, ExclusiveSession, Handled, Pool, Server, ServerOptions, Session};
use collector::{Collector, assert_says};

const ECHO: u32 = 0;
const FAIL: u32 = 1;
const PANIC: u32 = 2;
const DEFER: u32 = 3;

/// Acts by the last digit of the method.
fn handle(call: Call<'_>) -> Handled {
    match call.method() % 10 {
        FAIL => Err("on purpose".into()),
        PANIC => panic!("on purpose"),
        // No reply comes before the client's time is over.
        DEFER => {
            let (call, later) = call.defer()?;
            thread::spawn(move || {
                while !call.patience().is_some_and(|left| left.is_zero()) {
                    thread::yield_now();
                }
            });
            Ok(later)
        }
        _ => call.echo(),
    }
}

#[test]
fn each_call_has_spans_with_outcome_on_both_sides() {
    let spans = Collector::default();
    tracing::subscriber::set_global_default(spans.clone()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    for (gear, carrier, address, options) in [
        (1, "shm", format!("shm:{path}/here"), ServerOptions::new()),
        (2, "unix", format!("unix:{path}/unix"), ServerOptions::new()),
        (3, "shm", format!("shm:{path}/offload"), ServerOptions::new().offload(1)),
    ] {
        let address: Address = address.parse().unwrap();
        let server = Server::bind_with(&address, options).unwrap();
        let stopper = server.stopper();
        let serving = thread::spawn(move || server.serve(handle));
        let mut session = ExclusiveSession::connect(&address).unwrap();
        let shared = Session::connect(&address).unwrap();
        let client = Pool::connect(&address).unwrap();
        let method = |caller: u32, what: u32| 100 * gear + 10 * caller + what;

        let both = |method, outcome: [&str; 2], error: [Option<&str>; 2]| {
            for ((role, outcome), error) in ["client", "server"].into_iter().zip(outcome).zip(error)
            {
                assert_says(&spans.of(role, method), carrier, outcome, error);
            }
        };
        session.call(method(1, ECHO), b"one").unwrap();
        shared.call(method(2, ECHO), b"one").unwrap();
        client.call(method(3, ECHO), b"one").unwrap();
        session.reserve(1_000).unwrap().call(method(4, ECHO)).unwrap();
        for caller in 1..=4 {
            both(method(caller, ECHO), ["ok"; 2], [None; 2]);
        }
        assert!(session.call(method(1, FAIL), b"two").is_err());
        assert!(shared.call(method(2, FAIL), b"two").is_err());
        for caller in 1..=2 {
            both(method(caller, FAIL), ["failed"; 2], [Some("on purpose"); 2]);
        }
        assert!(session.call(method(1, PANIC), b"three").is_err());
        both(method(1, PANIC), ["failed", "panicked"], [Some("on purpose"), None]);
        // The handler's span ends when it has given the call away.
        let soon = Instant::now() + Duration::from_millis(20);
        assert!(shared.request(method(2, DEFER)).deadline(soon).send(b"four").is_err());
        both(method(2, DEFER), ["failed", "ok"], [Some("deadline"), None]);

        drop((session, shared, client));
        stopper.stop();
        serving.join().unwrap().unwrap();
    }
}
