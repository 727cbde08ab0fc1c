//! The conversations of `docs/vectors`, held by a server's workers: exclusive sessions with clients
//! that take no streams, and shared ones with others.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread::{self, Thread};

use breezeway::{
    Address, Call, ErrorCode, HandlerError, OwnedCall, Server, ServerOptions, SessionOptions,
    Stream,
};
use breezeway_adversary::vectors::{
    Conversation, DROP, HOLD, MAX_METADATA, MAX_STREAMS, RESET, RESET_CODE, WINDOW, conversations,
};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until the stream is reset or its session is over.
fn hold(mut stream: Stream) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    while stream.sender().poll_reset(&mut cx).is_pending() {
        thread::park();
    }
}

fn on_stream(method: u32, mut stream: Stream) -> Result<(), HandlerError> {
    match method {
        HOLD => hold(stream),
        RESET => {
            stream.receive()?;
            stream.reset(ErrorCode::Application(RESET_CODE));
        }
        DROP => while stream.receive()?.is_some_and(|message| !message.is_empty()) {},
        _ => {
            while let Some(message) = stream.receive()? {
                if message.is_message() {
                    stream.send(&message.to_vec())?;
                }
            }
            stream.finish()?;
        }
    }
    Ok(())
}

/// Plays the conversations against a server with one worker, which serves streams or none.
fn play(has_streams: bool, check: impl Fn(&Conversation, &Path) -> Result<(), String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    let session = SessionOptions::new()
        .max_streams(MAX_STREAMS)
        .stream_window(WINDOW.0, WINDOW.1)
        .max_metadata(MAX_METADATA.into());
    let options = ServerOptions::new().session(session).workers(1);
    let server = Server::bind_with(Address::unix(path.clone()), options).unwrap();
    let server = if has_streams { server.on_stream(on_stream) } else { server };
    let stopper = server.stopper();
    let held = Arc::new(Mutex::new(Vec::<OwnedCall>::new()));
    let holding = Arc::clone(&held);
    thread::scope(|scope| {
        let serving = scope.spawn(move || {
            server.serve(move |call: Call<'_>| {
                if call.method() != HOLD || call.is_one_way() {
                    return call.echo();
                }
                let (later, replied) = call.defer()?;
                holding.lock().unwrap().push(later);
                Ok(replied)
            })
        });
        let mut wrong = Vec::new();
        for conversation in conversations() {
            wrong.extend(check(&conversation, &path).err());
            held.lock().unwrap().clear();
        }
        stopper.stop();
        serving.join().unwrap().unwrap();
        assert!(wrong.is_empty(), "{wrong:#?}");
    });
}

#[test]
fn server_answers_match_the_vectors() {
    play(false, |conversation, path| {
        if conversation.takes_streams() {
            return Ok(());
        }
        conversation.check("exclusive", path)
    });
}

#[test]
fn answers_of_server_with_streams_match_the_vectors() {
    play(true, |conversation, path| {
        let engine = if conversation.takes_streams() { "shared" } else { "exclusive" };
        conversation.check(engine, path)
    });
}

#[test]
fn pending_conversations_forgive_no_other_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || listener.incoming().for_each(drop));
    for conversation in conversations() {
        let [plain, pending @ ..] = ["no engine", "exclusive", "shared", "tokio", "go"]
            .map(|engine| conversation.check(engine, &path).is_err());
        assert_eq!(pending, [plain; 4], "{conversation:?}");
    }
}
