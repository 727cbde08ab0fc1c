//! With the feature `opentelemetry`, calls and streams have spans and durations, and the spans of
//! both ends are in one trace.

mod collector;
mod room;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::thread;

use breezeway::{Address, ServerOptions, SessionOptions, Stopper};
use breezeway_rpc::{AsyncServer, AsyncThriftClient, CallOptions, Error, Server, ThriftClient};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use tracing::Instrument;
use tracing::subscriber::{NoSubscriber, with_default};

use collector::{COLLECTOR, Padding, Trace, attribute};
use room::{AsyncRoomClient, AsyncRoomServer, Hall, RoomClient, RoomSayError, RoomServer, line};

/// A served room, which ends with this.
struct Served {
    address: Address,
    stop: Option<Box<dyn FnOnce()>>,
    _folder: tempfile::TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        (self.stop.take().unwrap())();
    }
}

fn place() -> (tempfile::TempDir, String) {
    LazyLock::force(&COLLECTOR); // before the first call
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let address = format!("shm:{path}/shm,unix:{path}/unix");
    (folder, address)
}

fn blocking(options: ServerOptions) -> Served {
    let (folder, address) = place();
    let server = Server::bind_with(&*address, options).unwrap().with_thrift_clients();
    let server = server.add_service(RoomServer(Hall)).unwrap();
    let (address, stopper): (_, Stopper) = (server.address(), server.stopper());
    let serving = thread::spawn(move || server.serve());
    let stop = move || {
        stopper.stop();
        serving.join().unwrap().unwrap();
    };
    Served { address, stop: Some(Box::new(stop)), _folder: folder }
}

fn awaited(options: ServerOptions) -> Served {
    let (folder, address) = place();
    let _entered = COLLECTOR.runtime().enter();
    let server = AsyncServer::bind_with(&*address, options).unwrap().with_thrift_clients();
    let server = server.add_service(AsyncRoomServer(Hall)).unwrap();
    let (address, stopper) = (server.address(), server.stopper());
    let serving = tokio::spawn(server.serve());
    let stop = move || {
        stopper.stop();
        COLLECTOR.runtime().block_on(serving).unwrap().unwrap();
    };
    Served { address, stop: Some(Box::new(stop)), _folder: folder }
}

fn both(options: &ServerOptions) -> [Served; 2] {
    [blocking(options.clone()), awaited(options.clone())]
}

fn unix(served: &Served) -> Address {
    served.address.to_string().split_once(',').unwrap().1.parse().unwrap()
}

fn thrift(served: &Served) -> RoomClient<ThriftClient> {
    RoomClient::new(ThriftClient::new(unix(served)))
}

fn awaited_thrift(served: &Served) -> AsyncRoomClient<AsyncThriftClient> {
    AsyncRoomClient::new(AsyncThriftClient::new(unix(served)))
}

fn session(served: &Served) -> RoomClient<breezeway::Session> {
    RoomClient::new(breezeway::Session::connect(&served.address).unwrap())
}

async fn awaited_session(served: &Served) -> AsyncRoomClient<breezeway_tokio::Session> {
    AsyncRoomClient::new(breezeway_tokio::Session::connect(&served.address).await.unwrap())
}

/// Runs a future in the current span.
fn block_on<T>(work: impl Future<Output = T>) -> T {
    COLLECTOR.runtime().block_on(work.in_current_span())
}

/// Returns the spans of the only call of a trace: the client's, and its child, the server's.
fn ends<'t>(trace: &'t Trace, method: &str) -> [&'t Span; 2] {
    let client = trace.child(trace.root());
    let server = trace.child(client);
    for (span, kind) in [(client, SpanKind::Client), (server, SpanKind::Server)] {
        assert_eq!((span.kind(), &*span.name), (kind, &*format!("Room/{method}")));
        assert_eq!(attribute(span, "rpc.system.name"), Some("breezeway"));
        assert_eq!(attribute(span, "rpc.method"), Some(&*span.name));
    }
    [client, server]
}

/// Returns status, kind and reason of a failure.
fn failure(span: &Span) -> (StatusCode, Option<&str>, &str) {
    let status = span.status.as_ref().unwrap();
    (status.code(), attribute(span, "error.type"), &status.message)
}

fn assert_ok(trace: &Trace, method: &str, carrier: &str) {
    let [client, server] = ends(trace, method);
    for span in [client, server] {
        assert_eq!(failure(span), (StatusCode::Unset, None, ""));
    }
    assert_eq!(attribute(server, "breezeway.carrier"), Some(carrier));
    // Spans of the handler are children of the server's.
    assert_eq!(trace.child(server).name, "work");
}

mod calls {
    use super::*;

    #[test]
    fn both_ends_of_each_runtime_and_framing_join_the_callers_trace() {
        for served in both(&ServerOptions::new()) {
            let (trace, _) = COLLECTOR.trace(3, || session(&served).say(line("hi")).unwrap());
            assert_ok(&trace, "say", "shm");
            let (trace, _) = COLLECTOR.trace(3, || thrift(&served).say(line("hi")).unwrap());
            assert_ok(&trace, "say", "unix");
            let (trace, _) = COLLECTOR.trace(3, || {
                block_on(async { awaited_session(&served).await.say(line("hi")).await.unwrap() })
            });
            assert_ok(&trace, "say", "shm");
            let (trace, _) =
                COLLECTOR.trace(3, || block_on(awaited_thrift(&served).say(line("hi"))).unwrap());
            assert_ok(&trace, "say", "unix");
        }
    }

    #[test]
    fn failure_marks_both_spans_and_declared_exception_none() {
        for served in both(&ServerOptions::new()) {
            let (trace, outcome) = COLLECTOR.trace(2, || session(&served).say(line("fail")));
            assert!(matches!(outcome, Err(RoomSayError::Rpc(_))), "{outcome:?}");
            for span in ends(&trace, "say") {
                assert_eq!(
                    failure(span),
                    (StatusCode::Error, Some("Failed"), "on purpose (type 6)")
                );
            }
            let (trace, outcome) = COLLECTOR.trace(2, || session(&served).say(line("nowhere")));
            assert!(matches!(outcome, Err(RoomSayError::Missing(_))), "{outcome:?}");
            for span in ends(&trace, "say") {
                assert_eq!(failure(span), (StatusCode::Unset, None, ""));
            }
        }
    }

    #[test]
    fn panic_and_cancellation_are_failures() {
        for served in both(&ServerOptions::new()) {
            let (trace, outcome) = COLLECTOR.trace(2, || session(&served).say(line("panic")));
            outcome.unwrap_err();
            let [client, server] = ends(&trace, "say").map(failure);
            assert_eq!((client.0, client.1), (StatusCode::Error, Some("Failed")));
            assert_eq!(server, (StatusCode::Error, Some("Failed"), "the handler panicked"));
        }
        let served = awaited(ServerOptions::new());
        let (trace, ()) = COLLECTOR.trace(2, || {
            block_on(async {
                let client = awaited_session(&served).await;
                let mut call = Box::pin(client.say(line("never")));
                // Dropped once its handler runs.
                tokio::select! {
                    _ = &mut call => unreachable!("it has no reply"),
                    () = room::ASKED.notified() => {}
                }
            });
        });
        for span in ends(&trace, "say") {
            let expected = (StatusCode::Error, Some("Cancelled"), "dropped before its end");
            assert_eq!(failure(span), expected);
        }
    }

    #[test]
    fn broken_traceparent_begins_another_trace() {
        for (index, served) in both(&ServerOptions::new()).into_iter().enumerate() {
            let broken = CallOptions::new().metadata("traceparent", "00-of-no-trace");
            let (trace, reply) =
                COLLECTOR.trace(1, || session(&served).with(broken).say(line("metadata")));
            assert_eq!(reply.unwrap().text, "2");
            let client = trace.child(trace.root());
            assert_eq!(client.kind(), SpanKind::Client);
            let alone = |span: &Span| {
                span.name == "Room/say"
                    && span.parent_span_id.is_empty()
                    && span.kind() == SpanKind::Server
            };
            let servers = COLLECTOR.wait(index + 1, alone);
            assert_ne!(servers[index].trace_id, client.trace_id);
        }
    }

    #[test]
    fn call_without_a_span_sends_no_metadata() {
        for served in both(&ServerOptions::new()) {
            let reply =
                with_default(NoSubscriber::new(), || session(&served).say(line("metadata")));
            assert_eq!(reply.unwrap().text, "0");
        }
    }
}

mod durations {
    use super::*;

    #[test]
    fn both_ends_of_each_runtime_record_calls_and_streams() {
        // No other test calls this method. Its reply is a declared exception.
        for served in both(&ServerOptions::new()) {
            session(&served).tell().unwrap().finish().unwrap_err();
            block_on(async {
                let stream = awaited_session(&served).await.tell().await.unwrap();
                stream.finish().await.unwrap_err();
            });
        }
        for name in ["rpc.client.call.duration", "rpc.server.call.duration"] {
            assert_eq!(COLLECTOR.count(name, "Room/tell", None), ("s".to_owned(), 4));
        }
    }

    #[test]
    fn failed_call_has_the_type_of_its_error() {
        let (_folder, address) = place();
        let address: Address = address.split_once(',').unwrap().1.parse().unwrap();
        RoomClient::new(ThriftClient::new(address)).say(line("hi")).unwrap_err();
        // No other test calls a server that is not there.
        let count = COLLECTOR.count("rpc.client.call.duration", "Room/say", Some("Unreachable"));
        assert_eq!(count.1, 1);
    }
}

mod streams {
    use super::*;

    #[test]
    fn stream_of_each_runtime_and_framing_has_one_span_at_each_end() {
        let talk = |mut stream: room::RoomTalkStream| {
            stream.send(&line("hi")).unwrap();
            assert_eq!(stream.receive().unwrap().unwrap(), line("hi"));
            stream.finish().unwrap();
            assert_eq!(stream.receive().unwrap(), None);
        };
        let listen = async |mut stream: room::AsyncRoomListenStream| {
            while stream.receive().await.unwrap().is_some() {}
        };
        for served in both(&ServerOptions::new()) {
            let (trace, ()) = COLLECTOR.trace(3, || talk(session(&served).talk().unwrap()));
            assert_ok(&trace, "talk", "shm");
            let (trace, ()) = COLLECTOR.trace(3, || talk(thrift(&served).talk().unwrap()));
            assert_ok(&trace, "talk", "unix");
            let (trace, ()) = COLLECTOR.trace(3, || {
                block_on(async {
                    let room = awaited_session(&served).await;
                    listen(room.listen(line("hi")).await.unwrap()).await;
                })
            });
            assert_ok(&trace, "listen", "shm");
            let (trace, ()) = COLLECTOR.trace(3, || {
                let room = awaited_thrift(&served);
                block_on(async { listen(room.listen(line("hi")).await.unwrap()).await })
            });
            assert_ok(&trace, "listen", "unix");
        }
    }

    #[test]
    fn failed_and_dropped_stream_are_failures() {
        for served in both(&ServerOptions::new()) {
            let (trace, ()) = COLLECTOR.trace(2, || {
                let mut stream = session(&served).listen(line("fail")).unwrap();
                stream.receive().unwrap_err();
            });
            for span in ends(&trace, "listen") {
                assert_eq!(
                    failure(span),
                    (StatusCode::Error, Some("Failed"), "on purpose (type 6)")
                );
            }
            let (trace, ()) = COLLECTOR.trace(3, || {
                let mut stream = session(&served).talk().unwrap();
                stream.send(&line("hi")).unwrap();
                // Dropped once its handler runs.
                stream.receive().unwrap().unwrap();
            });
            let [client, server] = ends(&trace, "talk").map(failure);
            assert_eq!(client, (StatusCode::Error, Some("Cancelled"), "dropped before its end"));
            assert_eq!((server.0, server.1), (StatusCode::Error, Some("Cancelled")));
        }
    }

    #[test]
    fn handler_that_outlives_its_client_succeeds() {
        let served = blocking(ServerOptions::new());
        let (trace, ()) = COLLECTOR.trace(2, || {
            drop(session(&served).listen(line("outlive")).unwrap());
        });
        let [client, server] = ends(&trace, "listen").map(|span| failure(span).0);
        assert_eq!((client, server), (StatusCode::Error, StatusCode::Unset));
    }

    #[test]
    fn stream_of_a_caller_that_panics_is_cancelled() {
        let served = blocking(ServerOptions::new());
        let (trace, ()) = COLLECTOR.trace(3, || {
            let talking = AssertUnwindSafe(|| {
                let mut stream = session(&served).talk().unwrap();
                stream.send(&line("hi")).unwrap();
                stream.receive().unwrap().unwrap();
                panic!("on purpose");
            });
            catch_unwind(talking).unwrap_err();
        });
        let [client, _] = ends(&trace, "talk").map(failure);
        assert_eq!(client, (StatusCode::Error, Some("Cancelled"), "dropped before its end"));
    }
}

mod metadata {
    use super::*;

    /// Sessions that take streams, and no metadata.
    fn none() -> ServerOptions {
        ServerOptions::new().session(SessionOptions::new().max_metadata(0))
    }

    #[test]
    fn server_without_metadata_gets_calls_and_streams_without_trace() {
        for served in both(&none()) {
            let (trace, ()) = COLLECTOR.trace(4, || {
                assert_eq!(session(&served).say(line("metadata")).unwrap().text, "0");
                session(&served).listen(line("hi")).unwrap().receive().unwrap();
                block_on(async {
                    let room = awaited_session(&served).await;
                    assert_eq!(room.say(line("metadata")).await.unwrap().text, "0");
                    room.listen(line("hi")).await.unwrap().receive().await.unwrap();
                });
            });
            let clients = trace.0.iter().filter(|span| span.kind() == SpanKind::Client);
            assert_eq!(clients.count(), 4);
        }
    }

    #[test]
    fn calls_and_streams_drop_a_trace_that_is_too_long() {
        let parent = opentelemetry::Context::new().with_value(Padding(70_000));
        for served in both(&ServerOptions::new()) {
            with_default(NoSubscriber::new(), || {
                let _parent = parent.clone().attach();
                assert_eq!(session(&served).say(line("metadata")).unwrap().text, "0");
                session(&served).listen(line("hi")).unwrap().receive().unwrap();
                thrift(&served).say(line("hi")).unwrap();
                thrift(&served).listen(line("hi")).unwrap().receive().unwrap();
                COLLECTOR.runtime().block_on(async {
                    let room = awaited_session(&served).await;
                    assert_eq!(room.say(line("metadata")).await.unwrap().text, "0");
                    room.listen(line("hi")).await.unwrap().receive().await.unwrap();
                    let room = awaited_thrift(&served);
                    room.say(line("hi")).await.unwrap();
                    room.listen(line("hi")).await.unwrap().receive().await.unwrap();
                });
            });
        }
    }

    #[test]
    fn too_long_metadata_of_the_caller_fails_with_size_and_limit() {
        let served = blocking(ServerOptions::new());
        let options = || CallOptions::new().metadata("name", "x".repeat(70_000));
        let native = session(&served).with(options()).say(line("hi")).unwrap_err();
        let thrift = thrift(&served).with(options()).say(line("hi")).unwrap_err();
        for (error, limits) in [(native, 65_535), (thrift, 65_536)] {
            let RoomSayError::Rpc(Error::MetadataTooLong { size, limit }) = error else {
                panic!("{error}")
            };
            assert!(size >= 70_000 && limit == limits, "{size}, {limit}");
        }
    }

    #[test]
    fn metadata_of_the_caller_still_fails() {
        for served in both(&none()) {
            let options = CallOptions::new().metadata("name", "Ada");
            let (_, outcome) =
                COLLECTOR.trace(1, || session(&served).with(options).say(line("hi")));
            let Err(RoomSayError::Rpc(Error::Call(error))) = outcome else { panic!("{outcome:?}") };
            assert!(error.to_string().contains("max_metadata"), "{error}");
        }
    }
}
