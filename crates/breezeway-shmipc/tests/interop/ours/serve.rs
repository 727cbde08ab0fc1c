//! The answering side.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use breezeway_shmipc::{Server, Session, Stream, StreamError};

use super::super::pattern;
use super::settings::Settings;
use super::{Outcome, commands, say};

/// Time in which clients must follow a hot restart.
const PATIENCE: Duration = Duration::from_secs(20);

/// Number of accepted streams.
pub(super) static STREAMS: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy)]
enum Role {
    /// Serves all streams of a session on one thread.
    Echo,
    /// Serves each stream on a thread.
    EchoByThreads,
    /// Reports the received bytes.
    Sink,
    /// Sends this many bytes, and closes.
    Source(usize),
}

pub(super) fn run(settings: &Settings) -> Outcome<()> {
    let role = match settings.find("role").unwrap_or("echo") {
        "echo" => Role::Echo,
        "threads" => Role::EchoByThreads,
        "sink" => Role::Sink,
        "source" => Role::Source(settings.get("amount", 0)),
        other => return Err(format!("no role {other}").into()),
    };
    let server = Arc::new(settings.listen()?);
    let accepting = Arc::clone(&server);
    std::thread::spawn(move || {
        while let Some(session) = accepting.accept() {
            sessions().push(session.clone());
            std::thread::spawn(move || answer(&session, role));
        }
    });
    obey(&server)
}

/// Runs the commands in the lines of the standard input, until it ends.
fn obey(server: &Server) -> Outcome<()> {
    for line in commands() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["streams"] => say(format_args!("streams {}", STREAMS.load(Ordering::Relaxed))),
            ["hot-restart", epoch] => {
                let report = server.hot_restart(epoch.parse()?, PATIENCE);
                match report.missing {
                    0 => say("restarted"),
                    _ => say(format_args!("failed: {report:?}")),
                }
            }
            ["sessions"] => {
                let live = sessions().iter().filter(|session| session.ended().is_none()).count();
                say(format_args!("sessions {live}"));
            }
            // The session ends, its handle stays.
            ["close-first"] => {
                sessions().iter().find(|session| session.ended().is_none()).map(Session::close);
                say("closed");
            }
            ["close"] => {
                server.close_sessions();
                say("closed");
            }
            _ => return Err(format!("no command '{line}'").into()),
        }
    }
    Ok(())
}

/// Returns the sessions that were accepted and not closed here, including those that are over.
fn sessions() -> MutexGuard<'static, Vec<Session>> {
    static SESSIONS: Mutex<Vec<Session>> = Mutex::new(Vec::new());
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(session: &Session, role: Role) {
    if let Role::Echo = role {
        // Once for each stream: later data belongs to the same stream.
        let mut known = std::collections::HashSet::new();
        session.serve(|stream| {
            if known.insert(stream.id()) {
                STREAMS.fetch_add(1, Ordering::Relaxed);
            }
            echo_what_came(stream)
        });
        // Printed for the report of a failing test.
        if let Some(end) = session.ended() {
            eprintln!("ours: a session ended: {end}");
        }
        return;
    }
    while let Ok(mut stream) = session.accept() {
        STREAMS.fetch_add(1, Ordering::Relaxed);
        std::thread::spawn(move || {
            let outcome = match role {
                Role::Echo | Role::EchoByThreads => echo(&mut stream),
                Role::Sink => sink(&mut stream),
                Role::Source(amount) => source(&mut stream, amount),
            };
            if let Err(error) = outcome {
                eprintln!("ours: stream {} failed: {error}", stream.id());
            }
        });
    }
}

/// Echoes the received bytes, and does not wait for more.
fn echo_what_came(stream: &mut Stream) -> Result<(), StreamError> {
    let Some(peeked) = stream.try_peek()? else { return Ok(()) };
    let bytes = peeked.to_vec();
    stream.release(bytes.len());
    match stream.send(&bytes) {
        // The client no longer waits for an answer.
        Err(StreamError::Closed) => Ok(()),
        outcome => outcome,
    }
}

fn echo(stream: &mut Stream) -> Outcome<()> {
    while let Some(peeked) = stream.peek()? {
        let bytes = peeked.to_vec();
        stream.release(bytes.len());
        stream.send(&bytes)?;
    }
    Ok(())
}

fn sink(stream: &mut Stream) -> Outcome<()> {
    let mut received = Vec::new();
    stream.read_to_end(&mut received)?;
    let intact = pattern::matches(&received, pattern::seed(0));
    say(format_args!("received {} {}", received.len(), if intact { "intact" } else { "damaged" }));
    Ok(())
}

/// Answers the first byte with `amount` bytes.
fn source(stream: &mut Stream, amount: usize) -> Outcome<()> {
    stream.read_exact(&mut [0])?;
    let mut bytes = vec![0; amount];
    pattern::fill(&mut bytes, pattern::seed(0));
    stream.send(&bytes)?;
    Ok(())
}
