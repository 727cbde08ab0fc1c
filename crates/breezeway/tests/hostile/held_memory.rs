//! Clients that keep the memory that a server has handed out to them.

use std::path::Path;
use std::thread;

use breezeway::{
    Address, CallError, ConnectError, ExclusiveSession, Monitor, Server, ServerOptions, Session,
    Stopper,
};
use breezeway_adversary::native::layout::control;
use breezeway_adversary::native::{Peer, Terms};
use breezeway_adversary::stopwatch::eventually;

use super::service::{ECHO, ECHO_STREAM, Service, on_stream};
use super::stage::options;
use super::watchdog::{GENEROUS, within};

/// Returns the options of every server here.
fn server() -> ServerOptions {
    ServerOptions::new().session(options())
}

/// A server with these options, of which `usage` is a client.
fn with_server(server: ServerOptions, usage: impl FnOnce(&Path, Monitor)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("holding.sock");
    let server = Server::bind_with(Address::shm(&path), server).unwrap();
    let server = server.on_stream(on_stream);
    let (monitor, stopper) = (server.monitor(), server.stopper());
    thread::scope(|scope| {
        scope.spawn(|| server.serve(Service::default()).unwrap());
        // Also if that panics.
        let _stop = StopOnDrop(stopper);
        usage(&path, monitor);
    });
}

struct StopOnDrop(Stopper);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn connect(path: &Path) -> Result<ExclusiveSession, ConnectError> {
    ExclusiveSession::connect_with(Address::shm(path), &options())
}

#[test]
fn memory_kept_after_session_end_counts_against_user() {
    within(GENEROUS, || {
        let one = control::size(Terms::default().ring_capacity) as u64;
        let server = server().max_memory_of_user(2 * one + 100);
        with_server(server, |path, monitor| {
            let Peer { socket, view, .. } = Peer::connect(path, Terms::default());
            drop(socket);
            eventually("its session ends", || monitor.stats().sessions.is_empty());
            assert_eq!(monitor.stats().memory, one, "the client has it mapped still");
            let _other = connect(path).unwrap();
            let refused = connect(path).err().expect("no room");
            let said = refused.to_string();
            assert!(said.contains("the server's max_memory_of_user allows"), "{said}");
            eventually("it is counted", || monitor.stats().beyond_memory == 1);
            drop(view);
            // A child that another test forks has it until it executes a program.
            eventually("the kernel has it back", || monitor.stats().memory == one);
            connect(path).unwrap();
        });
    });
}

#[test]
fn reply_over_memory_limit_fails_by_name() {
    within(GENEROUS, || {
        with_server(server().max_memory(1 << 20), |path, monitor| {
            let mut session = connect(path).unwrap();
            let error = session.call(ECHO, &[7; 2 << 20]).map(drop).unwrap_err();
            assert!(matches!(error, CallError::Failed { .. }), "{error:?}");
            assert!(error.to_string().contains("the server's max_memory allows"), "{error}");
            assert_eq!(session.call(ECHO, &[7; 10_000]).unwrap().to_vec(), [7; 10_000]);
            let stats = monitor.stats();
            assert!(stats.memory <= 1 << 20, "{}", stats.memory);
            assert!(stats.totals.no_memory > 0, "{stats:?}");
        });
    });
}

#[test]
fn reply_over_memory_limit_fails_on_shared_session() {
    within(GENEROUS, || {
        let one = control::size(Terms::default().ring_capacity) as u64;
        // With the second limit a longer reason finds no room either.
        for limit in [1 << 20, one + 100] {
            with_server(server().max_memory(limit), |path, _| {
                let shared = Session::connect_with(Address::shm(path), &options()).unwrap();
                // From now on the session is one that may have streams.
                shared.open(ECHO_STREAM).unwrap();
                let error = shared.call(ECHO, &[7; 2 << 20]).map(drop).unwrap_err();
                assert!(matches!(error, CallError::Failed { .. }), "{error:?}");
                assert!(error.to_string().contains("the server's max_memory allows"), "{error}");
                assert_eq!(shared.call(ECHO, &[7; 100]).unwrap().to_vec(), [7; 100]);
            });
        }
    });
}

#[test]
fn ready_memory_of_connecting_clients_stays_in_limit() {
    within(GENEROUS, || {
        const LIMIT: u64 = 1 << 20;
        let ready = server().session(options().prefault(LIMIT / 4));
        with_server(ready.max_memory(LIMIT), |path, monitor| {
            let one = control::size(Terms::default().ring_capacity) as u64;
            let mut kept = Vec::new();
            for number in 1..=10 {
                kept.push(Peer::connect(path, Terms::default()));
                // It comes when the hello is answered. Three have theirs, and the others a session.
                let expected = number * one + number.min(3) * (LIMIT / 4);
                eventually("it is ready", || monitor.stats().memory == expected);
            }
            drop(kept);
            // A child that another test forks has it until it executes a program.
            eventually("the kernel has it back", || monitor.stats().memory == 0);
            let mut session = connect(path).unwrap();
            assert_eq!(session.call(ECHO, &[7; 10_000]).unwrap().to_vec(), [7; 10_000]);
        });
    });
}
