//! Sides that are short of private memory for messages on sockets.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use breezeway::{Place, describe};
use breezeway_adversary::Connection;
use breezeway_adversary::native::frame::{Header, greet};
use breezeway_adversary::stopwatch::eventually;
use breezeway_tokio::{Address, CallError, Session, SessionOptions};
use tokio::task::spawn_blocking;

use crate::support::{Echo, PATIENCE, Process, addresses, on_both_runtimes, one_thread, say, soon};

/// Address space that the process which is short of memory has beside its own.
const SPARE: u64 = 150 << 20;
/// Bytes of a message that finds no room in that.
const HUGE: usize = 256 << 20;
const CAP: u64 = 1 << 30;

fn options() -> SessionOptions {
    SessionOptions::new().cap(CAP).handshake_timeout(PATIENCE)
}

fn limit_address_space() {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    let limit = pages * 4096 + SPARE;
    let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: the pointer is to a local of the type that setrlimit(2) reads.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

/// The role: a server that echoes and is short of memory.
pub(crate) fn serve_short_of_memory(address: &Address) {
    one_thread().block_on(async {
        let echo = Echo::start(address, &options());
        limit_address_space();
        say(&echo.address);
        echo.serving.await.unwrap().unwrap();
    });
}

/// The role: a client that is short of memory for a reply.
pub(crate) fn call_short_of_memory(address: &Address) {
    let request = vec![7; HUGE];
    one_thread().block_on(async {
        let shared = Session::connect_with(address, &options()).await.unwrap();
        shared.call(0, b"small").await.unwrap();
        limit_address_space();
        names_the_limit(&shared.call(0, &request).await.map(drop).unwrap_err());
        assert_eq!(shared.call(0, b"small").await.unwrap().to_vec(), b"small");
    });
    say("goes on");
}

#[track_caller]
fn names_the_limit(error: &CallError) {
    let text = describe(error);
    assert!(text.contains("RLIMIT_AS") && text.contains(&format!("{HUGE} bytes")), "{text}");
}

/// Starts a server that is short of memory on each kind of socket.
fn short_servers() -> Vec<(Process, Address, tempfile::TempDir)> {
    let start = |number: usize| {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Process::start("short server", &addresses(folder.path())[number]);
        let address = server.hear().parse().unwrap();
        (server, address, folder)
    };
    [1, 2].map(start).into()
}

#[test]
fn request_without_room_fails_by_name_and_session_goes_on() {
    on_both_runtimes(|| async {
        for (_server, address, _folder) in short_servers() {
            let shared = Session::connect_with(&address, &options()).await.unwrap();
            let request = vec![7; HUGE];
            names_the_limit(&soon(shared.call(0, &request)).await.map(drop).unwrap_err());
            assert_eq!(soon(shared.call(0, b"small")).await.unwrap().to_vec(), b"small");
        }
    });
}

/// Address space that a process may still take, in bytes.
fn free_address_space(pid: u32) -> usize {
    let text = |file| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let number = |text: String, name| -> usize {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    number(text("limits"), "Max address space") - number(text("status"), "VmSize:") * 1024
}

/// Sends a request as far as the server takes it while it is short of memory for the rest, or all
/// but the last byte, if the server is done with the shortage before.
fn send_half_a_request(peer: &mut Connection, server: u32) {
    // The session's earlier buffer is part of that room.
    let room = free_address_space(server) + (64 << 10);
    peer.set_write_timeout(Duration::from_millis(100));
    peer.write_all(&Header::request(1, 0, HUGE).bytes()).unwrap();
    let body = vec![0; HUGE - 1];
    let mut sent = 0;
    while sent < body.len() {
        match peer.write(&body[sent..]) {
            Ok(len) => sent += len,
            Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
            // Each buffer has room for twice of what has come.
            Err(_) if 2 * sent > room => break,
            Err(_) => {}
        }
    }
}

#[test]
fn dead_client_with_half_a_request_ends_its_session() {
    on_both_runtimes(|| async {
        for (server, address, _folder) in short_servers() {
            // The file of statistics comes with the first session.
            let before = server.open_files() + 1;
            let leaving = spawn_blocking(move || {
                let mut peer = match &address.places()[0] {
                    Place::Tcp { host, port } => Connection::tcp(host, *port).unwrap(),
                    place => Connection::unix(place.path().unwrap()).unwrap(),
                };
                greet(&mut peer, CAP);
                send_half_a_request(&mut peer, server.pid());
                assert!(server.open_files() > before);
                drop(peer);
                eventually("the end of the session", || server.open_files() <= before);
            });
            leaving.await.unwrap();
        }
    });
}

#[test]
fn reply_without_room_fails_by_name_and_session_goes_on() {
    on_both_runtimes(|| async {
        let folder = tempfile::tempdir().unwrap();
        for address in &addresses(folder.path())[1..3] {
            let echo = Echo::start(address, &options());
            let mut client = Process::start("short client", &echo.address);
            assert_eq!(spawn_blocking(move || client.hear()).await.unwrap(), "goes on");
            echo.stop().await;
        }
    });
}
