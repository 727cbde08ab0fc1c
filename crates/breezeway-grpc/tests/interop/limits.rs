//! Limits: of messages, metadata, and calls at a time.

use std::io::Read;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use breezeway_grpc::{Endpoint, Gear, Server, ServerOptions, SessionOptions};
use breezeway_grpc_interop::cases::{client, simple};
use breezeway_grpc_interop::pb::test_service_client::TestServiceClient;
use breezeway_grpc_interop::pb::{self};
use breezeway_grpc_interop::{AnyChannel, server};
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request};

use crate::http2_peers::answer;
use crate::raw_http2::{Client, HEADERS, PREFACE, SETTINGS, frame};
use crate::support::{Serving, connect, on_every_link, run, soon};

#[test]
fn message_over_client_limit_fails_its_call_only() {
    on_every_link(|channel, gear| async move {
        let mut limited = TestServiceClient::new(channel).max_decoding_message_size(1_000);
        let status = limited.unary_call(simple(0, 1_001)).await.unwrap_err();
        assert_eq!(status.code(), Code::OutOfRange, "{status:?}");
        assert!(limited.unary_call(simple(0, 500)).await.is_ok());
        let mut limited = limited.max_encoding_message_size(1_000);
        let status = limited.unary_call(simple(1_001, 0)).await.unwrap_err();
        // hyper does not hand out why the body of a request broke off.
        let expected = if gear == Gear::Native { Code::OutOfRange } else { Code::Internal };
        assert_eq!(status.code(), expected, "{status:?}");
        assert!(limited.unary_call(simple(500, 0)).await.is_ok());
    });
}

#[test]
fn oversized_metadata_stops_no_later_call() {
    on_every_link(|channel, gear| async move {
        let mut client = client(channel);
        let mut request = Request::new(simple(0, 0));
        request.metadata_mut().insert("key", "x".repeat(70_000).parse().unwrap());
        let outcome = client.unary_call(request).await;
        if gear == Gear::Native {
            assert_eq!(outcome.unwrap_err().code(), Code::ResourceExhausted);
        }
        // HTTP/2 may end the connection that carried it, and calls that have not seen that yet.
        while let Err(status) = client.unary_call(simple(0, 0)).await {
            assert_eq!(gear, Gear::Http2, "{status:?}");
            tokio::task::yield_now().await;
        }
        let mut request = Request::new(simple(0, 0));
        request.metadata_mut().insert("key", "x".repeat(12_000).parse().unwrap());
        assert!(client.unary_call(request).await.is_ok());
    });
}

#[test]
fn request_beyond_session_memory_stops_no_later_call() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let serving = Serving::start(&format!("shm:{}/socket", folder.path().display()));
        let endpoint = Endpoint::new(&serving.address).unwrap();
        let endpoint = endpoint.session(SessionOptions::new().cap(64 << 10));
        let mut client = client(AnyChannel::new(endpoint.connect().await.unwrap()));
        let status = client.unary_call(simple(1 << 20, 0)).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
        assert!(status.message().contains("raise the cap"), "{status:?}");
        assert!(client.unary_call(simple(100, 100)).await.is_ok());
        drop(client);
        serving.end().await;
    });
}

#[test]
fn calls_wait_while_as_many_are_open_as_the_server_allows() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("shm:{}/socket", folder.path().display());
        let options = ServerOptions::new().session(SessionOptions::new().max_streams(3));
        let router = Server::builder().options(options).add_service(server());
        tokio::spawn(router.bind(&address).unwrap().serve());
        let channel = connect(&address, Gear::Native).await;
        let calls: Vec<_> = (0..200)
            .map(|size| {
                let mut client = client(channel.clone());
                tokio::spawn(async move { client.unary_call(simple(100_000, size)).await })
            })
            .collect();
        // Some are given up while they wait, which does not affect the others.
        for call in calls.iter().step_by(5) {
            call.abort();
        }
        for (number, call) in calls.into_iter().enumerate() {
            match soon(call).await {
                Ok(outcome) => assert!(outcome.is_ok(), "call {number}: {outcome:?}"),
                Err(error) => assert!(error.is_cancelled() && number % 5 == 0),
            }
        }
    });
}

#[test]
fn reply_before_the_requests_end_is_delivered() {
    on_every_link(|channel, _| async move {
        for _ in 0..20 {
            let (sender, requests) = mpsc::channel(4);
            let mut client = client(channel.clone());
            let feeding = tokio::spawn(async move {
                let status = pb::EchoStatus { code: 9, message: "enough".into() };
                let mut request = pb::StreamingOutputCallRequest {
                    response_status: Some(status),
                    ..Default::default()
                };
                request.payload = simple(200_000, 0).payload;
                while sender.send(request.clone()).await.is_ok() {}
            });
            let response = client.full_duplex_call(ReceiverStream::new(requests)).await;
            let status = match response {
                Ok(response) => soon(response.into_inner().message()).await.unwrap_err(),
                Err(status) => status,
            };
            assert_eq!((status.code(), status.message()), (Code::FailedPrecondition, "enough"));
            // The request's stream is dropped with the call.
            drop(client);
            soon(feeding).await.unwrap();
        }
    });
}

#[test]
fn calls_before_the_servers_settings_are_not_refused() {
    const CALLS: usize = 20;
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        // It takes one call at a time, and its settings come late.
        let serving = spawn_blocking(move || {
            let client = Client(listener.accept().unwrap().0);
            let mut preface = [0; PREFACE.len()];
            (&client.0).read_exact(&mut preface).unwrap();
            assert_eq!(preface, PREFACE);
            client.0.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let early = (&client.0).read(&mut [0]);
            assert!(early.is_err(), "bytes come before the settings: {early:?}");
            client.0.set_read_timeout(None).unwrap();
            client.write(&frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]));
            for _ in 0..CALLS {
                let call = client.read_until(|received| received.kind == HEADERS).stream;
                let end = client.read_until(|received| {
                    assert_ne!(received.kind, HEADERS, "a second call");
                    received.ends(call)
                });
                client.write(&answer(end.stream));
            }
            client
        });
        let address = format!("unix:{}", path.display());
        let channel = connect(&address, Gear::Http2).await;
        let mut calls = JoinSet::new();
        for _ in 0..CALLS {
            let mut client = client(channel.clone());
            calls.spawn(async move { client.empty_call(pb::Empty {}).await.map(drop) });
        }
        for outcome in soon(calls.join_all()).await {
            assert!(outcome.is_ok(), "{outcome:?}");
        }
        drop(serving.await.unwrap());
    });
}
