//! Private memory of a server after clients that made it hold much.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use breezeway_shmipc::{
    Address, Client, ClientOptions, Server, ServerOptions, Session, SessionOptions, Stream, Trust,
};

use crate::child::{self, Running};
use crate::victim::{PATIENCE, send_back};

/// Memory that a server may keep: bookkeeping, and the allocator's reserves.
const KEPT: usize = 16 << 20;

/// Serves an echo until the process is killed.
fn serve() {
    let path = child::folder().join("echo.sock");
    let options = ServerOptions::new(Trust::SameUser);
    Server::bind(&Address::Unix(path), options).unwrap().serve(send_back);
}

fn client(path: &Path) -> Option<Client> {
    let session = SessionOptions::new().handshake_timeout(PATIENCE).patience(Duration::ZERO);
    let options = ClientOptions::new(Trust::SameUser).session(session);
    let options = options.buffer_size(1 << 20).slices([(1004, 50), (4076, 50)]);
    Client::connect(&Address::Unix(path.to_owned()), options).ok()
}

/// Sends on `streams` streams of one session, reads nothing, and ends the session.
///
/// The session ends before its streams. If it lasts while streams end and its socket is full, the
/// server starts threads that flush the socket. Small blocks of such a thread lie among the held
/// bytes, and are freed at its end. If that comes after the session's end, glibc keeps the heap.
fn hold_memory(path: &Path, streams: usize) {
    let client = client(path).unwrap();
    let message = vec![7; (64 << 20) / streams];
    let mut open: Vec<_> = (0..streams).map(|_| client.open().unwrap()).collect();
    std::thread::scope(|scope| {
        for stream in &mut open {
            scope.spawn(|| fill(stream, &message));
        }
    });
    client.sessions().iter().for_each(Session::close);
}

fn fill(stream: &mut Stream, message: &[u8]) {
    stream.set_write_timeout(Some(Duration::from_millis(200)));
    while stream.write_all(message).is_ok() {}
}

#[test]
fn private_memory_returns_after_streams_that_held_it() {
    let test = "returned_memory::private_memory_returns_after_streams_that_held_it";
    let Some(server) = child::start(test, serve) else { return };
    let path = server.folder().join("echo.sock");
    let until = Instant::now() + PATIENCE;
    while client(&path).is_none() {
        assert!(Instant::now() < until, "the server listens");
    }
    let before = private_memory(&server);
    for streams in [3, 100, 20, 100] {
        hold_memory(&path, streams);
        let until = Instant::now() + PATIENCE;
        while private_memory(&server) > before + KEPT {
            let kept = private_memory(&server) - before;
            assert!(Instant::now() < until, "{kept} bytes are kept after {streams} streams");
            std::thread::yield_now();
        }
    }
}

/// Returns the anonymous memory of the server's process, in bytes.
fn private_memory(server: &Running) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}
