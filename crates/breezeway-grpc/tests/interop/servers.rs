//! Listening, addresses, and ending in order.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use breezeway_grpc::{Carrier, Endpoint, Gear, Server, ServerOptions};
use breezeway_grpc_interop::cases::{self, client, simple};
use breezeway_grpc_interop::{pb, server};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use crate::support::{Serving, any, connect, run, soon};

#[test]
fn client_tries_places_in_order_and_names_each_failure() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let serving = Serving::start(&format!("unix:{path}/served"));
        let address = format!("shm:{path}/absent,unix:{path}/served");
        let channel = breezeway_grpc::connect(&address).await.unwrap();
        assert_eq!(channel.connect_info().unwrap().carrier, Carrier::Unix);
        cases::empty_unary(client(any(channel))).await;
        serving.end().await;
        for error in [
            breezeway_grpc::connect(&address).await.unwrap_err().to_string(),
            Endpoint::new(&address)
                .unwrap()
                .connect_http2()
                .await
                .map(|_| ())
                .map_err(causes)
                .unwrap_err(),
        ] {
            for path in ["absent", "served"] {
                assert!(error.contains(&format!("{path}: the socket file does not")), "{error}");
            }
        }
        let error = breezeway_grpc::connect("smoke:/signal").await.unwrap_err();
        assert!(matches!(error, breezeway_grpc::Error::Address(_)), "{error}");
    });
}

/// Formats an error with its causes.
pub(crate) fn causes(error: breezeway_grpc::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    text
}

#[test]
fn abandoned_socket_is_taken_over_with_requested_mode() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        drop(UnixListener::bind(&path).unwrap());
        let address = format!("shm:{}", path.display());
        let options = ServerOptions::new().socket_mode(0o660);
        let bound = Server::builder().options(options).add_service(server()).bind(&address);
        tokio::spawn(bound.unwrap().serve());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o660);
        cases::empty_unary(client(connect(&address, Gear::Native).await)).await;
        let second = Server::builder().add_service(server()).bind(&address);
        assert!(second.is_err(), "a server that serves keeps its socket");
    });
}

#[test]
fn unauthorised_client_gets_the_reason() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("shm:{}/socket", folder.path().display());
        let options = ServerOptions::new().authorize(|_| Err("closed on Sundays".to_owned()));
        let bound = Server::builder().options(options).add_service(server()).bind(&address);
        tokio::spawn(bound.unwrap().serve());
        let error = breezeway_grpc::connect(&address).await.unwrap_err().to_string();
        assert!(error.contains("closed on Sundays"), "{error}");
        let channel = Endpoint::new(&address).unwrap().connect_lazy();
        let status = client(any(channel)).empty_call(pb::Empty {}).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("closed on Sundays"), "{status:?}");
    });
}

#[test]
fn ending_server_finishes_calls_and_refuses_new_ones() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for gear in [Gear::Native, Gear::Http2] {
            let serving = Serving::start(&format!("shm:{}/socket", folder.path().display()));
            let channel = connect(&serving.address, gear).await;
            let mut client = client(channel);
            let (sender, requests) = mpsc::channel(1);
            let response = client.full_duplex_call(ReceiverStream::new(requests)).await.unwrap();
            let mut messages = response.into_inner();
            let ended = serving.stop();
            let mut request = pb::StreamingOutputCallRequest::default();
            request
                .response_parameters
                .push(pb::ResponseParameters { size: 7, ..Default::default() });
            for _ in 0..3 {
                sender.send(request.clone()).await.unwrap();
                let message = soon(messages.message()).await.unwrap().expect("it is still served");
                assert_eq!(message.payload.unwrap().body.len(), 7);
            }
            assert!(!ended.is_finished(), "it waits for the call");
            drop(sender);
            assert!(soon(messages.message()).await.unwrap().is_none());
            soon(ended).await.unwrap().unwrap();
            let status = soon(client.unary_call(simple(0, 0))).await.unwrap_err();
            // hyper reports a call that it is about to send at the end as cancelled.
            let right = match gear {
                Gear::Native => &[Code::Unavailable][..],
                Gear::Http2 => &[Code::Unavailable, Code::Cancelled],
            };
            assert!(right.contains(&status.code()), "{status:?}");
        }
    });
}

#[test]
fn a_server_whose_future_is_dropped_lets_go_of_its_socket() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let address = format!("shm:{}", path.display());
        let bound = Server::builder().add_service(server()).bind(&address).unwrap();
        let serving = tokio::spawn(bound.serve());
        cases::empty_unary(client(connect(&address, Gear::Native).await)).await;
        serving.abort();
        assert!(serving.await.unwrap_err().is_cancelled());
        soon(async {
            while path.exists() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    });
}
