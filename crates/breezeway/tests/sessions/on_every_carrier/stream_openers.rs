//! Streams that a server opens to its clients, from what its handlers have kept.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use breezeway::{
    Call, Handled, Server, ServerOptions, Session, SessionId, Stopper, Stream, StreamError,
    StreamOpener,
};

use crate::support::{Folder, PATIENCE, connect, patient, wait_for, within};

/// Methods: the handler's action before its reply.
const ON_CALL: u32 = 0;
const DEFERRED: u32 = 1;

/// A server whose handlers give what opens streams to the test, and the ends of sessions.
struct Opening {
    folder: Folder,
    stopper: Stopper,
    serving: JoinHandle<Result<(), breezeway::ServeError>>,
    opened: Receiver<Option<StreamOpener>>,
    ended: Receiver<SessionId>,
}

impl Opening {
    fn start(options: ServerOptions) -> Self {
        let folder = Folder::new();
        let ((sender, opened), (ends, ended)) = (channel(), channel());
        let (sender, ends) = (Arc::new(Mutex::new(sender)), Mutex::new(ends));
        let options = options.on_session_end(move |id, _| ends.lock().unwrap().send(id).unwrap());
        let of_streams = Arc::clone(&sender);
        let server = Server::bind_with(folder.address(), options).unwrap();
        let server = server.on_stream(move |_, mut stream| {
            of_streams.lock().unwrap().send(stream.stream_opener())?;
            Ok(stream.finish()?)
        });
        let stopper = server.stopper();
        let handler = move |call: Call<'_>| handle(&sender, call);
        let serving = thread::spawn(move || server.serve(handler));
        Self { folder, stopper, serving, opened, ended }
    }

    fn connect(&self) -> Session {
        Session::connect_with(self.folder.address(), &patient()).unwrap()
    }

    /// Returns the back shared that the handler of the last call or stream has sent.
    #[track_caller]
    fn next(&self) -> Option<StreamOpener> {
        wait_for(&self.opened, PATIENCE).expect("the handler has run")
    }

    #[track_caller]
    fn stop(self) {
        self.stopper.stop();
        within(PATIENCE, "the end", move || self.serving.join().unwrap()).unwrap();
    }
}

fn handle(sender: &Mutex<Sender<Option<StreamOpener>>>, call: Call<'_>) -> Handled {
    if call.method() == ON_CALL {
        sender.lock().unwrap().send(call.stream_opener())?;
        return call.done();
    }
    let (call, later) = call.defer()?;
    let stream_opener = call.stream_opener();
    assert!(stream_opener.as_ref().is_none_or(|it| it.session() == call.session()));
    sender.lock().unwrap().send(stream_opener)?;
    call.done()?;
    Ok(later)
}

/// Sends and receives on a stream that the server opens.
#[track_caller]
fn converse(stream_opener: &StreamOpener, client: &Session) {
    let stream_opener = stream_opener.clone();
    let opening = thread::spawn(move || {
        let mut stream = stream_opener.request(7).metadata(b"about").open().unwrap();
        assert_eq!(stream.session(), stream_opener.session());
        for len in [0, 10, 10_000] {
            stream.send(&vec![3; len]).unwrap();
        }
        assert_eq!(stream.receive().unwrap().unwrap().to_vec(), b"thanks");
        stream.finish().unwrap();
        assert!(stream.receive().unwrap().is_none());
    });
    let (method, mut stream) = client.accept().unwrap();
    assert_eq!(method, 7);
    let about = stream.receive().unwrap().unwrap();
    assert_eq!((about.metadata(), about.is_message()), (Some(&b"about"[..]), false));
    for len in [0, 10, 10_000] {
        assert!(stream.receive().unwrap().unwrap().to_vec() == vec![3; len]);
    }
    stream.send(b"thanks").unwrap();
    stream.finish().unwrap();
    assert!(stream.receive().unwrap().is_none());
    opening.join().unwrap();
}

#[test]
fn handlers_let_any_thread_open_streams_to_client() {
    for options in [ServerOptions::new(), ServerOptions::new().offload(1)] {
        let server = Opening::start(options.session(patient()));
        let (client, other) = (server.connect(), server.connect());
        client.call(ON_CALL, b"").unwrap();
        let of_call = server.next().unwrap();
        client.call(DEFERRED, b"").unwrap();
        let of_deferred = server.next().unwrap();
        let _stream = client.open(0).unwrap();
        let of_stream = server.next().unwrap();
        other.call(ON_CALL, b"").unwrap();
        let of_other = server.next().unwrap();
        for stream_opener in [&of_call, &of_deferred, &of_stream] {
            assert_eq!(stream_opener.session(), of_call.session());
            converse(stream_opener, &client);
        }
        assert_ne!(of_other.session(), of_call.session());
        converse(&of_other, &other);
        server.stop();
    }
}

#[test]
fn a_plain_session_has_none() {
    for options in [ServerOptions::new(), ServerOptions::new().offload(1)] {
        let server = Opening::start(options.session(patient()));
        let mut session = connect(&server.folder);
        for method in [ON_CALL, DEFERRED] {
            session.call(method, b"").unwrap();
            assert!(server.next().is_none());
        }
        server.stop();
    }
}

#[track_caller]
fn assert_over(opened: Result<Stream, StreamError>) {
    match opened.err().expect("the session is over") {
        StreamError::Session(error) => assert!(!error.session_goes_on(), "{error:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_that_is_gone_is_an_error() {
    let server = Opening::start(ServerOptions::new().session(patient()));
    let client = server.connect();
    client.call(ON_CALL, b"").unwrap();
    let stream_opener = server.next().unwrap();
    drop(client);
    assert_eq!(wait_for(&server.ended, PATIENCE).unwrap(), stream_opener.session());
    assert_over(stream_opener.open(0));
    server.stop();
    assert_over(stream_opener.open(0));
}

#[test]
fn one_that_is_kept_keeps_no_server_from_ending() {
    let options = ServerOptions::new().session(patient()).drain_timeout(100 * PATIENCE);
    let server = Opening::start(options);
    let client = server.connect();
    client.call(ON_CALL, b"").unwrap();
    let stream_opener = server.next().unwrap();
    // The drain timeout is long: a session in use would keep the server.
    server.stop();
    assert_over(stream_opener.open(0));
    drop(client);
}

mod on_shm {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::support::stands_still;

    #[test]
    fn opening_that_waits_for_room_ends_with_the_session() {
        let options = patient().ring_capacity(16);
        let server = Opening::start(ServerOptions::new().session(options.clone()));
        let client = Session::connect_with(server.folder.address(), &options).unwrap();
        client.call(ON_CALL, b"").unwrap();
        let stream_opener = server.next().unwrap();
        let opened = Arc::new(AtomicU64::new(0));
        let opening = thread::spawn({
            let opened = Arc::clone(&opened);
            move || {
                let mut streams = Vec::new();
                loop {
                    match stream_opener.open(0) {
                        Ok(stream) => streams.push(stream),
                        failed => return assert_over(failed),
                    }
                    opened.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        // The client takes nothing.
        stands_still("no more room", &opened);
        drop(client);
        within(PATIENCE, "the end of opening", move || opening.join().unwrap());
        server.stop();
    }
}
