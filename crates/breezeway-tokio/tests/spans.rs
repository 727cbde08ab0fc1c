//! With the feature `spans`, each call has a span on both sides. One test, as a process has one
//! subscriber for all threads.

#[path = "../../breezeway/tests/support/collector.rs"]
mod collector;

use std::future::pending;
use std::time::{Duration, Instant};

use breezeway_tokio::{Address, Client, ErrorCode, OwnedCall, ReplyError, Server, Session};
use collector::{Collector, assert_says};

const ECHO: u32 = 0;
const FAIL: u32 = 1;
const PANIC: u32 = 2;
const NEVER: u32 = 3;

/// Acts by the last digit of the method.
async fn handle(call: OwnedCall) -> Result<(), ReplyError> {
    tokio::task::yield_now().await;
    match call.method() % 10 {
        FAIL => call.fail(ErrorCode::Failed, "on purpose"),
        PANIC => panic!("on purpose"),
        NEVER => pending().await,
        _ => call.echo(),
    }
}

#[test]
fn each_call_has_spans_with_outcome_on_both_sides() {
    let spans = Collector::default();
    tracing::subscriber::set_global_default(spans.clone()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for (gear, carrier) in [(1, "shm"), (2, "unix")] {
        let address: Address = format!("{carrier}:{path}/{carrier}").parse().unwrap();
        let method = |caller: u32, what: u32| 100 * gear + 10 * caller + what;
        runtime.block_on(async {
            let server = Server::bind(&address).unwrap();
            let stopper = server.stopper();
            let serving = tokio::spawn(server.serve(handle));
            let session = Session::connect(&address).await.unwrap();
            let client = Client::connect(&address).await.unwrap();
            session.call(method(1, ECHO), b"one").await.unwrap();
            client.call(method(2, ECHO), b"one").await.unwrap();
            assert!(session.call(method(1, FAIL), b"two").await.is_err());
            assert!(session.call(method(1, PANIC), b"three").await.is_err());
            let soon = Instant::now() + Duration::from_millis(20);
            assert!(session.request(method(1, NEVER)).deadline(soon).send(b"four").await.is_err());
            drop((session, client));
            stopper.stop();
            serving.await.unwrap().unwrap();
        });
        let says = |role, method, outcome, error| {
            assert_says(&spans.of(role, method), carrier, outcome, error);
        };
        for caller in 1..=2 {
            says("client", method(caller, ECHO), "ok", None);
            says("server", method(caller, ECHO), "ok", None);
        }
        says("client", method(1, FAIL), "failed", Some("on purpose"));
        // The code that awaits a handler does not know its reply.
        says("server", method(1, FAIL), "ok", None);
        says("client", method(1, PANIC), "failed", Some(""));
        says("server", method(1, PANIC), "panicked", None);
        says("client", method(1, NEVER), "failed", Some("deadline"));
        // It waits for nothing, so it is dropped with its session.
        says("server", method(1, NEVER), "cancelled", None);
    }
}
