//! Sessions within a family: pairs, sockets that a child inherits, and forked children that must
//! not touch their parent's session.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use breezeway::{
    Call, CallError, ExclusiveServerSession, ExclusiveSession, HandlerError, Replied, Session,
    SessionError, SessionOptions, WaitPolicy, inherited,
};

use crate::support::content::message;
use crate::support::server::{
    self, ECHO, Everything, GIVE_GATED, SINK, ask_for, assert_serves, assert_takes_clients,
    policy_name, sinkable, tally,
};
use crate::support::{
    EVERY_POLICY, Folder, PROMPT, Process, Role, Server, Settings, eventually, hear, observe,
    patient, say, within,
};

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] = &[
    ("serving child", serve_stdin),
    ("calling child", call_stdin),
    ("refusing child", refuse_stdin),
    ("forker", use_the_session_in_a_forked_child),
    ("forking victim", fork_and_wait),
    ("forking server", serve_and_fork),
    ("session server forker", serve_in_a_forked_child),
    ("forking heir", fork_what_was_passed_on),
];

fn echo(call: Call<'_>) -> Result<Replied, HandlerError> {
    let bytes = call.request().to_vec();
    call.reply(&bytes)
}

// ---- pairs ----

// ---- inherited sockets ----

/// This process's standard input.
fn stdin() -> OwnedFd {
    std::io::stdin().as_fd().try_clone_to_owned().unwrap()
}

/// The role: serves the session on its standard input.
fn serve_stdin(settings: &Settings) {
    let socket = inherited(stdin()).unwrap();
    let session =
        ExclusiveServerSession::from_socket(socket, &server::session_options(settings)).unwrap();
    let everything = Everything::new(&Settings::new());
    let outcome = session.serve(&everything);
    let sunk = everything.sunk();
    say(match outcome {
        Ok(()) => format!("closed after {sunk}"),
        Err(SessionError::PeerDied) => format!("died after {sunk}"),
        Err(other) => format!("failed {}", breezeway::describe(&other)),
    });
}

/// The role: calls over the session on its standard input, by its parent's settings.
fn call_stdin(settings: &Settings) {
    let socket = inherited(stdin()).unwrap();
    let mut session =
        ExclusiveSession::from_socket(socket, &server::session_options(settings)).unwrap();
    assert_serves(&mut session);
    if settings.find("stay").unwrap_or(false) {
        say("called");
        loop {
            std::thread::park();
        }
    }
    drop(session);
    say("called");
}

/// The role: prints the error for a standard input that is not a session.
fn refuse_stdin(_settings: &Settings) {
    say(format!("refused {}", inherited(stdin()).unwrap_err()));
}

/// One end for this process, the other as a child's standard input.
fn child_with(role: &str, settings: &Settings) -> (OwnedFd, Process) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let child = Process::start_with(role, settings, OwnedFd::from(theirs));
    (ours.into(), child)
}

// ---- forked children ----

/// Forks, lets the child do `work`, and gives how it ended: its exit status, or the signal that
/// ended it.
pub(crate) fn in_forked_child(work: impl FnOnce() -> i32) -> Result<i32, i32> {
    // SAFETY: the calling role has one thread that runs and the test harness's, which sleeps, so no
    // lock is held by another thread while the memory is copied.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork");
    if child == 0 {
        // Whatever hangs is ended by the kernel.
        // SAFETY: sets a timer, touches no memory.
        unsafe { libc::alarm(5) };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        // SAFETY: ends this process at once, as a forked child should that must not run its
        // parent's destructors.
        unsafe { libc::_exit(outcome.unwrap_or(99)) }
    }
    let mut status = 0;
    // SAFETY: waits for the child made above, and fills in one local integer.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child);
    if libc::WIFEXITED(status) {
        Ok(libc::WEXITSTATUS(status))
    } else {
        Err(libc::WTERMSIG(status))
    }
}

/// 0 if a use of a session was refused as it must be in a forked child.
fn is_forked<T>(outcome: Result<T, CallError>) -> i32 {
    match outcome {
        Err(CallError::Forked) => 0,
        Err(_) => 2,
        Ok(_) => 1,
    }
}

/// The role: does one thing with its session in a forked child, and goes on.
fn use_the_session_in_a_forked_child(settings: &Settings) {
    let address: breezeway::Address = settings.get("address");
    let options = server::session_options(settings);
    let mut session = ExclusiveSession::connect_with(&address, &options).unwrap();
    assert_serves(&mut session);
    let used: String = settings.get("use");
    let pending = used == "receive";
    if pending {
        session.send(GIVE_GATED, &ask_for(5, 5000)).unwrap();
    }
    let outcome = match used.as_str() {
        "call" => in_forked_child(|| is_forked(session.call(ECHO, b"from the child").map(drop))),
        "large call" => {
            in_forked_child(|| is_forked(session.call(ECHO, message(1, 100_000)).map(drop)))
        }
        "post" => in_forked_child(|| is_forked(session.post(SINK, &sinkable(1, 0, 10)))),
        "send" => in_forked_child(|| is_forked(session.send(ECHO, b"from the child"))),
        "reserve" => in_forked_child(|| is_forked(session.reserve(5000).map(drop))),
        "small reserve" => in_forked_child(|| is_forked(session.reserve(50).map(drop))),
        "batch" => in_forked_child(|| {
            let mut batch = session.batch();
            let outcome = is_forked(batch.post(ECHO, b"from the child"));
            drop(batch);
            outcome
        }),
        "receive" => in_forked_child(|| is_forked(session.receive().map(drop))),
        "drop" => {
            let mut kept = Some(session);
            let outcome = in_forked_child(|| {
                drop(kept.take());
                0
            });
            session = kept.take().expect("dropped in the child only");
            outcome
        }
        "twice" => in_forked_child(|| {
            let first = is_forked(session.call(ECHO, b"from the child").map(drop));
            first + is_forked(session.call(ECHO, b"from the child").map(drop))
        }),
        "stats" => in_forked_child(|| {
            let counted = session.stats().totals.calls_sent;
            i32::from(counted != 0) + is_forked(session.call(ECHO, b"from the child").map(drop))
        }),
        "shared" => {
            let shared = Session::connect_with(&address, &options).unwrap();
            assert_eq!(shared.call(ECHO, b"one").unwrap().to_vec(), b"one");
            let mut kept = Some(shared);
            let outcome = in_forked_child(|| {
                let shared = kept.take().expect("the parent's shared");
                let counted = shared.stats().totals.calls_sent != 0;
                let called = shared.call(ECHO, b"from the child").is_ok();
                i32::from(called) + i32::from(counted)
            });
            let shared = kept.take().expect("taken in the child only");
            assert_eq!(shared.call(ECHO, b"two").unwrap().to_vec(), b"two");
            outcome
        }
        "own session" => in_forked_child(|| {
            let mut own = ExclusiveSession::connect_with(&address, &options).unwrap();
            assert_serves(&mut own);
            is_forked(session.call(ECHO, b"from the child").map(drop))
        }),
        "grandchild" => in_forked_child(|| {
            in_forked_child(|| is_forked(session.call(ECHO, b"from the grandchild").map(drop)))
                .unwrap_or(98)
        }),
        other => panic!("use {other}"),
    };
    say(format!("child {outcome:?}"));
    if pending {
        hear();
        assert!(session.receive().unwrap().to_vec() == message(5, 5000));
    }
    assert_serves(&mut session);
    say("went on");
}

#[track_caller]
fn forked_child_is_refused(used: &str) {
    for policy in EVERY_POLICY {
        let mut server = Server::start(Settings::new().with("gate", false));
        let settings = Settings::new()
            .with("address", server.address())
            .with("wait", policy_name(policy))
            .with("use", used);
        let mut forker = Process::start("forker", &settings);
        if used == "receive" {
            server.process.expect("waiting");
        }
        // Err is the number of a signal: 11 for memory that is not there, 14 for a hang.
        let outcome = forker.expect("child");
        assert_eq!(outcome, "Ok(0)", "{used} under {policy:?}");
        if used == "receive" {
            server.open_gate();
            forker.write_line("receive");
        }
        forker.expect("went on");
        forker.succeeds();
        assert_eq!(tally(&mut server.connect(&SessionOptions::new())), [0, 0, 0]);
    }
}

#[test]
fn a_forked_child_cannot_call_and_does_not_disturb_its_parent() {
    for used in ["call", "large call", "send", "twice", "grandchild"] {
        forked_child_is_refused(used);
    }
}

#[test]
fn forked_child_cannot_post_or_reserve() {
    for used in ["post", "batch", "reserve", "small reserve"] {
        forked_child_is_refused(used);
    }
}

#[test]
fn a_forked_child_has_no_numbers_of_its_parents_session() {
    forked_child_is_refused("stats");
}

#[test]
fn a_forked_child_cannot_use_its_parents_channel() {
    forked_child_is_refused("shared");
}

#[test]
fn a_forked_child_cannot_receive_its_parents_replies() {
    forked_child_is_refused("receive");
}

#[test]
fn forked_child_dropping_session_leaves_parents_open() {
    forked_child_is_refused("drop");
}

#[test]
fn a_forked_child_may_open_a_session_of_its_own() {
    forked_child_is_refused("own session");
}

/// The role: serves a session in a forked child of the process that opened it.
fn serve_in_a_forked_child(settings: &Settings) {
    let options = server::session_options(settings);
    let (mut client, session) = ExclusiveSession::pair(&options).unwrap();
    let mut session = Some(session);
    let outcome = in_forked_child(|| {
        let session = session.take().expect("the parent's session");
        match session.serve(&echo) {
            Err(SessionError::Forked) => 0,
            Ok(()) => 1,
            Err(_) => 2,
        }
    });
    say(format!("child {outcome:?}"));
    let session = session.take().expect("taken in the child only");
    std::thread::spawn(move || session.serve(&echo));
    assert_serves(&mut client);
    say("went on");
}

/// Forks a child that keeps everything open until the test is over, and gives its id.
fn idle_child() -> libc::pid_t {
    // SAFETY: as in `in_forked_child`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork");
    if child == 0 {
        // Not to outlive the test by much.
        // SAFETY: a timer and a sleep, no memory is touched.
        unsafe {
            libc::alarm(10);
            loop {
                libc::pause();
            }
        }
    }
    child
}

/// Ends a process that was left behind by the one that had forked it.
struct LeftBehind(rustix::process::Pid);

impl LeftBehind {
    fn new(pid: &str) -> Self {
        Self(rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap())
    }
}

impl Drop for LeftBehind {
    fn drop(&mut self) {
        // The child may have ended before.
        let _ = rustix::process::kill_process(self.0, rustix::process::Signal::KILL);
    }
}

/// The role: has a session, forks a child that holds it open, and waits.
fn fork_and_wait(settings: &Settings) {
    let options = server::session_options(settings);
    let mut session =
        ExclusiveSession::connect_with(settings.get::<breezeway::Address>("address"), &options)
            .unwrap();
    assert_serves(&mut session);
    say(format!("forked {}", idle_child()));
    if hear().is_some() {
        drop(session);
        say("closed");
        hear();
    }
}

#[test]
fn a_clients_forked_child_does_not_keep_a_closed_session_alive() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let before = server.at_rest();
    let settings = Settings::new().with("address", server.address());
    let mut victim = Process::start("forking victim", &settings);
    let _child = LeftBehind::new(&victim.expect("forked"));
    victim.write_line("close");
    victim.expect("closed");
    server.returns_to(before);
}

#[test]
fn descriptors_are_not_inherited_over_exec() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let settings = Settings::new().with("address", server.address());
    let mut client = Process::start("forking victim", &settings);
    let _child = LeftBehind::new(&client.expect("forked"));
    // Descriptors that both inherited: standard streams, and those that this process inherited
    // itself.
    let own = observe::inherited_over_exec(std::process::id());
    for pid in [server.pid(), client.pid()] {
        assert!(observe::descriptors(pid) > 3, "a session is under way");
        let inherited = observe::inherited_over_exec(pid);
        let kinds = ["anon_inode:", "socket:", "/memfd:"];
        let is_ours =
            |target: &&PathBuf| kinds.iter().any(|kind| target.to_string_lossy().starts_with(kind));
        let ours: Vec<_> = inherited.difference(&own).filter(is_ours).collect();
        assert!(ours.is_empty(), "process {pid}: {ours:?}");
    }
}

/// The role: serves, and at a line of input forks a child that holds everything open.
fn serve_and_fork(settings: &Settings) {
    let address: breezeway::Address = settings.get("address");
    let server = breezeway::Server::bind(&address).unwrap();
    say("listening");
    let serving = std::thread::spawn(move || server.serve(Everything::new(&Settings::new())));
    hear();
    say(format!("forked {}", idle_child()));
    hear();
    drop(serving);
}

/// The role: prints the number of sockets that were passed on to it, and that of its child.
fn fork_what_was_passed_on(_settings: &Settings) {
    let own = breezeway_os::inherited_listeners().len();
    let of_child = in_forked_child(|| breezeway_os::inherited_listeners().len() as i32);
    say(format!("has {own} and {of_child:?}"));
}

#[test]
fn forked_child_takes_no_sockets_passed_to_parent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut parent = Process::start_listening("forking heir", &Settings::new(), listener);
    assert_eq!(parent.expect("has"), "1 and Ok(0)");
}

#[test]
#[ignore = "a limit, named in docs/design.md: the kernel tells a client only which process called \
    listen(), which need not be the one that serves"]
fn a_dead_servers_forked_child_does_not_keep_its_sessions_alive() {
    for policy in EVERY_POLICY {
        let folder = Folder::new();
        let settings = Settings::new().with("address", folder.address());
        let mut server = Process::start("forking server", &settings);
        server.expect("listening");
        let options = patient().wait(policy);
        let mut session = ExclusiveSession::connect_with(folder.address(), &options).unwrap();
        assert_serves(&mut session);
        server.write_line("fork");
        let _child = LeftBehind::new(&server.expect("forked"));
        server.kill();
        eventually("it is gone", || observe::has_ended(server.pid()));
        let what = format!("the news under {policy:?}");
        let error = within(PROMPT, &what, move || session.call(ECHO, b"hi").unwrap_err());
        assert!(matches!(error, CallError::PeerDied), "{error:?}");
    }
}

/// Pairs and inherited sockets are in shared memory.
mod on_shm {
    use super::*;

    #[test]
    fn both_ends_of_a_pair_talk_within_one_process() {
        for policy in EVERY_POLICY {
            let (mut client, server) =
                ExclusiveSession::pair(&SessionOptions::new().wait(policy)).unwrap();
            assert_eq!(client.peer().pid, Some(std::process::id()));
            assert_eq!(server.peer().pid, Some(std::process::id()));
            let serving = std::thread::spawn(move || server.serve(&echo));
            for len in [0, 40, 104, 105, 100_000] {
                let request = message(len as u64, len);
                assert_eq!(client.call(ECHO, request).unwrap().to_vec(), request);
            }
            drop(client);
            within(PROMPT, "the end", move || serving.join().unwrap()).unwrap();
        }
    }

    #[test]
    fn a_pair_whose_server_end_is_dropped_is_closed() {
        let (mut client, server) = ExclusiveSession::pair(&SessionOptions::new()).unwrap();
        drop(server);
        assert!(matches!(client.call(ECHO, b"hi").unwrap_err(), CallError::Closed));
    }

    #[test]
    fn the_replies_of_a_pair_come_before_its_end() {
        let (mut client, server) = ExclusiveSession::pair(&SessionOptions::new()).unwrap();
        for number in 0..5 {
            client.send(ECHO, message(number, 500)).unwrap();
        }
        let serving = std::thread::spawn(move || server.serve(&echo));
        for number in 0..5 {
            assert_eq!(client.receive().unwrap().to_vec(), message(number, 500));
        }
        drop(client);
        within(PROMPT, "the end", move || serving.join().unwrap()).unwrap();
    }

    #[test]
    fn posts_before_client_closes_are_served() {
        for policy in EVERY_POLICY {
            let (mut client, server) =
                ExclusiveSession::pair(&SessionOptions::new().wait(policy)).unwrap();
            for number in 0..40 {
                client.post(SINK, &sinkable(1, number, 100)).unwrap();
            }
            drop(client);
            let (count, counter) = std::sync::mpsc::channel();
            let serving = std::thread::spawn(move || {
                server.serve(&move |call: Call<'_>| -> Result<Replied, HandlerError> {
                    count.send(call.request().len()).unwrap();
                    call.done()
                })
            });
            within(PROMPT, "the end", move || serving.join().unwrap()).unwrap();
            assert_eq!(counter.iter().count(), 40);
        }
    }

    #[test]
    fn a_child_serves_its_parent_over_an_inherited_socket() {
        for policy in EVERY_POLICY {
            let settings = Settings::new().with("wait", policy_name(policy));
            let (socket, mut child) = child_with("serving child", &settings);
            let options = patient().wait(policy);
            let mut session = ExclusiveSession::from_socket(socket, &options).unwrap();
            assert_serves(&mut session);
            drop(session);
            child.expect("closed");
            child.succeeds();
        }
    }

    #[test]
    fn a_parent_serves_its_child_over_an_inherited_socket() {
        for policy in EVERY_POLICY {
            let settings = Settings::new().with("wait", policy_name(policy));
            let (socket, mut child) = child_with("calling child", &settings);
            let options = patient().wait(policy);
            let session = ExclusiveServerSession::from_socket(socket, &options).unwrap();
            let outcome = within(PROMPT, "the child's end", move || session.serve(&echo));
            assert!(outcome.is_ok(), "{outcome:?}");
            child.expect("called");
            child.succeeds();
        }
    }

    #[test]
    fn a_serving_child_that_is_killed_has_died_and_did_not_close() {
        for policy in EVERY_POLICY {
            let settings = Settings::new().with("wait", policy_name(policy));
            let (socket, mut child) = child_with("serving child", &settings);
            let options = patient().wait(policy);
            let mut session = ExclusiveSession::from_socket(socket, &options).unwrap();
            assert_serves(&mut session);
            child.kill();
            let error = within(PROMPT, "the news", move || session.call(ECHO, b"hi").unwrap_err());
            assert!(matches!(error, CallError::PeerDied), "{error:?}");
        }
    }

    #[test]
    fn a_calling_child_that_is_killed_has_died_and_did_not_close() {
        for policy in EVERY_POLICY {
            let settings = Settings::new().with("wait", policy_name(policy)).with("stay", true);
            let (socket, mut child) = child_with("calling child", &settings);
            let options = patient().wait(policy);
            let session = ExclusiveServerSession::from_socket(socket, &options).unwrap();
            let serving = std::thread::spawn(move || session.serve(&echo));
            child.expect("called");
            child.kill();
            let outcome = within(PROMPT, "the news", move || serving.join().unwrap());
            assert!(matches!(outcome, Err(SessionError::PeerDied)), "{outcome:?}");
        }
    }

    #[test]
    fn client_closing_with_full_ring_loses_nothing() {
        // A farewell finds no room, so to the server this is like a death.
        for policy in EVERY_POLICY {
            let settings = Settings::new().with("wait", policy_name(policy));
            let (socket, mut child) = child_with("serving child", &settings);
            let options = patient().wait(policy).ring_capacity(8);
            let mut session = ExclusiveSession::from_socket(socket, &options).unwrap();
            assert_serves(&mut session);
            child.suspend();
            session.set_call_timeout(Some(Duration::from_millis(50)));
            let mut sent = 0;
            while session.post(SINK, &sinkable(1, sent, 10)).is_ok() {
                sent += 1;
            }
            drop(session);
            child.resume();
            assert_eq!(child.expect("died after"), sent.to_string());
        }
    }

    #[test]
    fn inherited_fd_must_be_connected_unix_stream() {
        let (pipe, _other_end) = std::io::pipe().unwrap();
        let (datagram, _peer) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let inputs: [Stdio; 4] = [
            Stdio::null(),
            pipe.into(),
            OwnedFd::from(datagram).into(),
            std::fs::File::open("/proc/self/stat").unwrap().into(),
        ];
        for input in inputs {
            let mut child = Process::start_with("refusing child", &Settings::new(), input);
            child.expect("refused");
            child.succeeds();
        }
    }

    #[test]
    fn silent_peer_fails_handshake_on_both_sides() {
        let options = SessionOptions::new().handshake_timeout(Duration::from_millis(50));
        let (_silent, socket) = UnixStream::pair().unwrap();
        assert!(ExclusiveSession::from_socket(socket.into(), &options).is_err());
        let (_silent, socket) = UnixStream::pair().unwrap();
        assert!(ExclusiveServerSession::from_socket(socket.into(), &options).is_err());
        let (gone, socket) = UnixStream::pair().unwrap();
        drop(gone);
        assert!(ExclusiveServerSession::from_socket(socket.into(), &options).is_err());
    }

    #[test]
    fn a_forked_child_cannot_serve_its_parents_session() {
        for policy in EVERY_POLICY {
            let settings = Settings::new().with("wait", policy_name(policy));
            let mut forker = Process::start("session server forker", &settings);
            assert_eq!(forker.expect("child"), "Ok(0)", "{policy:?}");
            forker.expect("went on");
        }
    }
}

/// Only where the server is a socket file.
mod by_file {
    use super::*;

    #[test]
    fn a_dead_clients_forked_child_does_not_keep_its_session_alive() {
        // Over TCP the kernel does not identify the process that connected.
        for policy in EVERY_POLICY {
            let server = Server::waiting(policy);
            let before = server.at_rest();
            let settings = Settings::new().with("address", server.address());
            let mut victim = Process::start("forking victim", &settings);
            let child = LeftBehind::new(&victim.expect("forked"));
            victim.kill();
            assert!(!observe::has_ended(child.0.as_raw_nonzero().get() as u32));
            server.returns_to(before);
            assert_takes_clients(&server.address());
        }
    }
}
