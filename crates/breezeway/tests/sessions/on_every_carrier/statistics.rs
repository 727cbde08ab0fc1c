//! Statistics of sessions and servers.

use std::thread::JoinHandle;

use breezeway::{
    Call, ConnectError, ExclusiveSession, Handled, Monitor, Server, ServerOptions, Session,
    SessionOptions, Stopper,
};

use crate::support::{Folder, PATIENCE, connect, eventually, patient, within};

/// A server that echoes, but for method 1, which fails.
struct Watched {
    monitor: Monitor,
    stopper: Stopper,
    serving: JoinHandle<()>,
}

impl Watched {
    fn start(folder: &Folder, options: ServerOptions) -> Self {
        let server = Server::bind_with(folder.address(), options.session(patient())).unwrap();
        let server = server.on_stream(|_method, mut stream| {
            while let Some(message) = stream.receive()? {
                stream.send(&message.to_vec())?;
            }
            Ok(stream.finish()?)
        });
        let (monitor, stopper) = (server.monitor(), server.stopper());
        let handler = |call: Call<'_>| -> Handled {
            if call.method() == 1 { Err("as asked".into()) } else { call.echo() }
        };
        let serving = std::thread::spawn(move || server.serve(handler).unwrap());
        Self { monitor, stopper, serving }
    }

    fn stop(self) {
        self.stopper.stop();
        within(PATIENCE, "the end", move || self.serving.join().unwrap());
    }
}

#[test]
fn both_ends_agree_and_server_sums_outlive_session() {
    let folder = Folder::new();
    let watched = Watched::start(&folder, ServerOptions::new());
    let mut session = connect(&folder);
    for _ in 0..10 {
        session.call(0, &[7; 40]).unwrap();
    }
    for _ in 0..3 {
        session.call(0, &[7; 5_000]).unwrap();
    }
    session.post(0, b"one way").unwrap();
    session.call(1, b"").unwrap_err();
    // The server counts a message shortly after the client sees it.
    eventually("the server has counted", || watched.monitor.stats().totals.errors_sent == 1);

    let client = session.stats().totals;
    let stats = watched.monitor.stats();
    let [server] = &stats.sessions[..] else { panic!("one session: {stats:?}") };
    assert_eq!((server.peer_pid.is_some(), server.since > 0), (server.carrier < 3, true));
    for (sent, received) in [(client, server.totals), (server.totals, client)] {
        assert_eq!(sent.calls_sent, received.calls_received);
        assert_eq!(sent.posts_sent, received.posts_received);
        assert_eq!(sent.ends_sent, received.ends_received);
        assert_eq!(sent.errors_sent, received.errors_received);
        assert_eq!(sent.bytes_sent, received.bytes_received);
    }
    assert_eq!((client.calls_sent, client.posts_sent, client.bytes_sent), (14, 1, 15_407));
    assert_eq!((client.ends_received, client.errors_received), (13, 1));
    assert_eq!((session.stats().in_flight(), server.in_flight()), (0, 0));

    drop(session);
    eventually("the session ends", || watched.monitor.stats().sessions.is_empty());
    let stats = watched.monitor.stats();
    assert_eq!((stats.opened, stats.totals.calls_received), (1, 14));
    assert_eq!(stats.totals.own_memory, 0, "nobody holds it any more");
    let _other = connect(&folder);
    eventually("another session", || watched.monitor.stats().sessions.len() == 1);
    assert_eq!(watched.monitor.stats().totals.calls_received, 14);
    watched.stop();
}

#[test]
fn streams_that_are_open_are_counted_while_they_are() {
    let folder = Folder::new();
    let watched = Watched::start(&folder, ServerOptions::new());
    let shared = Session::connect_with(folder.address(), &patient()).unwrap();
    let mut stream = shared.open(0).unwrap();
    stream.send(b"hello").unwrap();
    assert_eq!(stream.receive().unwrap().unwrap().to_vec(), b"hello");
    let totals = shared.stats().totals;
    assert_eq!((totals.streams, totals.messages_received), (1, 1));
    assert_eq!(totals.bytes_sent, totals.bytes_received);
    let server = || watched.monitor.stats().totals;
    // As above, the client may see it first.
    eventually("the server has counted", || (server().streams, server().messages_sent) == (1, 1));
    stream.finish().unwrap();
    eventually("the stream ends", || (server().streams, server().ends_sent) == (0, 1));
    drop((stream, shared));
    watched.stop();
}

#[test]
fn clients_that_get_no_session_are_counted_by_the_reason() {
    let folder = Folder::new();
    let watched = Watched::start(&folder, ServerOptions::new().max_sessions(1));
    let _session = connect(&folder);
    let refused =
        ExclusiveSession::connect_with(folder.address(), &patient()).err().expect("there is one");
    assert!(refused.to_string().contains("max_sessions allows no more"), "{refused}");
    eventually("it is counted", || watched.monitor.stats().beyond_limit == 1);
    watched.stop();

    let folder = Folder::new();
    let options = ServerOptions::new().authorize(|_peer| Err("nobody today".to_owned()));
    let watched = Watched::start(&folder, options);
    let denied = ExclusiveSession::connect_with(folder.address(), &patient())
        .err()
        .expect("nobody is served");
    assert!(denied.to_string().contains("nobody today"), "{denied}");
    eventually("it is counted", || watched.monitor.stats().denied == 1);
    assert_eq!(watched.monitor.stats().opened, 0);
    watched.stop();
}

mod by_file {
    use super::*;

    #[test]
    fn a_user_has_no_more_sessions_than_a_user_may_have() {
        let folder = Folder::new();
        let watched = Watched::start(&folder, ServerOptions::new().max_sessions_of_user(2));
        let (one, _other) = (connect(&folder), connect(&folder));
        let refused = ExclusiveSession::connect_with(folder.address(), &patient())
            .err()
            .expect("there are two");
        let user = rustix::process::geteuid().as_raw();
        let reason = format!(
            "sessions of user {user} open: 2; the server's max_sessions_of_user allows no more"
        );
        assert!(refused.to_string().contains(&reason), "{refused}");
        eventually("it is counted", || watched.monitor.stats().beyond_user_limit == 1);
        drop(one);
        eventually("there is room again", || {
            match ExclusiveSession::connect_with(folder.address(), &SessionOptions::new()) {
                Ok(_) => true,
                Err(ConnectError::Handshake(_)) => false,
                Err(error) => panic!("{error}"),
            }
        });
        watched.stop();
    }
}
