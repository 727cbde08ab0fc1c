//! Streams that a server opens to its clients, from what its handlers have kept.

use std::sync::{Arc, Mutex};

use breezeway_tokio::{
    OwnedCall, Server, ServerOptions, Session, SessionId, Stopper, Stream, StreamError,
    StreamOpener,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

use crate::support::{PATIENCE, addresses, on_both_runtimes, soon};

/// A server whose handlers give what opens streams to the test, and the ends of sessions.
struct Opening {
    address: breezeway_tokio::Address,
    stopper: Stopper,
    serving: JoinHandle<Result<(), breezeway_tokio::ServeError>>,
    opened: UnboundedReceiver<StreamOpener>,
    ended: UnboundedReceiver<SessionId>,
}

impl Opening {
    fn start(address: &breezeway_tokio::Address, options: ServerOptions) -> Self {
        let ((sender, opened), (ends, ended)) = (unbounded_channel(), unbounded_channel());
        let options = options.on_session_end(move |id, _| ends.send(id).unwrap());
        let server = Server::bind_with(address, options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let of_calls = sender.clone();
        let call = move |call: OwnedCall| {
            let stream_opener = StreamOpener::of(&call).unwrap();
            assert_eq!(stream_opener.session(), call.session());
            of_calls.send(stream_opener).unwrap();
            let _ = call.reply(b"");
            std::future::ready(())
        };
        let stream = move |_, mut stream: Stream| {
            sender.send(stream.stream_opener().unwrap()).unwrap();
            async move { stream.finish().await.unwrap() }
        };
        let serving = tokio::spawn(server.serve_streams(call, stream));
        Self { address, stopper, serving, opened, ended }
    }

    /// Returns the back shared that the handler of the last call or stream has sent.
    async fn next(&mut self) -> StreamOpener {
        soon(self.opened.recv()).await.expect("the handler has run")
    }
}

/// Sends and receives on a stream that the server opens.
async fn converse(stream_opener: &StreamOpener, client: &Session) {
    let stream_opener = stream_opener.clone();
    let opening = tokio::spawn(async move {
        let mut stream = stream_opener.request(7).metadata(b"about").open().await.unwrap();
        assert_eq!(stream.session(), stream_opener.session());
        for len in [0, 10, 10_000] {
            stream.send(&vec![3; len]).await.unwrap();
        }
        assert_eq!(stream.receive().await.unwrap().unwrap().to_vec(), b"thanks");
        stream.finish().await.unwrap();
        assert!(stream.receive().await.unwrap().is_none());
    });
    let (method, mut stream) = soon(client.accept()).await.unwrap();
    assert_eq!(method, 7);
    let about = soon(stream.receive()).await.unwrap().unwrap();
    assert_eq!((about.metadata(), about.is_message()), (Some(&b"about"[..]), false));
    for len in [0, 10, 10_000] {
        assert!(soon(stream.receive()).await.unwrap().unwrap().to_vec() == vec![3; len]);
    }
    stream.send(b"thanks").await.unwrap();
    stream.finish().await.unwrap();
    assert!(soon(stream.receive()).await.unwrap().is_none());
    soon(opening).await.unwrap();
}

#[test]
fn handlers_let_any_task_open_streams_to_client() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let mut server = Opening::start(&address, ServerOptions::new());
            let client = Session::connect(&server.address).await.unwrap();
            let other = Session::connect(&server.address).await.unwrap();
            soon(client.call(0, b"")).await.unwrap();
            let of_call = server.next().await;
            let _stream = soon(client.open(0)).await.unwrap();
            let of_stream = server.next().await;
            soon(other.call(0, b"")).await.unwrap();
            let of_other = server.next().await;
            for stream_opener in [&of_call, &of_stream] {
                assert_eq!(stream_opener.session(), of_call.session());
                converse(stream_opener, &client).await;
            }
            assert_ne!(of_other.session(), of_call.session());
            converse(&of_other, &other).await;
            server.stopper.stop();
            soon(server.serving).await.unwrap().unwrap();
        }
    });
}

async fn assert_over(stream_opener: &StreamOpener) {
    match soon(stream_opener.open(0)).await.err().expect("the session is over") {
        StreamError::Session(error) => assert!(!error.session_goes_on(), "{error:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_that_is_gone_is_an_error() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let mut server = Opening::start(&address, ServerOptions::new());
            let client = Session::connect(&server.address).await.unwrap();
            soon(client.call(0, b"")).await.unwrap();
            let stream_opener = server.next().await;
            drop(client);
            assert_eq!(soon(server.ended.recv()).await, Some(stream_opener.session()));
            assert_over(&stream_opener).await;
            server.stopper.stop();
            soon(server.serving).await.unwrap().unwrap();
            assert_over(&stream_opener).await;
        }
    });
}

#[test]
fn one_that_is_kept_keeps_no_server_from_ending() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let options = ServerOptions::new().drain_timeout(100 * PATIENCE);
            let mut server = Opening::start(&address, options);
            let client = Session::connect(&server.address).await.unwrap();
            soon(client.call(0, b"")).await.unwrap();
            let stream_opener = server.next().await;
            server.stopper.stop();
            // The drain timeout is long: a session in use would keep the server.
            soon(server.serving).await.unwrap().unwrap();
            assert_over(&stream_opener).await;
            drop(client);
        }
    });
}

#[test]
fn a_session_has_one_id_in_its_hooks_calls_and_streams() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for address in addresses(folder.path()) {
            let started = Arc::new(Mutex::new(Vec::new()));
            let starts = Arc::clone(&started);
            let options = ServerOptions::new();
            let options = options.on_session_start(move |id, _| starts.lock().unwrap().push(id));
            let mut server = Opening::start(&address, options);
            let mut ids = Vec::new();
            for _ in 0..2 {
                let client = Session::connect(&server.address).await.unwrap();
                soon(client.call(0, b"")).await.unwrap();
                let of_call = server.next().await.session();
                let _stream = soon(client.open(0)).await.unwrap();
                assert_eq!(server.next().await.session(), of_call);
                drop((client, _stream));
                assert_eq!(soon(server.ended.recv()).await, Some(of_call));
                ids.push(of_call);
            }
            assert!(ids[0] != ids[1]);
            assert_eq!(*started.lock().unwrap(), ids);
            server.stopper.stop();
            soon(server.serving).await.unwrap().unwrap();
        }
    });
}
