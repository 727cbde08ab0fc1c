//! Addresses with sockets in them: lists, ports, the peer's credentials, and sides that disagree.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

use breezeway::{
    Address, Carrier, ConnectError, ExclusiveSession, HandshakeError, Place, Refusal, ServeError,
    SessionOptions,
};

use crate::support::carrier::own_tcp_address;
use crate::support::server::{self, CARRIER, WHO, assert_serves, assert_takes_clients};
use crate::support::{
    EVERY_POLICY, Folder, PROMPT, Process, Server, Settings, eventually, patient, within,
};

const EVERY_CARRIER: [Carrier; 3] = [Carrier::Shm, Carrier::Unix, Carrier::Tcp];

/// A place for each carrier in one folder.
fn places_in(folder: &Folder) -> [Place; 3] {
    [
        Place::Shm(folder.path().join("shm.sock")),
        Place::Unix(folder.path().join("unix.sock")),
        own_tcp_address().into(),
    ]
}

/// A server at several places at once.
fn server_at(places: impl IntoIterator<Item = Place>) -> Server {
    let address: Address = places.into_iter().collect();
    Server::start(Settings::new().with("address", address))
}

#[track_caller]
fn connect(address: &Address) -> ExclusiveSession {
    ExclusiveSession::connect_with(address, &patient()).expect("one of the places works")
}

#[track_caller]
fn connect_error(address: &Address) -> ConnectError {
    let address = address.clone();
    within(PROMPT, "the error", move || {
        ExclusiveSession::connect(&address).err().expect("no session")
    })
}

/// Returns the carrier that the server reports for a call.
#[track_caller]
fn carrier_of_a_call(session: &mut ExclusiveSession) -> String {
    let known = String::from_utf8(session.call(CARRIER, &[]).unwrap().to_vec()).unwrap();
    known.split(' ').next().unwrap_or_default().to_owned()
}

// ---- lists ----

#[test]
fn server_listens_at_every_place_and_names_carriers() {
    let folder = Folder::new();
    let places = places_in(&folder);
    let server = server_at(places.clone());
    assert_eq!(server.address().places(), places);
    let mut sessions: Vec<_> = places.iter().map(|place| connect(&place.clone().into())).collect();
    for _ in 0..3 {
        for (session, carrier) in sessions.iter_mut().zip(EVERY_CARRIER) {
            assert_eq!(session.carrier(), carrier);
            assert_eq!(carrier_of_a_call(session), carrier.to_string());
            assert_serves(session);
        }
    }
    server.stop();
    assert!(!places.iter().any(|place| place.path().is_some_and(std::path::Path::exists)));
}

#[test]
fn sessions_on_all_carriers_share_one_worker_under_every_policy() {
    for policy in EVERY_POLICY {
        let folder = Folder::new();
        let address: Address = places_in(&folder).into_iter().collect();
        let wait = server::policy_name(policy);
        let server = Server::start(Settings::new().with("address", address).with("wait", wait));
        let places = server.address();
        let callers: Vec<_> = places
            .places()
            .iter()
            .map(|place| {
                let options = patient().wait(policy);
                let mut session = ExclusiveSession::connect_with(place.clone(), &options).unwrap();
                std::thread::spawn(move || (0..100).for_each(|_| assert_serves(&mut session)))
            })
            .collect();
        within(crate::support::PATIENCE, "all calls", move || {
            callers.into_iter().for_each(|caller| caller.join().unwrap());
        });
    }
}

#[test]
fn a_client_takes_the_first_place_that_works() {
    let folder = Folder::new();
    let [shm, unix, tcp] = places_in(&folder);
    for (served, expected) in [
        (vec![shm.clone(), unix.clone(), tcp.clone()], Carrier::Shm),
        (vec![unix.clone(), tcp.clone()], Carrier::Unix),
        (vec![tcp.clone()], Carrier::Tcp),
        (vec![tcp.clone(), shm.clone()], Carrier::Shm),
    ] {
        let _server = server_at(served);
        let list = [shm.clone(), unix.clone(), tcp.clone()].into_iter().collect();
        let mut session = connect(&list);
        assert_eq!(session.carrier(), expected);
        assert_serves(&mut session);
    }
}

#[test]
fn failed_list_names_every_place_with_its_reason() {
    let folder = Folder::new();
    let [shm, unix, tcp] = places_in(&folder);
    drop(UnixListener::bind(unix.path().unwrap()).unwrap());
    // A process that another test starts has a copy of the listener until it is executed.
    eventually("nobody listens", || UnixStream::connect(unix.path().unwrap()).is_err());
    let list: Address = [shm.clone(), unix.clone(), tcp.clone()].into_iter().collect();
    let error = connect_error(&list);
    let ConnectError::NoPlace(failures) = &error else { panic!("{error:?}") };
    let reasons: Vec<_> = failures.iter().map(|(_, reason)| reason).collect();
    let [ConnectError::NoSocket(_), ConnectError::NotListening(_), ConnectError::Refused(_)] =
        reasons[..]
    else {
        panic!("{reasons:?}")
    };
    let text = error.to_string();
    for place in [shm, unix, tcp] {
        assert!(text.contains(&place.to_string()), "{text}");
    }
    for reason in ["does not exist", "left-over", "no process listens there"] {
        assert!(text.contains(reason), "{text}");
    }
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn client_skips_socket_of_dead_server() {
    let folder = Arc::new(Folder::on(Carrier::Shm));
    let mut dead = Server::start_in(Arc::clone(&folder), Settings::new());
    dead.process.kill();
    assert!(folder.socket().exists());
    let [_, unix, _] = places_in(&folder);
    let _server = server_at([unix.clone()]);
    let list = [folder.address().places()[0].clone(), unix].into_iter().collect();
    let mut session = connect(&list);
    assert_eq!(session.carrier(), Carrier::Unix);
    assert_serves(&mut session);
}

#[test]
fn client_skips_place_of_another_protocol() {
    let folder = Folder::new();
    let [shm, unix, tcp] = places_in(&folder);
    let _server = server_at([shm.clone(), tcp.clone()]);
    // Shared memory is spoken where this client wants a socket.
    let wrong = Place::Unix(shm.path().unwrap().into());
    let mut session = connect(&[wrong, unix, tcp].into_iter().collect());
    assert_eq!(session.carrier(), Carrier::Tcp);
    assert_serves(&mut session);
}

#[test]
fn a_server_that_cannot_have_one_of_its_places_has_none() {
    let folder = Folder::new();
    let [shm, unix, tcp] = places_in(&folder);
    let _other = server_at([tcp.clone()]);
    let list: Address = [shm.clone(), unix.clone(), tcp.clone()].into_iter().collect();
    let error = breezeway::Server::bind(&list).err().unwrap();
    assert!(matches!(&error, ServeError::InUse(place) if *place == tcp), "{error:?}");
    assert!(!shm.path().unwrap().exists() && !unix.path().unwrap().exists());
}

#[test]
fn one_path_cannot_be_shared_memory_and_a_socket_at_once() {
    let folder = Folder::new();
    let path = folder.socket();
    let list: Address = [Place::Shm(path.clone()), Place::Unix(path)].into_iter().collect();
    let error = breezeway::Server::bind(&list).err().unwrap();
    assert!(matches!(error, ServeError::InUse(_)), "{error:?}");
}

#[test]
fn a_limit_of_sessions_counts_those_of_all_carriers() {
    let folder = Folder::new();
    let places = places_in(&folder);
    let address: Address = places.iter().cloned().collect();
    let server = Server::start(Settings::new().with("address", address).with("sessions", 2));
    let _two = [connect(&places[0].clone().into()), connect(&places[1].clone().into())];
    for place in places {
        let error = ExclusiveSession::connect_with(place, &patient()).err().unwrap().to_string();
        assert!(error.contains("max_sessions"), "{error}");
    }
    drop(server);
}

// ---- ports and hosts ----

#[test]
fn port_zero_binds_a_reported_free_port() {
    let servers =
        [(); 3].map(|()| Server::start(Settings::new().with("address", "tcp:127.0.0.1:0")));
    let mut addresses: Vec<_> = servers.iter().map(|server| server.address().to_string()).collect();
    for server in &servers {
        let Place::Tcp { port, .. } = server.address().places()[0] else { panic!("no port") };
        assert_ne!(port, 0);
        assert_takes_clients(&server.address());
    }
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), servers.len());
}

#[test]
fn a_host_may_be_a_name() {
    let server = Server::start(Settings::new().with("address", "tcp:localhost:0"));
    assert!(server.address().to_string().starts_with("tcp:localhost:"));
    assert_takes_clients(&server.address());
}

#[test]
fn port_in_use_is_named_without_disturbing_its_server() {
    let server = Server::on(Carrier::Tcp, Settings::new());
    let mut session = connect(&server.address());
    let settings = Settings::new().with("address", server.address());
    for _ in 0..3 {
        let mut second = Process::start("server", &settings);
        let reason = second.expect("failed");
        assert!(reason.contains("in use by a running server"), "{reason}");
        assert!(reason.contains(&server.address().to_string()), "{reason}");
        second.succeeds();
        assert_serves(&mut session);
    }
}

#[test]
fn a_host_of_another_machine_cannot_be_listened_on() {
    // An address for documentation (RFC 5737), which no machine has.
    let error = breezeway::Server::bind("tcp:198.51.100.1:7000").err().unwrap();
    assert!(matches!(error, ServeError::Listen { .. }), "{error:?}");
    assert!(error.to_string().contains("tcp:198.51.100.1:7000"), "{error}");
}

#[test]
fn port_is_free_at_once_for_next_server() {
    for orderly in [true, false] {
        let folder = Arc::new(Folder::on(Carrier::Tcp));
        for _ in 0..3 {
            let mut server = Server::start_in(Arc::clone(&folder), Settings::new());
            let mut session = connect(&server.address());
            assert_serves(&mut session);
            if orderly { server.stop() } else { server.process.kill() }
        }
    }
}

// ---- credentials ----

#[test]
fn tcp_peer_has_remote_address_and_no_credentials() {
    let server = Server::on(Carrier::Tcp, Settings::new());
    let mut session = connect(&server.address());
    let Place::Tcp { host, port } = server.address().places()[0].clone() else { unreachable!() };
    let listening = SocketAddr::new(host.parse::<IpAddr>().unwrap(), port);
    assert_eq!(session.peer().remote, Some(listening));
    let peer = session.peer();
    assert_eq!((peer.pid, peer.uid, peer.gid), (None, None, None));
    assert!(!peer.is_same_user());
    let known = String::from_utf8(session.call(CARRIER, &[]).unwrap().to_vec()).unwrap();
    let remote: SocketAddr = known.strip_prefix("tcp ").expect(&known).parse().unwrap();
    assert!(remote.ip().is_loopback() && remote.port() != 0, "{known}");
    assert_eq!(session.call(WHO, &[]).unwrap().to_vec(), b"None None None");
}

#[test]
fn unix_peer_has_process_and_no_address() {
    let server = Server::on(Carrier::Unix, Settings::new());
    let mut session = connect(&server.address());
    assert_eq!(session.peer().pid, Some(server.pid()));
    assert_eq!(session.peer().remote, None);
    assert_eq!(session.call(CARRIER, &[]).unwrap().to_vec(), b"unix ");
}

#[test]
fn user_policy_refuses_tcp_clients() {
    let user = rustix::process::geteuid().as_raw();
    let folder = Folder::new();
    let [_, unix, tcp] = places_in(&folder);
    let address: Address = [unix.clone(), tcp.clone()].into_iter().collect();
    let _server = Server::start(Settings::new().with("address", address).with("only", user));
    assert_serves(&mut connect(&unix.into()));
    match ExclusiveSession::connect_with(tcp, &patient()).err() {
        Some(ConnectError::Handshake(HandshakeError::Refused { status, reason })) => {
            assert_eq!(status, Refusal::Denied as u32);
            assert!(reason.contains("is served"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

// ---- two sides that do not mean the same ----

#[test]
fn client_of_wrong_scheme_is_refused_with_remedy() {
    for served in [Carrier::Unix, Carrier::Shm] {
        let server = Server::on(served, Settings::new());
        let before = server.at_rest();
        let address = match served {
            Carrier::Unix => Address::shm(server.socket()),
            _ => Address::unix(server.socket()),
        };
        for _ in 0..10 {
            let error = connect_error(&address);
            let is_refusal = matches!(
                &error,
                ConnectError::Handshake(HandshakeError::Refused { status, .. })
                    if *status == Refusal::Carrier as u32
            );
            assert!(is_refusal, "{error:?}");
            let text = error.to_string();
            assert!(text.contains(&format!("speaks {served}:")), "{text}");
            assert!(text.contains("use the same scheme on both sides"), "{text}");
        }
        server.returns_to(before);
        assert_takes_clients(&server.address());
    }
}

#[test]
fn tcp_server_of_another_protocol_is_reported() {
    let listener = TcpListener::bind(own_tcp_address()).unwrap();
    let address: Address = Place::from(listener.local_addr().unwrap()).into();
    let answering = std::thread::spawn(move || {
        use std::io::Write;
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        stream
    });
    let error = connect_error(&address);
    assert!(error.to_string().contains("does not speak Breezeway"), "{error}");
    drop(answering.join().unwrap());
}

#[test]
fn silent_tcp_connections_cost_the_server_nothing() {
    let server = Server::on(Carrier::Tcp, Settings::new().with("handshake", 1000));
    let Place::Tcp { host, port } = server.address().places()[0].clone() else { unreachable!() };
    let before = server.at_rest();
    let silent: Vec<_> =
        (0..20).map(|_| TcpStream::connect((host.as_str(), port)).unwrap()).collect();
    assert_takes_clients(&server.address());
    server.returns_to(before);
    drop(silent);
}

#[test]
fn waiting_caller_sees_servers_death_at_once() {
    for carrier in [Carrier::Unix, Carrier::Tcp] {
        for policy in EVERY_POLICY {
            let mut server = Server::on(carrier, Settings::new());
            let mut session = server.connect(&SessionOptions::new().wait(policy));
            session.send(server::HANG, &0u64.to_le_bytes()).unwrap();
            server.process.expect("hanging");
            server.process.kill();
            let error =
                within(PROMPT, "the news", move || session.receive().map(drop).unwrap_err());
            assert!(matches!(error, breezeway::CallError::PeerDied), "{carrier} {error:?}");
        }
    }
}

/// A machine may have been set up without IPv6.
mod needs_ipv6 {
    use super::*;

    #[test]
    #[ignore = "needs IPv6: `make needs` runs it where there is"]
    fn a_server_listens_on_ipv6() {
        let server = Server::start(Settings::new().with("address", "tcp:[::1]:0"));
        assert!(server.address().to_string().starts_with("tcp:[::1]:"));
        let mut session = connect(&server.address());
        assert_serves(&mut session);
        assert!(session.peer().remote.is_some_and(|remote| remote.is_ipv6()));
    }
}
