//! Calls that time out: before a server answers them, or within their response.

use std::os::unix::net::UnixListener;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use breezeway_grpc::{Endpoint, Gear, Server};
use breezeway_grpc_interop::cases::client;
use breezeway_grpc_interop::pb::{Empty, StreamingOutputCallRequest};
use breezeway_grpc_interop::server;
use bytes::Bytes;
use http::Response;
use http_body::Frame;
use tokio::sync::mpsc;
use tonic::body::Body;
use tonic::{Code, Request, Status};
use tower::layer::layer_fn;
use tower::util::MapResponse;

use crate::support::{addresses, any, connect, recording, run, soon};

#[test]
fn deadline_covers_a_connect_that_later_calls_share() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        // The listener accepts nothing: a client that connects waits for its handshake, for an
        // hour.
        let silent = UnixListener::bind(&path).unwrap();
        let hour = Duration::from_secs(3600);
        let endpoint = Endpoint::new(format!("shm:{}", path.display())).unwrap();
        let channel = endpoint.connect_timeout(hour).connect_lazy();
        for _ in 0..3 {
            let mut request = tonic::Request::new(Empty {});
            request.set_timeout(Duration::from_millis(50));
            let status = client(any(channel.clone())).empty_call(request).await.unwrap_err();
            assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
        }
        // One connection for all of them. It stays open: if its connection ended, the client would
        // treat the server as one that supports only HTTP/2, and connect again.
        let _first = silent.accept().unwrap();
        silent.set_nonblocking(true).unwrap();
        let more = silent.accept().map(drop).unwrap_err();
        assert_eq!(more.kind(), std::io::ErrorKind::WouldBlock);
    });
}

#[test]
fn server_receives_timeout_less_the_connecting_time() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let (layer, timeouts) = recording(|request| {
            let timeout = request.metadata().get("grpc-timeout").expect("a timeout");
            timeout.to_str().unwrap().to_owned()
        });
        let address = format!("shm:{}", folder.path().join("socket").display());
        let bound = Server::builder().layer(layer).add_service(server()).bind(&address).unwrap();
        tokio::spawn(bound.serve());
        let channel = any(Endpoint::new(&address).unwrap().connect_lazy());
        for _ in 0..2 {
            let mut request = Request::new(Empty {});
            request.set_timeout(Duration::from_secs(90));
            client(channel.clone()).empty_call(request).await.unwrap();
        }
        let timeouts = timeouts.lock().unwrap();
        let [first, second] = &timeouts[..] else { panic!("{timeouts:?}") };
        // The call that connected sends less; the one that found a connection sends its full
        // timeout.
        assert!(first.ends_with('u') && first < second, "{timeouts:?}");
        assert_eq!(second, "90000000u");
    });
}

/// A response without an end, which announces its drop.
struct Endless(mpsc::UnboundedSender<()>);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        const MESSAGE: &[u8] = &[0; 5];
        Poll::Ready(Some(Ok(Frame::data(MESSAGE.repeat(1000).into()))))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.send(());
    }
}

#[test]
fn endless_response_ends_at_the_deadline() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let (sender, mut dropped) = mpsc::unbounded_channel();
            let endless = move |response: Response<Body>| response.map(|_| Endless(sender.clone()));
            let server = Server::builder()
                .timeout(Duration::from_millis(100))
                .layer(layer_fn(move |inner| MapResponse::new(inner, endless.clone())))
                .add_service(server());
            let bound = server.bind(&address).unwrap();
            let address = bound.address().to_string();
            let serving = tokio::spawn(bound.serve());
            for gear in [Gear::Http2, Gear::Native] {
                for reads in [true, false] {
                    println!("{address} {gear:?}, the client reads: {reads}");
                    let mut client = client(connect(&address, gear).await);
                    // The deadline may pass before the response begins.
                    let begun = async {
                        loop {
                            let request = StreamingOutputCallRequest::default();
                            match client.streaming_output_call(request).await {
                                Ok(response) => return response.into_inner(),
                                Err(status) => assert_eq!(status.code(), Code::DeadlineExceeded),
                            }
                        }
                    };
                    let mut messages = soon(begun).await;
                    if reads {
                        let status = loop {
                            match messages.message().await {
                                Ok(message) => assert!(message.is_some()),
                                Err(status) => break status,
                            }
                        };
                        // HTTP/2 resets a call if its client leaves no room at that moment.
                        let is_reset = gear == Gear::Http2 && status.code() == Code::Cancelled;
                        assert!(is_reset || status.code() == Code::DeadlineExceeded, "{status:?}");
                    }
                    soon(dropped.recv()).await.unwrap();
                }
            }
            serving.abort();
        }
    });
}
