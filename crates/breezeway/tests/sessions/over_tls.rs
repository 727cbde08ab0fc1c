//! Behaviour that only TLS has: certificates, good and bad, and peers that speak it halfway.

/// TLS records, and other protocols in them.
mod records;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway::{
    Address, Call, CallError, Carrier, ConnectError, ExclusiveSession, HandshakeError, HelloError,
    Place, ServeError, Server, ServerOptions, Session, SessionOptions, Stopper, Tls, TlsError,
};
use breezeway_adversary::certificates::{Authority, Issued, Valid};
use rustix::net::{AddressFamily, SocketType, connect, socket};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection, StreamOwned};
use tempfile::TempDir;

use crate::support::{PATIENCE, patient, wait_for, within};

pub(crate) use records::ROLES;

const SERVER_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "spiffe://test/echo"];
const SERVER_NAMES_SEEN: [&str; 2] = ["localhost", "spiffe://test/echo"];
const CLIENT_NAMES: [&str; 1] = ["client.test"];

/// An authority, and what lies in its folder.
struct Certificates {
    folder: TempDir,
    authority: Authority,
}

impl Certificates {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(folder.path());
        Self { folder, authority }
    }

    fn issue(&self, names: &[&str], valid: Valid) -> Issued {
        self.authority.issue(names, valid)
    }

    /// Returns the settings of a server with a good certificate.
    fn server(&self) -> Tls {
        own(Tls::new(), &self.issue(&SERVER_NAMES, Valid::Now))
    }

    /// Returns the settings of a server that requests a certificate.
    fn mutual_server(&self) -> Tls {
        self.server().roots(self.authority.root()).unwrap()
    }

    /// Returns the settings of a client without a certificate.
    fn client(&self) -> Tls {
        Tls::new().roots(self.authority.root()).unwrap()
    }
}

fn own(tls: Tls, issued: &Issued) -> Tls {
    tls.certificate(&issued.chain, &issued.key).unwrap()
}

fn session(tls: Tls) -> SessionOptions {
    patient().tls(tls)
}

/// A server in this process that echoes.
struct Echo {
    address: Address,
    stopper: Stopper,
    serving: Option<JoinHandle<()>>,
}

impl Echo {
    fn start(tls: Tls) -> Self {
        Self::with(ServerOptions::new().session(session(tls)))
    }

    fn with(options: ServerOptions) -> Self {
        Self::at("tls:127.0.0.1:0", options)
    }

    fn at(address: &str, options: ServerOptions) -> Self {
        let server = Server::bind_with(address, options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let echo = |call: Call<'_>| {
            let request = call.request().to_vec();
            call.reply(&request)
        };
        let serving = std::thread::spawn(move || server.serve(echo).unwrap());
        Self { address, stopper, serving: Some(serving) }
    }

    fn port(&self) -> u16 {
        match &self.address.places()[0] {
            Place::Tls { port, .. } | Place::Tcp { port, .. } => *port,
            other => panic!("{other}"),
        }
    }

    fn connect(&self, tls: Tls) -> Result<ExclusiveSession, ConnectError> {
        ExclusiveSession::connect_with(&self.address, &session(tls))
    }

    /// A connection by hand.
    fn raw(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    #[track_caller]
    fn serves(&self, tls: Tls) {
        let mut session = self.connect(tls).unwrap();
        assert_eq!(session.call(0, b"hello").unwrap().to_vec(), b"hello");
    }

    #[track_caller]
    fn refuses(&self, tls: Tls) -> TlsError {
        match self.connect(tls) {
            Err(ConnectError::Handshake(HandshakeError::Tls(error))) => error,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it is served"),
        }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(serving) = self.serving.take() {
            assert!(serving.join().is_ok() || std::thread::panicking());
        }
    }
}

/// A peer by hand behind an address, with one connection.
fn peer(act: impl FnOnce(TcpStream) + Send + 'static) -> (Address, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let acting = std::thread::spawn(move || act(listener.accept().unwrap().0));
    (format!("tls:127.0.0.1:{port}").parse().unwrap(), acting)
}

#[track_caller]
fn tls_error(address: &Address, options: &SessionOptions) -> TlsError {
    match ExclusiveSession::connect_with(address, options).err() {
        Some(ConnectError::Handshake(HandshakeError::Tls(error))) => error,
        other => panic!("{other:?}"),
    }
}

/// A client by hand that speaks TLS, and in it what it likes.
fn by_hand(root: &Path, port: u16, protocol: Option<&str>) -> Hand {
    by_hand_with(root, port, protocol, |_| {})
}

/// Connects like [`by_hand`], on a socket with these settings.
fn by_hand_with(
    root: &Path,
    port: u16,
    protocol: Option<&str>,
    set: impl FnOnce(&OwnedFd),
) -> Hand {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(root).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.enable_secret_extraction = true;
    config.alpn_protocols.extend(protocol.map(|protocol| protocol.as_bytes().to_vec()));
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    set(&socket);
    let server = SocketAddr::from(([127, 0, 0, 1], port));
    connect(&socket, &server).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    StreamOwned::new(connection, stream)
}

type Hand = StreamOwned<ClientConnection, TcpStream>;

/// Returns the configuration of a server by hand.
fn config_by_hand(issued: &Issued) -> rustls::ServerConfig {
    let chain = vec![CertificateDer::from_pem_file(&issued.chain).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&issued.key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap()
}

// ---- identity ----

#[test]
fn both_sides_see_names_of_peers_certificate() {
    let all = Certificates::new();
    let (sender, seen) = channel();
    let options =
        ServerOptions::new().session(session(all.mutual_server())).authorize(move |who| {
            sender.send(who.clone()).unwrap();
            Ok(())
        });
    let echo = Echo::with(options);
    let issued = all.issue(&CLIENT_NAMES, Valid::Now);
    let mut session = echo.connect(own(all.client(), &issued)).unwrap();
    assert_eq!(session.carrier(), Carrier::Tls);
    let server = session.peer().identity.clone().unwrap();
    assert_eq!(server.names(), SERVER_NAMES_SEEN);
    assert!(session.peer().remote.is_some());
    session.call(0, b"").unwrap();
    let client = wait_for(&seen, PATIENCE).unwrap();
    let identity = client.identity.unwrap();
    assert_eq!(identity.names(), CLIENT_NAMES);
    let certificate = CertificateDer::from_pem_file(&issued.chain).unwrap();
    assert_eq!(identity.certificate(), certificate.as_ref());
}

#[test]
fn unrequested_client_certificate_gives_no_identity() {
    let all = Certificates::new();
    let (sender, seen) = channel();
    let options = ServerOptions::new().session(session(all.server())).authorize(move |who| {
        sender.send(who.clone()).unwrap();
        Ok(())
    });
    let echo = Echo::with(options);
    echo.serves(own(all.client(), &all.issue(&CLIENT_NAMES, Valid::Now)));
    assert_eq!(wait_for(&seen, PATIENCE).unwrap().identity, None);
}

#[test]
fn policy_refuses_by_certificate_and_reason_arrives() {
    let all = Certificates::new();
    let options = ServerOptions::new().session(session(all.mutual_server())).authorize(|who| {
        match &who.identity {
            Some(identity) if identity.names() == CLIENT_NAMES => Ok(()),
            other => Err(format!("not for {:?}", other.as_ref().unwrap().names())),
        }
    });
    let echo = Echo::with(options);
    echo.serves(own(all.client(), &all.issue(&CLIENT_NAMES, Valid::Now)));
    let other = own(all.client(), &all.issue(&["other.test"], Valid::Now));
    let error = echo.connect(other).err().unwrap().to_string();
    assert!(error.contains(r#"not for ["other.test"]"#), "{error}");
}

#[test]
fn shared_sessions_and_messages_of_any_size_travel_over_it() {
    let all = Certificates::new();
    let echo = Echo::start(all.server());
    let shared = Session::connect_with(&echo.address, &session(all.client())).unwrap();
    assert!(shared.peer().identity.is_some());
    for len in [0, 1, 16_383, 16_384, 16_385, 65_536, 1 << 20, 5_000_001] {
        let request: Vec<u8> = (0..len).map(|at: u32| at.to_le_bytes()[at as usize % 3]).collect();
        assert_eq!(shared.call(0, &request).unwrap().to_vec(), request, "{len}");
    }
}

// ---- bad certificates ----

#[test]
fn bad_server_certificate_is_refused_with_its_fault() {
    let (all, others) = (Certificates::new(), Certificates::new());
    for (issued, expected) in [
        (all.issue(&SERVER_NAMES, Valid::Before), "has expired"),
        (all.issue(&SERVER_NAMES, Valid::Later), "not valid yet"),
        (all.issue(&["elsewhere.test"], Valid::Now), "certificate is not for 127.0.0.1"),
        (others.issue(&SERVER_NAMES, Valid::Now), "no root that this side trusts"),
    ] {
        let echo = Echo::start(own(Tls::new(), &issued));
        let error = echo.refuses(all.client());
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn bad_certificates_have_distinct_errors() {
    let (all, others) = (Certificates::new(), Certificates::new());
    let refused = |issued: &Issued| Echo::start(own(Tls::new(), issued)).refuses(all.client());
    let expired = refused(&all.issue(&SERVER_NAMES, Valid::Before));
    assert!(matches!(expired, TlsError::Expired), "{expired}");
    let unknown = refused(&others.issue(&SERVER_NAMES, Valid::Now));
    assert!(matches!(unknown, TlsError::UnknownIssuer), "{unknown}");
    let wrong = refused(&all.issue(&["elsewhere.test"], Valid::Now));
    assert!(matches!(wrong, TlsError::WrongName(name) if name == "127.0.0.1"));
}

#[test]
fn bad_or_missing_client_certificate_gets_an_alert() {
    let (all, others) = (Certificates::new(), Certificates::new());
    let echo = Echo::start(all.mutual_server());
    let with = |issued: &Issued| own(all.client(), issued);
    for (tls, expected) in [
        (all.client(), "certificate_required"),
        (with(&all.issue(&CLIENT_NAMES, Valid::Before)), "certificate_expired"),
        (with(&others.issue(&CLIENT_NAMES, Valid::Now)), "unknown_ca"),
    ] {
        match echo.refuses(tls) {
            TlsError::Alert(alert) => assert_eq!(alert, expected),
            other => panic!("{expected}: {other}"),
        }
    }
    echo.serves(with(&all.issue(&CLIENT_NAMES, Valid::Now)));
}

#[test]
fn without_certificates_there_is_no_tls() {
    if crate::support::carrier() == Carrier::Tls {
        return; // This process has some by default.
    }
    let all = Certificates::new();
    let address: Address = "tls:127.0.0.1:0".parse().unwrap();
    let bound = Server::bind_with(&address, ServerOptions::new());
    assert!(matches!(bound.err(), Some(ServeError::Tls(TlsError::NoCertificate))));
    let only_roots = ServerOptions::new().session(session(all.client()));
    let bound = Server::bind_with(&address, only_roots);
    assert!(matches!(bound.err(), Some(ServeError::Tls(TlsError::NoCertificate))));
    for options in [patient(), session(all.server())] {
        let error = ExclusiveSession::connect_with(&address, &options).err();
        assert!(matches!(error, Some(ConnectError::Tls(TlsError::NoRoots))), "{error:?}");
    }
}

#[test]
fn invalid_certificate_files_are_named() {
    let all = Certificates::new();
    let good = all.issue(&SERVER_NAMES, Valid::Now);
    let other = all.issue(&CLIENT_NAMES, Valid::Now);
    let absent = all.folder.path().join("absent.pem");
    let garbled = all.folder.path().join("garbled.pem");
    std::fs::write(&garbled, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    let failed = |outcome: Result<Tls, TlsError>| outcome.unwrap_err().to_string();
    for (error, expected) in [
        (failed(Tls::new().roots(&absent)), "cannot read"),
        (failed(Tls::new().roots(&good.key)), "is not PEM with a certificate in it"),
        (failed(Tls::new().roots(&garbled)), "garbled.pem cannot be used"),
        (failed(Tls::new().certificate(&good.chain, &absent)), "absent.pem"),
        (failed(Tls::new().certificate(&good.chain, &good.chain)), "with a private key in it"),
        (failed(Tls::new().certificate(&good.chain, &other.key)), "is not that of the certificate"),
    ] {
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_root_is_an_authoritys_certificate_and_no_servers() {
    let all = Certificates::new();
    let leaf = all.issue(&SERVER_NAMES, Valid::Now);
    let error = Tls::new().roots(&leaf.chain).unwrap_err();
    assert!(matches!(&error, TlsError::Unusable { path, .. } if *path == leaf.chain), "{error}");
    assert!(error.to_string().contains("is not an authority"), "{error}");
    // Among good ones too.
    let mixed = all.folder.path().join("mixed.pem");
    let [root, leaf] =
        [&all.authority.root(), &leaf.chain].map(|path| std::fs::read(path).unwrap());
    std::fs::write(&mixed, [root, leaf].concat()).unwrap();
    let error = Tls::new().roots(&mixed).unwrap_err();
    assert!(matches!(&error, TlsError::Unusable { path, .. } if *path == mixed), "{error}");
}

// ---- peers that speak something else, or only half of it ----

#[test]
fn plain_client_error_names_tls() {
    let all = Certificates::new();
    let echo = Echo::start(all.server());
    let plain = Place::Tcp { host: "127.0.0.1".to_owned(), port: echo.port() };
    match ExclusiveSession::connect_with(plain, &patient()).err() {
        Some(ConnectError::Handshake(error @ HandshakeError::Hello(HelloError::Magic(_)))) => {
            assert!(error.to_string().contains("it speaks TLS"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    echo.serves(all.client());
}

#[test]
fn plain_server_is_reported_as_closed() {
    let all = Certificates::new();
    let plain = Echo::at("tcp:127.0.0.1:0", ServerOptions::new().session(patient()));
    let address = format!("tls:127.0.0.1:{}", plain.port()).parse().unwrap();
    let error = tls_error(&address, &session(all.client()));
    assert!(matches!(error, TlsError::Closed), "{error}");
}

#[test]
fn a_peer_that_answers_something_else_does_not_speak_tls() {
    let all = Certificates::new();
    let (address, acting) = peer(|mut stream| {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Until the client goes.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = tls_error(&address, &session(all.client()));
    assert!(matches!(error, TlsError::NotTls), "{error}");
    acting.join().unwrap();
}

#[test]
fn a_peer_whose_tls_is_bad_speaks_tls_all_the_same() {
    let all = Certificates::new();
    let (address, acting) = peer(|mut stream| {
        stream.read_exact(&mut [0; 100]).unwrap();
        // A record with an empty ServerHello.
        stream.write_all(&[22, 3, 3, 0, 4, 2, 0, 0, 0]).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = tls_error(&address, &session(all.client()));
    assert!(matches!(error, TlsError::Protocol(_)), "{error}");
    acting.join().unwrap();
}

#[test]
fn server_sending_records_without_hello_is_given_up() {
    let all = Certificates::new();
    let mut config = config_by_hand(&all.issue(&SERVER_NAMES, Valid::Now));
    // Records without a byte for the session, more than a client accepts.
    config.send_tls13_tickets = 1000;
    let (address, acting) = peer(move |stream| {
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut server = StreamOwned::new(connection, stream);
        // Until the client goes.
        while matches!(server.read(&mut [0; 100]), Ok(1..)) {}
    });
    let error = tls_error(&address, &session(all.client()));
    let is_given_up = matches!(&error, TlsError::Protocol(what) if what.contains("no hello"));
    assert!(is_given_up, "{error}");
    acting.join().unwrap();
}

#[test]
fn server_end_in_handshake_is_distinct_from_refusal() {
    let all = Certificates::new();
    let (address, acting) = peer(|mut stream| {
        stream.read_exact(&mut [0; 100]).unwrap();
        // Half a record.
        stream.write_all(&[22, 3, 3, 0, 100, 2]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = tls_error(&address, &session(all.client()));
    assert!(matches!(error, TlsError::Closed), "{error}");
    acting.join().unwrap();
}

#[test]
fn an_alert_is_named() {
    let all = Certificates::new();
    let (address, acting) = peer(|mut stream| {
        stream.read_exact(&mut [0; 100]).unwrap();
        stream.write_all(&[21, 3, 3, 0, 2, 2, 40]).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = tls_error(&address, &session(all.client()));
    assert!(matches!(&error, TlsError::Alert(alert) if alert == "handshake_failure"), "{error}");
    acting.join().unwrap();
}

#[test]
fn refused_certificate_leads_to_next_place() {
    let (all, others) = (Certificates::new(), Certificates::new());
    let within = Echo::start(all.server());
    let plain = Echo::at("tcp:127.0.0.1:0", ServerOptions::new().session(patient()));
    let address: Address = format!("{},{}", within.address, plain.address).parse().unwrap();
    let carrier = |all: &Certificates| {
        ExclusiveSession::connect_with(&address, &session(all.client())).unwrap().carrier()
    };
    assert_eq!(carrier(&all), Carrier::Tls);
    assert_eq!(carrier(&others), Carrier::Tcp);
}

#[test]
fn silent_server_fails_at_handshake_timeout() {
    let all = Certificates::new();
    let (address, acting) = peer(|mut stream| drop(stream.read_to_end(&mut Vec::new())));
    let options = SessionOptions::new().tls(all.client());
    let options = options.handshake_timeout(Duration::from_millis(50));
    let error = ExclusiveSession::connect_with(&address, &options).err();
    let silent = matches!(&error, Some(ConnectError::Handshake(HandshakeError::Timeout(_))));
    assert!(silent, "{error:?}");
    acting.join().unwrap();
}

#[test]
fn clients_in_handshake_delay_no_other_and_time_out() {
    let all = Certificates::new();
    let options = session(all.server()).handshake_timeout(Duration::from_secs(2));
    let echo = Echo::with(ServerOptions::new().session(options));
    // Nothing, a part of a record's head, a part of a record.
    let parts: [&[u8]; 3] = [&[], &[22, 3], &[22, 3, 1, 1, 0, 1, 0, 0]];
    let mut silent: Vec<TcpStream> = (0..60).map(|_| echo.raw()).collect();
    for (number, stream) in silent.iter_mut().enumerate() {
        stream.write_all(parts[number % 3]).unwrap();
    }
    let (address, options) = (echo.address.clone(), session(all.client()));
    within(PATIENCE, "a client", move || {
        let mut session = ExclusiveSession::connect_with(&address, &options).unwrap();
        session.call(0, b"").unwrap();
    });
    for stream in &mut silent {
        // An alert may come before.
        match stream.read_to_end(&mut Vec::new()) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    echo.serves(all.client());
}

#[test]
fn client_that_ends_in_handshake_leaves_nothing() {
    let all = Certificates::new();
    let echo = Echo::start(all.server());
    for part in [&[22, 3, 1][..], &[22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3], b"BRZW", b"GET / HTTP"] {
        let mut stream = echo.raw();
        stream.write_all(part).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // Whatever the peer answers, it ends the connection.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    echo.serves(all.client());
}

// ---- in the middle of a session ----

/// Passes bytes on between a client and a server, and changes one of the server's once `spoil` is
/// set.
fn between(port: u16, spoil: &Arc<AtomicBool>) -> (Address, JoinHandle<()>) {
    let spoil = Arc::clone(spoil);
    peer(move |mut client| {
        let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let forth = std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = server.read(&mut bytes) {
            if spoil.load(Ordering::Relaxed) {
                bytes[count - 1] ^= 1;
            }
            if client.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        forth.join().unwrap();
    })
}

#[test]
fn bytes_that_were_changed_on_their_way_end_the_session() {
    let all = Certificates::new();
    let echo = Echo::start(all.server());
    let spoil = Arc::new(AtomicBool::new(false));
    let (address, passing) = between(echo.port(), &spoil);
    let mut changed = ExclusiveSession::connect_with(&address, &session(all.client())).unwrap();
    assert_eq!(changed.call(0, b"hello").unwrap().to_vec(), b"hello");
    spoil.store(true, Ordering::Relaxed);
    let error = changed.call(0, b"hello").err();
    assert!(matches!(error, Some(CallError::Tls(TlsError::Protocol(_)))), "{error:?}");
    drop(changed);
    passing.join().unwrap();
    echo.serves(all.client());
}

#[test]
fn cut_connection_is_peer_death_not_orderly_end() {
    let all = Certificates::new();
    let (sender, cut) = channel::<TcpStream>();
    let echo = Echo::start(all.server());
    let port = echo.port();
    let (address, passing) = peer(move |mut client| {
        let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let forth = std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
        sender.send(client.try_clone().unwrap()).unwrap();
        let _ = std::io::copy(&mut server, &mut client);
        let _ = server.shutdown(Shutdown::Both);
        forth.join().unwrap();
    });
    let mut session = ExclusiveSession::connect_with(&address, &session(all.client())).unwrap();
    session.call(0, b"").unwrap();
    // The end of TCP, and no farewell of TLS's.
    wait_for(&cut, PATIENCE).unwrap().shutdown(Shutdown::Both).unwrap();
    let error = session.call(0, b"").err();
    assert!(matches!(error, Some(CallError::PeerDied)), "{error:?}");
    drop(session);
    echo.stopper.stop();
    passing.join().unwrap();
}

#[test]
fn server_of_another_protocol_is_refused_by_name() {
    let all = Certificates::new();
    let mut config = config_by_hand(&all.issue(&SERVER_NAMES, Valid::Now));
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (address, acting) = peer(move |stream| {
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let _ = StreamOwned::new(connection, stream).read(&mut [0]);
    });
    let error = tls_error(&address, &session(all.client()));
    assert!(matches!(error, TlsError::OtherProtocol), "{error}");
    acting.join().unwrap();
}
