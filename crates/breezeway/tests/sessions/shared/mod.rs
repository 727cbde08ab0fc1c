//! Sessions that threads share, and streams.

mod calls;
mod closing;
mod drivers;
mod large_echoes;
mod last_replies;
mod limits;
mod resending;
mod spaces;
mod stand_ins;
mod streams;
mod waiters;

use std::thread;

use breezeway::{Incoming, OwnedCall, ServerSession, Session, SessionOptions, Stream, WaitPolicy};

/// Maximum wait for something that must come.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// Both ends, with these options on either side.
fn pair(options: &SessionOptions) -> (Session, ServerSession) {
    Session::pair(options).unwrap()
}

fn every_policy(test: impl Fn(&SessionOptions)) {
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park, WaitPolicy::Busy] {
        test(&SessionOptions::new().wait(policy));
    }
}

/// Serves every stream on a thread of its own, and calls on the thread that accepts.
fn serve<R>(
    server: ServerSession,
    call: impl Fn(OwnedCall) -> R + Send + 'static,
    stream: impl Fn(u32, Stream) + Clone + Send + 'static,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut streams = Vec::new();
        while let Some(incoming) = server.accept().unwrap() {
            match incoming {
                Incoming::Call(incoming) => drop(call(incoming)),
                Incoming::Stream(method, incoming) => {
                    let stream = stream.clone();
                    streams.push(thread::spawn(move || stream(method, incoming)));
                }
            }
        }
        for stream in streams {
            stream.join().unwrap();
        }
    })
}
