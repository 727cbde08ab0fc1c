//! Several clients at once, their admission, and their credentials.

use std::sync::Arc;
use std::time::Duration;

use breezeway::{
    ConnectError, ExclusiveSession, HandshakeError, Refusal, SessionOptions, WaitPolicy,
};

use crate::support::carrier::{connections, has_socket_file};
use crate::support::content::{Random, message};
use crate::support::server::{
    self, ECHO, SINK, WHO, assert_serves, assert_takes_clients, sinkable, tally,
};
use crate::support::{
    EVERY_POLICY, Folder, PATIENCE, PROMPT, Process, Role, Server, Settings, eventually, hear,
    observe, patient, raw, say, within,
};

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] = &[("client", call_many), ("visitor", visit)];

/// The role: calls with messages of all sizes, prints `done`, and stays until the next line of
/// input.
fn call_many(settings: &Settings) {
    let mut session = ExclusiveSession::connect_with(
        settings.get::<breezeway::Address>("address"),
        &server::session_options(settings),
    )
    .unwrap();
    let number: u64 = settings.get("number");
    say("connected");
    hear();
    let mut random = Random::new(number);
    for round in 0..settings.get("calls") {
        session.post(SINK, &sinkable(number, round, random.len(500))).unwrap();
        // Its reply shows that what was posted before has been taken up.
        let request = message(number * 1000 + round, random.len(20_000));
        assert!(session.call(ECHO, request).unwrap().to_vec() == request);
    }
    say("done");
    hear();
}

fn clients(server: &Server, count: u64, calls: u64) -> Vec<Process> {
    let settings = |number| {
        Settings::new()
            .with("address", server.address())
            .with("number", number)
            .with("calls", calls)
    };
    (0..count).map(|number| Process::start("client", &settings(number))).collect()
}

/// Lets all of them call at once.
fn all_call(clients: &mut [Process]) {
    clients.iter_mut().for_each(|client| {
        client.expect("connected");
    });
    clients.iter_mut().for_each(|client| client.write_line("go"));
    clients.iter_mut().for_each(|client| {
        client.expect("done");
    });
}

#[test]
fn two_clients_at_once_are_both_served_under_every_policy() {
    for policy in EVERY_POLICY {
        let server = Server::waiting(policy);
        let mut both = clients(&server, 2, 200);
        all_call(&mut both);
        both.into_iter().for_each(Process::succeeds);
        assert_eq!(tally(&mut server.connect(&SessionOptions::new())), [400, 0, 0]);
    }
}

#[test]
fn fifty_clients_at_once_are_served_and_leave_nothing_behind() {
    let server = Server::start(Settings::new().with("workers", 2));
    let before = server.at_rest();
    let mut fifty = clients(&server, 50, 40);
    all_call(&mut fifty);
    fifty.into_iter().for_each(Process::succeeds);
    server.returns_to(before);
    assert_eq!(tally(&mut server.connect(&SessionOptions::new())), [2000, 0, 0]);
    server.stop();
}

#[test]
fn sessions_of_one_process_are_served_in_turn_by_a_thread_each() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let mut session = server.connect(&SessionOptions::new());
            std::thread::spawn(move || {
                for round in 0..500 {
                    let request = message(number * 1000 + round, (round % 300) as usize);
                    assert_eq!(session.call(ECHO, request).unwrap().to_vec(), request);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_blocked_handler_delays_its_worker_and_no_other() {
    let mut server = Server::start(Settings::new().with("workers", 2).with("gate", false));
    let mut blocked = server.connect(&SessionOptions::new());
    let call = blocked.send(server::GIVE_GATED, &server::ask_for(1, 100)).unwrap();
    server.process.expect("waiting");
    // The worker with the fewest sessions gets a new one.
    let mut other = server.connect(&SessionOptions::new());
    let _other = within(PROMPT, "calls of the other worker's session", move || {
        assert_serves(&mut other);
        other
    });
    server.open_gate();
    let reply = blocked.receive().unwrap();
    assert_eq!(reply.call(), call);
    assert_eq!(reply.to_vec(), message(1, 100));
}

// ---- admission ----

#[track_caller]
fn refusal(server: &Server) -> (u32, String) {
    match ExclusiveSession::connect_with(server.address(), &patient()).err() {
        Some(ConnectError::Handshake(HandshakeError::Refused { status, reason })) => {
            (status, reason)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn policy_refusal_reaches_client_with_reason() {
    let server = Server::start(Settings::new().with("deny", "closed on Sundays – schade"));
    let before = server.at_rest();
    for _ in 0..20 {
        let (status, reason) = refusal(&server);
        assert_eq!(status, Refusal::Denied as u32);
        assert_eq!(reason, "closed on Sundays – schade");
    }
    let error =
        ExclusiveSession::connect_with(server.address(), &patient()).err().unwrap().to_string();
    assert!(error.contains("refuses: closed on Sundays – schade"), "{error}");
    server.returns_to(before);
}

#[test]
fn a_long_reason_is_cut_at_a_character() {
    for shift in 0..4 {
        let long = "x".repeat(shift) + &"ü€😀".repeat(100);
        let server = Server::start(Settings::new().with("deny", &long));
        let (_, reason) = refusal(&server);
        assert!(long.starts_with(&reason), "{reason}");
        assert!((253..=256).contains(&reason.len()), "{} bytes", reason.len());
    }
}

/// The role: prints whether it was admitted, and the server's view of its credentials.
fn visit(settings: &Settings) {
    match ExclusiveSession::connect_with(settings.get::<breezeway::Address>("address"), &patient())
    {
        Ok(mut session) => {
            let known = String::from_utf8(session.call(WHO, &[]).unwrap().to_vec()).unwrap();
            say(format!("in {known}"));
        }
        Err(error) => say(format!("out {error}")),
    }
}

fn visitor_as(user: Option<u32>, server: &Server) -> Process {
    let settings = Settings::new().with("address", server.address());
    match user {
        Some(user) => Process::start_as(user, "visitor", &settings),
        None => Process::start("visitor", &settings),
    }
}

#[test]
fn handler_sees_calling_process_and_user() {
    let server = Server::start(Settings::new());
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    for _ in 0..3 {
        let mut visitor = visitor_as(None, &server);
        let (uid, gid) = (uid.as_raw(), gid.as_raw());
        let expected = match has_socket_file() {
            true => format!("Some({}) Some({uid}) Some({gid})", visitor.pid()),
            // TCP carries no credentials.
            false => "None None None".to_owned(),
        };
        assert_eq!(visitor.expect("in"), expected);
    }
}

#[test]
fn session_names_the_listening_process() {
    let server = Server::start(Settings::new());
    let session = server.connect(&SessionOptions::new());
    assert_eq!(session.peer().pid, has_socket_file().then(|| server.pid()));
    assert_eq!(session.peer().is_same_user(), has_socket_file());
}

// ---- how many may come ----

#[test]
fn session_beyond_max_sessions_is_refused_by_name() {
    let server = Server::start(Settings::new().with("sessions", 3));
    let mut sessions: Vec<_> = (0..3).map(|_| server.connect(&SessionOptions::new())).collect();
    sessions.iter_mut().for_each(assert_serves);
    for _ in 0..5 {
        let (status, reason) = refusal(&server);
        assert_eq!(status, Refusal::Busy as u32);
        assert!(reason.contains("3 sessions") && reason.contains("max_sessions"), "{reason}");
    }
    sessions.iter_mut().for_each(assert_serves);
    sessions.pop();
    eventually("room for another session", || ExclusiveSession::connect(server.address()).is_ok());
}

#[test]
fn clients_that_come_all_at_once_do_not_exceed_the_limit() {
    const LIMIT: usize = 5;
    let server = Server::start(Settings::new().with("sessions", LIMIT));
    // They queue up while the server stands still.
    server.process.suspend();
    let threads: Vec<_> = (0..20)
        .map(|_| {
            let address = server.address();
            std::thread::spawn(move || ExclusiveSession::connect_with(&address, &patient()))
        })
        .collect();
    eventually("all have connected", || connections(&server.address()) >= 20);
    server.process.resume();
    let sessions: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let open = sessions.iter().filter(|session| session.is_ok()).count();
    assert_eq!(open, LIMIT);
    for error in sessions.into_iter().filter_map(Result::err) {
        assert!(error.to_string().contains("max_sessions"), "{error}");
    }
}

#[test]
fn thousand_ended_sessions_return_all_resources() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let before = server.at_rest();
    for number in 0..1000 {
        let mut session = server.connect(&SessionOptions::new());
        let request = message(number, 200);
        assert_eq!(session.call(ECHO, request).unwrap().to_vec(), request);
    }
    server.returns_to(before);
    assert!(observe::private_memory(server.pid()) < 64 << 20);
    assert_takes_clients(&server.address());
}

#[test]
fn a_connection_that_opens_no_session_costs_the_server_nothing() {
    let server = Server::waiting(WaitPolicy::Park);
    let before = server.at_rest();
    for _ in 0..300 {
        drop(raw::connect(&server.address()));
    }
    server.returns_to(before);
    within(PATIENCE, "a new client", move || {
        assert_takes_clients(&server.address());
        let mut session = server.connect(&SessionOptions::new());
        session.set_call_timeout(Some(Duration::from_secs(2)));
        assert_serves(&mut session);
    });
}

/// Only root can play other users.
mod needs_root {
    use super::*;

    #[test]
    #[ignore = "needs root: `make needs` runs it where there is"]
    fn overflow_user_is_refused_by_policy() {
        const OVERFLOW: u32 = 65_534;
        let folder = Arc::new(Folder::new());
        folder.open_to_others();
        let settings = Settings::new().with("mode", 0o777).with("umask", 0).with("only", OVERFLOW);
        let server = Server::start_in(folder, settings);
        visitor_as(Some(OVERFLOW), &server).expect("out");
    }

    /// Only where the server is a socket file.
    mod by_file {
        use super::*;

        #[test]
        #[ignore = "needs root: `make needs` runs it where there is"]
        fn socket_mode_decides_access_of_another_user() {
            const STRANGER: u32 = 12_345;
            for (mode, outcome) in [(0o600, "out no permission to connect to"), (0o666, "in")] {
                let folder = Arc::new(Folder::new());
                folder.open_to_others();
                let settings = Settings::new().with("mode", mode).with("umask", 0);
                let server = Server::start_in(folder, settings);
                let mut stranger = visitor_as(Some(STRANGER), &server);
                let rest = stranger.expect(outcome);
                let expected = match mode {
                    0o600 => server.folder.path().join("test.sock").display().to_string(),
                    _ => format!("Some({}) Some({STRANGER}) Some({STRANGER})", stranger.pid()),
                };
                assert!(rest.starts_with(&expected), "{rest}");
            }
        }

        #[test]
        #[ignore = "needs root: `make needs` runs it where there is"]
        fn policy_distinguishes_users() {
            const WELCOME: u32 = 12_345;
            // TCP carries no credentials.
            let folder = Arc::new(Folder::new());
            folder.open_to_others();
            let settings =
                Settings::new().with("mode", 0o777).with("umask", 0).with("only", WELCOME);
            let server = Server::start_in(folder, settings);
            for (user, outcome) in
                [(Some(WELCOME), "in"), (Some(WELCOME + 1), "out"), (None, "out")]
            {
                visitor_as(user, &server).expect(outcome);
            }
        }
    }
}
