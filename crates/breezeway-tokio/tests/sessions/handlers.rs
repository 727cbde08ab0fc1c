//! Start of a session's handlers, and the other tasks of their thread.

use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use breezeway::ExclusiveSession;
use breezeway_tokio::{
    Address, CallError, ErrorCode, OwnedCall, ServeError, Server, ServerOptions, Session,
    SessionOptions, Stream, WaitPolicy,
};
use tokio::runtime::Builder;
use tokio::task::{spawn_blocking, yield_now};

use crate::servers::{commit, connect};
use crate::support::{PATIENCE, addresses, on_both_runtimes, one_thread, soon};

/// Longer than the handlers of one session may take before other tasks run.
const LONG: Duration = Duration::from_micros(200);

fn work() {
    let start = Instant::now();
    while start.elapsed() < LONG {
        std::hint::spin_loop();
    }
}

/// Counts how often other tasks have run. (A task that yields by `yield_now` waits until no other
/// is ready.)
fn count_turns() -> Arc<AtomicUsize> {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::downgrade(&turns);
    tokio::spawn(poll_fn(move |cx| {
        let Some(turns) = counted.upgrade() else { return Poll::Ready(()) };
        turns.fetch_add(1, Ordering::Relaxed);
        cx.waker().wake_by_ref();
        Poll::Pending
    }));
    turns
}

/// A server that notes in which turn of the other tasks each handler began.
fn serve_noting(
    address: &Address,
    handler: fn(OwnedCall),
) -> (Address, breezeway_tokio::Stopper, Arc<Mutex<Vec<usize>>>) {
    let server = Server::bind(address).unwrap();
    let (address, stopper) = (server.address(), server.stopper());
    let (turns, begun) = (count_turns(), Arc::new(Mutex::new(Vec::new())));
    tokio::spawn(server.serve({
        let begun = Arc::clone(&begun);
        move |call| {
            begun.lock().unwrap().push(turns.load(Ordering::Relaxed));
            handler(call);
            ready(())
        }
    }));
    (address, stopper, begun)
}

#[test]
fn other_tasks_run_between_two_slow_handlers_of_one_session() {
    one_thread().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()).into_iter().take(2) {
            let (address, stopper, begun) = serve_noting(&address, |call| {
                work();
                let _ = call.echo();
            });
            let shared = connect(&address).await;
            let replies = commit(&shared, 8);
            for reply in soon(spawn_blocking(replies)).await.unwrap() {
                reply.unwrap();
            }
            let begun = begun.lock().unwrap().clone();
            assert_eq!(begun.len(), 1 + 8);
            assert!(begun.is_sorted_by(|one, next| one < next), "over {address}: {begun:?}");
            stopper.stop();
        }
    });
}

#[test]
fn other_tasks_run_between_two_large_requests_of_one_session() {
    one_thread().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let (address, stopper, begun) = serve_noting(&addresses(folder.path())[0], |call| {
            if !call.is_one_way() {
                let _ = call.echo();
            }
        });
        let shared = connect(&address).await;
        let posted = soon(spawn_blocking(move || {
            let request = vec![0; 1 << 20];
            for _ in 0..4 {
                shared.post(0, &request).unwrap();
            }
            shared
        }));
        let shared = posted.await.unwrap();
        soon(spawn_blocking(move || shared.call(0, b"").unwrap())).await.unwrap();
        let begun = begun.lock().unwrap().clone();
        assert_eq!(begun.len(), 1 + 4 + 1);
        // The last call may be begun with the message before, which is larger than a turn.
        assert!(begun.is_sorted_by(|one, next| one < next), "{begun:?}");
        stopper.stop();
    });
}

#[test]
fn stopped_server_begins_no_handler_after_drain_time() {
    one_thread().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()).into_iter().take(2) {
            let options = ServerOptions::new().drain_timeout(Duration::ZERO);
            let server = Server::bind_with(&address, options).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let begun = Arc::new(AtomicUsize::new(0));
            let serving = tokio::spawn(server.serve({
                let begun = Arc::clone(&begun);
                move |call| {
                    // The first one is that of the caller that connects.
                    if begun.fetch_add(1, Ordering::Relaxed) == 1 {
                        stopper.stop();
                    }
                    let _ = call.echo();
                    ready(())
                }
            }));
            let shared = connect(&address).await;
            // All are there when the server's task runs next.
            let replies = commit(&shared, 8);
            let replies = soon(spawn_blocking(replies)).await.unwrap();
            soon(serving).await.unwrap().unwrap();
            assert_eq!(begun.load(Ordering::Relaxed), 1 + 1, "over {address}");
            let refused = |reply: &Result<_, CallError>| {
                matches!(reply, Err(CallError::Failed { code: ErrorCode::Refused, .. }))
            };
            let (first, others) = replies.split_first().unwrap();
            assert!(first.is_ok(), "over {address}: {first:?}");
            assert!(others.iter().all(refused), "over {address}: {others:?}");
        }
    });
}

/// Methods of [`replies_at_once`]: whether the handler replies when it is first polled, or later,
/// as a task.
const FIRST: u32 = 0;
const LATER: u32 = 1;

/// Replies, and does not return before the client has the reply.
fn replies_at_once(address: &Address, is_late: &Arc<AtomicBool>, threads: usize) {
    let (has_it, waits) = channel();
    let (tell, bound) = channel();
    let (waits, is_late, address) =
        (Arc::new(Mutex::new(waits)), Arc::clone(is_late), address.clone());
    let server_is_late = Arc::clone(&is_late);
    let serving = thread::spawn(move || {
        let runtime = match threads {
            1 => one_thread(),
            _ => Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap(),
        };
        runtime.block_on(async move {
            let session = SessionOptions::new().wait(WaitPolicy::Park);
            let options = ServerOptions::new().session(session);
            let server = Server::bind_with(&address, options).unwrap();
            tell.send((server.address(), server.stopper())).unwrap();
            let handler = move |call: OwnedCall| {
                let (waits, is_late) = (Arc::clone(&waits), Arc::clone(&server_is_late));
                async move {
                    if call.method() == LATER {
                        let mut has_waited = false;
                        poll_fn(|cx| {
                            cx.waker().wake_by_ref();
                            let waited = std::mem::replace(&mut has_waited, true);
                            if waited { Poll::Ready(()) } else { Poll::Pending }
                        })
                        .await;
                    }
                    let _ = call.reply(b"at once");
                    let heard = waits.lock().unwrap().recv_timeout(PATIENCE);
                    is_late.fetch_or(heard.is_err(), Ordering::Relaxed);
                }
            };
            server.serve(handler).await.unwrap();
        });
    });
    let (address, stopper) = bound.recv_timeout(PATIENCE).unwrap();
    let options = SessionOptions::new().wait(WaitPolicy::Park);
    let mut session = ExclusiveSession::connect_with(&address, &options).unwrap();
    for method in [FIRST, LATER].repeat(10) {
        assert_eq!(session.call(method, b"").unwrap().to_vec(), b"at once");
        let _ = has_it.send(());
        assert!(!is_late.load(Ordering::Relaxed), "over {address}, {threads} threads, {method}");
    }
    stopper.stop();
    serving.join().unwrap();
}

#[test]
fn a_reply_reaches_a_sleeping_client_before_the_handler_returns() {
    let folder = tempfile::tempdir().unwrap();
    for threads in [1, 2] {
        for address in addresses(folder.path()) {
            replies_at_once(&address, &Arc::default(), threads);
        }
    }
}

/// Resets a stream whose handler waits, and sends a call, in one turn of the server's driver that
/// follows the turn of an earlier call.
#[test]
fn a_call_behind_a_reset_begins_before_the_driver_sleeps() {
    const BOTH: u32 = 1;
    one_thread().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionOptions::new().wait(WaitPolicy::Park);
        let options = ServerOptions::new().session(session);
        let server = Server::bind_with(&addresses(folder.path())[0], options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let (give, given) = channel::<(breezeway::Session, breezeway::Stream)>();
        let (give_reply, reply) = channel();
        let given = Mutex::new(given);
        let call = move |call: OwnedCall| {
            if call.method() == BOTH {
                let (client, stream) = given.lock().unwrap().try_recv().unwrap();
                drop(stream);
                give_reply.send(commit(&client, 1)).unwrap();
            }
            let _ = call.done();
            ready(())
        };
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let serving = tokio::spawn(server.serve_streams(call, move |_, mut stream: Stream| {
            let tell = tell.clone();
            async move {
                tell.send(()).unwrap();
                let _ = stream.receive().await;
            }
        }));
        let client = connect(&address).await;
        for _ in 0..20 {
            let opening = client.clone();
            let stream = soon(spawn_blocking(move || opening.open(0).unwrap())).await.unwrap();
            soon(told.recv()).await.unwrap();
            give.send((client.clone(), stream)).unwrap();
            let calling = client.clone();
            soon(spawn_blocking(move || calling.call(BOTH, b"").map(drop))).await.unwrap().unwrap();
            let reply = reply.try_recv().unwrap();
            for reply in soon(spawn_blocking(reply)).await.unwrap() {
                reply.unwrap();
            }
        }
        drop(client);
        stopper.stop();
        soon(serving).await.unwrap().unwrap();
    });
}

#[test]
fn calls_and_one_way_messages_begin_in_order() {
    const CALLS: u64 = 60;
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let server = Server::bind(&address).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let begun = Arc::new(Mutex::new(Vec::new()));
            let serving = tokio::spawn(server.serve({
                let begun = Arc::clone(&begun);
                move |call: OwnedCall| {
                    let number = call.request().u64_le_at(0).unwrap();
                    begun.lock().unwrap().push(number);
                    async move {
                        // Some are done at once; others wait, and end in any order.
                        for _ in 0..number % 5 {
                            yield_now().await;
                        }
                        if !call.is_one_way() {
                            let _ = call.echo();
                        }
                    }
                }
            }));
            let shared = Session::connect(&address).await.unwrap();
            let requests: Vec<_> = (0..2 * CALLS).map(u64::to_le_bytes).collect();
            let mut calls = Vec::new();
            for two in requests.chunks(2) {
                let mut call: Pin<Box<_>> = Box::pin(shared.call(0, &two[0]));
                match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(reply) => assert_eq!(reply.unwrap().to_vec(), two[0]),
                    Poll::Pending => calls.push((call, two[0])),
                }
                soon(shared.post(0, &two[1])).await.unwrap();
            }
            for (call, request) in calls {
                assert_eq!(soon(call).await.unwrap().to_vec(), request);
            }
            stopper.stop();
            soon(serving).await.unwrap().unwrap();
            let begun = begun.lock().unwrap().clone();
            assert!(begun.iter().copied().eq(0..2 * CALLS), "over {address}: {begun:?}");
        }
    });
}

#[test]
fn threads_that_run_handlers_are_refused_by_name() {
    one_thread().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let address = &addresses(folder.path())[0];
        let error = Server::bind_with(address, ServerOptions::new().offload(1)).err().unwrap();
        assert!(matches!(&error, ServeError::Option(error) if error.option() == "offload"));
        assert!(error.to_string().contains("spawn_blocking"), "{error}");
        Server::bind_with(address, ServerOptions::new().offload(0)).unwrap();
    });
}
