//! Clients and servers of this crate at an address.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use breezeway_shmipc::{
    Address, Client, ClientOptions, HandshakeError, Memory, ServeError, Server, ServerOptions,
    SessionEnd, Stream, StreamError, Trust,
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Running {
    address: Address,
    stopper: breezeway_shmipc::Stopper,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(address: &Address, options: ServerOptions) -> Self {
        let server = Server::bind(address, options).unwrap();
        let (address, stopper) = (server.address().clone(), server.stopper());
        let echoing = std::thread::spawn(move || server.serve(echo));
        Self { address, stopper, thread: Some(echoing) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
    }
}

fn echo(stream: &mut Stream) -> Result<(), StreamError> {
    let (reader, writer) = stream.halves();
    writer.forward(reader).map(|_| ())
}

pub(crate) fn unix_in(folder: &tempfile::TempDir) -> Address {
    Address::Unix(folder.path().join("echo.sock"))
}

pub(crate) fn small(memory: Memory) -> ClientOptions {
    ClientOptions::new(Trust::AnyUser)
        .buffer_size(1 << 20)
        .memory(memory)
        .slices([(1004, 50), (4076, 50)])
}

fn server_options(folder: &tempfile::TempDir) -> ServerOptions {
    ServerOptions::new(Trust::AnyUser).folders([folder.path()])
}

fn files_in(folder: &tempfile::TempDir) -> Vec<String> {
    let names = std::fs::read_dir(folder.path()).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn assert_echo(stream: &mut Stream, len: usize) {
    stream.set_read_timeout(Some(PATIENCE));
    stream.set_write_timeout(Some(PATIENCE));
    let sent: Vec<u8> = (0..len).map(|at| (at * 7) as u8).collect();
    let mut received = vec![0; len];
    stream.write_all(&sent).unwrap();
    stream.read_exact(&mut received).unwrap();
    assert!(received == sent, "{len} bytes");
}

#[test]
fn every_way_of_sharing_memory_works() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&unix_in(&folder), server_options(&folder));
    let prefix = folder.path().join("region");
    for memory in [Memory::Memfd, Memory::FilesV2(prefix.clone()), Memory::FilesV3(prefix)] {
        let client = Client::connect(&server.address, small(memory.clone())).unwrap();
        let mut stream = client.open().unwrap();
        for len in [1, 5000, 100_000] {
            assert_echo(&mut stream, len);
        }
        assert_eq!(
            files_in(&folder),
            ["echo.sock"],
            "{memory:?}: names are gone once they are known"
        );
    }
}

#[test]
fn files_are_shared_over_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let options = server_options(&folder).files_of_unknown_users(true);
    let server = Running::start(&Address::Tcp("127.0.0.1:0".to_owned()), options);
    let memory = Memory::FilesV2(folder.path().join("region"));
    let client = Client::connect(&server.address, small(memory)).unwrap();
    assert_echo(&mut client.open().unwrap(), 50_000);
    let error = Client::connect(&server.address, small(Memory::Memfd)).err().unwrap();
    assert!(error.to_string().contains("TCP"), "{error}");
}

/// Upstream's client takes 10 MB for this: a page for each slice's header, and the queues.
#[test]
fn sessions_share_a_region_allocated_on_use() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let server = Running::start(&unix_in(&folder), server_options(&folder));
    let options = |count, preallocate| {
        let memory = Memory::FilesV2(folder.path().join("region"));
        let options = ClientOptions::new(Trust::AnyUser).memory(memory).preallocate(preallocate);
        options.sessions(count)
    };
    let sizes = |client: &Client| {
        let files = files_in(&folder).into_iter().filter(|name| name.starts_with("region"));
        let stats: Vec<_> =
            files.map(|name| std::fs::metadata(folder.path().join(name)).unwrap()).collect();
        assert_eq!(stats.len(), client.sessions().len() + 1, "a queue each, and a buffer");
        stats.iter().map(|stat| stat.blocks() * 512).sum::<u64>()
    };
    let client = Client::connect(&server.address, options(4, false)).unwrap();
    let taken = sizes(&client);
    assert!(taken < 12 << 20, "{taken} bytes for four sessions");
    let mut streams: Vec<_> = (0..128).map(|_| client.open().unwrap()).collect();
    std::thread::scope(|scope| {
        for stream in &mut streams {
            scope.spawn(|| assert_echo(stream, 50_000));
        }
    });
    assert_eq!(files_in(&folder), ["echo.sock"], "all sessions have answered");
    drop((streams, client));
    let client = Client::connect(&server.address, options(1, true)).unwrap();
    assert!(sizes(&client) >= 32 << 20);
}

#[test]
fn region_creation_error_names_size_and_option() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let server = Running::start(&unix_in(&folder), server_options(&folder));
    // No process can make a folder there.
    let options = ClientOptions::new(Trust::AnyUser)
        .memory(Memory::FilesV2("/proc/breezeway/region".into()))
        .buffer_size(2 << 20);
    let error = Client::connect(&server.address, options).err().unwrap().to_string();
    assert!(error.contains("2097152 bytes") && error.contains("lower buffer_size"), "{error}");
}

#[test]
fn more_than_the_memory_holds_is_echoed_while_it_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&unix_in(&folder), server_options(&folder));
    let client = Client::connect(&server.address, small(Memory::Memfd)).unwrap();
    let (mut reader, mut writer) = client.open().unwrap().split();
    reader.set_timeout(Some(PATIENCE));
    writer.set_timeout(Some(PATIENCE));
    let request: Vec<u8> = (0..8 << 20).map(|at: u32| (at / 251) as u8).collect();
    let mut reply = vec![0; request.len()];
    std::thread::scope(|scope| {
        scope.spawn(|| writer.send(&request).unwrap());
        reader.read_exact(&mut reply).unwrap();
    });
    assert!(reply == request);
}

#[test]
fn received_bytes_are_forwarded_to_another_stream() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&unix_in(&folder), server_options(&folder));
    let client = Client::connect(&server.address, small(Memory::Memfd)).unwrap();
    let (mut from, to) = (client.open().unwrap(), client.open().unwrap());
    let (mut answers, mut sending) = to.split();
    let (reader, _) = from.halves();
    assert_eq!(sending.forward(reader).unwrap(), 0, "nothing has come");
    from.send(b"to and on").unwrap();
    from.set_read_timeout(Some(PATIENCE));
    assert_eq!(from.peek_at_least(9).unwrap().unwrap().len(), 9);
    let (reader, _) = from.halves();
    assert_eq!(sending.forward(reader).unwrap(), 9);
    answers.set_timeout(Some(PATIENCE));
    let mut bytes = [0; 9];
    answers.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"to and on");
    assert!(from.try_peek().unwrap().is_none(), "what was sent on was released");
}

#[test]
fn several_clients_and_servers_live_in_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let addresses = ["a", "b"].map(|name| Address::Unix(folder.path().join(name)));
    let servers = addresses.map(|address| Running::start(&address, server_options(&folder)));
    let clients: Vec<_> = servers
        .iter()
        .flat_map(|server| [&server.address; 3])
        .map(|address| Client::connect(address, small(Memory::Memfd).sessions(2)).unwrap())
        .collect();
    let mut streams: Vec<_> = clients.iter().map(|client| client.open().unwrap()).collect();
    for stream in &mut streams {
        assert_echo(stream, 3000);
    }
    drop(servers);
}

#[test]
fn a_client_finds_back_to_a_server_that_comes_again() {
    let folder = tempfile::tempdir().unwrap();
    let address = unix_in(&folder);
    let server = Running::start(&address, server_options(&folder));
    let client = Client::connect(&address, small(Memory::Memfd)).unwrap();
    let mut stream = client.open().unwrap();
    assert_echo(&mut stream, 10);
    drop(server);
    assert!(matches!(stream.peek(), Err(StreamError::Session(SessionEnd::PeerGone))));
    let _server = Running::start(&address, server_options(&folder));
    assert_echo(&mut client.open().unwrap(), 10);
}

#[test]
fn client_without_a_server_names_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let address = unix_in(&folder);
    let server = Running::start(&address, server_options(&folder));
    let options = small(Memory::Memfd).connect_timeout(Duration::from_millis(50));
    let client = Client::connect(&address, options).unwrap();
    let mut stream = client.open().unwrap();
    stream.set_read_timeout(Some(PATIENCE));
    drop(server);
    assert!(matches!(stream.peek(), Err(StreamError::Session(SessionEnd::PeerGone))));
    // The session's end is known now, so no stream is opened on it.
    let error = client.open().err().unwrap();
    assert!(error.to_string().contains("no session within"), "{error}");
}

#[test]
fn a_hot_restart_loses_no_stream_and_moves_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let address = unix_in(&folder);
    let old = Server::bind(&address, server_options(&folder)).unwrap();
    std::thread::scope(|scope| {
        let old = &old;
        scope.spawn(|| old.serve(echo));
        let stop_old = StopOnDrop(old.stopper());
        let client = Client::connect(&address, small(Memory::Memfd).sessions(3)).unwrap();
        let mut before = client.open().unwrap();
        assert_echo(&mut before, 10);
        // A session exists later at the server than at its client.
        let until = Instant::now() + PATIENCE;
        while old.sessions().len() < 3 {
            assert!(Instant::now() < until);
            std::thread::yield_now();
        }
        let new = Running::start(&address, server_options(&folder).take_over(true));
        let report = old.hot_restart(7, PATIENCE);
        assert_eq!((report.acknowledged, report.missing), (3, 0));
        assert_echo(&mut before, 10_000);
        let mut after = client.open().unwrap();
        assert_echo(&mut after, 10);
        drop(stop_old);
        assert!(matches!(before.peek(), Err(StreamError::Session(SessionEnd::PeerGone))));
        assert_echo(&mut after, 10);
        drop(new);
    });
}

struct StopOnDrop(breezeway_shmipc::Stopper);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[test]
fn an_abstract_name_is_an_address_like_others() {
    let name = format!("breezeway-shmipc-test-{}", std::process::id());
    let address: Address = format!("shmipc:@{name}").parse().unwrap();
    let server = Running::start(&address, ServerOptions::new(Trust::SameUser));
    assert_eq!(server.address, address);
    let client = Client::connect(&address, ClientOptions::new(Trust::SameUser)).unwrap();
    assert_echo(&mut client.open().unwrap(), 10_000);
    let again = Server::bind(&address, ServerOptions::new(Trust::SameUser)).err().unwrap();
    assert!(matches!(again, ServeError::InUse(_)), "{again}");
}

#[test]
fn a_listener_that_was_made_elsewhere_is_served_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("echo.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let server = Server::from_listener(listener, server_options(&folder)).unwrap();
    assert_eq!(server.address(), &Address::Unix(path.clone()));
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve(echo));
    let client = Client::connect(&Address::Unix(path.clone()), small(Memory::Memfd)).unwrap();
    assert_echo(&mut client.open().unwrap(), 10_000);
    stopper.stop();
    serving.join().unwrap();
    assert!(path.exists(), "it belongs to its maker");
    let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let refused = Server::from_listener(ours, server_options(&folder)).err().unwrap();
    assert!(refused.to_string().contains("not a listening stream socket"), "{refused}");
}

#[test]
fn sessions_are_agreed_on_over_sockets_that_were_made_elsewhere() {
    use breezeway_shmipc::{AcceptError, Session};
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    // As an event loop would set them.
    ours.set_nonblocking(true).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = server_options(&folder);
    let accepting = std::thread::spawn(move || Session::accept_over(theirs.into(), &options));
    let client = Session::connect_over(ours.into(), &small(Memory::Memfd)).unwrap();
    let server = accepting.join().unwrap().unwrap();
    assert_eq!(server.peer().unwrap().pid, Some(std::process::id()));
    std::thread::spawn(move || server.serve(echo));
    assert_echo(&mut client.open().unwrap(), 10_000);
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    drop(ours);
    let refused = Session::accept_over(theirs.into(), &server_options(&folder)).err().unwrap();
    assert!(matches!(refused, AcceptError::Handshake(HandshakeError::Closed)), "{refused}");
}

/// Records its callbacks.
#[derive(Default)]
struct Diary(std::sync::Mutex<Vec<String>>);

impl Diary {
    fn note(&self, session: &breezeway_shmipc::Session, what: String) {
        assert_eq!(session.peer().unwrap().pid, Some(std::process::id()));
        self.0.lock().unwrap().push(what);
    }
}

impl breezeway_shmipc::Handler for Diary {
    fn began(&self, session: &breezeway_shmipc::Session) {
        self.note(session, "began".to_owned());
    }

    fn opened(&self, session: &breezeway_shmipc::Session, stream: &mut Stream) {
        self.note(session, format!("opened {}", stream.id()));
    }

    fn arrived(
        &self,
        session: &breezeway_shmipc::Session,
        stream: &mut Stream,
    ) -> Result<(), StreamError> {
        let Some(bytes) = stream.try_peek()?.map(|peeked| peeked.to_vec()) else { return Ok(()) };
        self.note(session, format!("{} says {}", stream.id(), String::from_utf8_lossy(&bytes)));
        stream.release(bytes.len());
        if bytes == b"enough" { Err(StreamError::Closed) } else { stream.send(b"ok") }
    }

    fn closed_by_peer(&self, session: &breezeway_shmipc::Session, stream: &mut Stream) {
        self.note(session, format!("{} closed by peer", stream.id()));
    }

    fn closed(&self, session: &breezeway_shmipc::Session, stream: u32) {
        self.note(session, format!("{stream} closed"));
    }

    fn ended(&self, session: &breezeway_shmipc::Session, end: &SessionEnd) {
        self.note(session, format!("{end}"));
    }
}

#[test]
fn handler_receives_every_session_and_stream_event() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::bind(&unix_in(&folder), server_options(&folder)).unwrap();
    let stopper = server.stopper();
    let diary = Diary::default();
    std::thread::scope(|scope| {
        let _stop = StopOnDrop(stopper);
        scope.spawn(|| server.serve_with(&diary));
        let client = Client::connect(&unix_in(&folder), small(Memory::Memfd)).unwrap();
        let mut reply = [0; 2];
        let mut talk = |text: &[u8]| {
            let mut stream = client.open().unwrap();
            stream.set_read_timeout(Some(PATIENCE));
            stream.send(text).unwrap();
            let answered = if text == b"enough" { 0 } else { 2 };
            assert_eq!(stream.read(&mut reply).unwrap(), answered);
            stream
        };
        drop(talk(b"a"));
        talk(b"enough");
        let _open = talk(b"c");
        let session = client.sessions().remove(0);
        assert_eq!(server.sessions()[0].statistics().counters.bytes_received, 8);
        session.close();
        while server.sessions().iter().any(|session| session.peer().is_some())
            && !diary.0.lock().unwrap().iter().any(|line| line.contains("died"))
        {
            std::thread::yield_now();
        }
    });
    let lines = diary.0.into_inner().unwrap();
    let end = lines.iter().position(|line| line == "the peer closed the session or died").unwrap();
    // The end of a stream may come after what was sent on another one.
    let of = |stream: &str| -> Vec<_> {
        lines[..end].iter().filter(|line| line.contains(stream)).map(String::as_str).collect()
    };
    assert_eq!(lines[0], "began");
    assert_eq!(of("2"), ["opened 2", "2 says a", "2 closed by peer", "2 closed"]);
    assert_eq!(of("3"), ["opened 3", "3 says enough", "3 closed"]);
    assert_eq!(of("4"), ["opened 4", "4 says c", "4 closed"]);
}

#[test]
fn session_activity_is_counted() {
    use breezeway_shmipc::{Session, SessionOptions, WhenFull};
    let options = small(Memory::Memfd).queue_capacity(8);
    let options = options.session(SessionOptions::new().when_full(WhenFull::Fail));
    let (client, server) = Session::pair(&options, &ServerOptions::new(Trust::SameUser)).unwrap();
    let mut stream = client.open().unwrap();
    for _ in 0..8 {
        stream.send(&[7; 100]).unwrap();
    }
    assert!(matches!(stream.send(&[7; 100]), Err(StreamError::QueueFull)));
    let sent = client.statistics();
    assert_eq!((sent.queue_depth, sent.counters.queue_full), (8, 1));
    assert_eq!((sent.counters.bytes_sent, sent.counters.messages_sent), (800, 8));
    assert_eq!(sent.region_sizes, [2 * (24 + 8 * 12), 1 << 20]);
    let mut served = server.accept().unwrap();
    served.read_exact(&mut [0; 800]).unwrap();
    let received = server.statistics().counters;
    assert_eq!((received.bytes_received, received.messages_received), (800, 8));
    assert_eq!(client.statistics().queue_depth, 0);
    // More than the region holds: the rest goes over the socket.
    stream.set_read_timeout(Some(PATIENCE));
    std::thread::scope(|scope| {
        let (sending, bytes) = (&mut served, vec![7; 2 << 20]);
        let sent = scope.spawn(move || {
            let mut reserved = sending.reserve(bytes.len()).unwrap();
            reserved.write(&bytes);
            reserved.commit()
        });
        stream.read_exact(&mut vec![0; 2 << 20]).unwrap();
        sent.join().unwrap().unwrap();
    });
    let sent = server.statistics().counters;
    assert!(sent.memory_exhausted > 0 && sent.fallbacks_sent > 0, "{sent:?}");
    assert_eq!(sent.bytes_sent, 2 << 20);
    let received = client.statistics().counters;
    assert_eq!(received.bytes_received, sent.bytes_sent);
    assert!(received.fallbacks_received > 0, "{received:?}");
}

#[test]
fn an_address_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let address = unix_in(&folder);
    let _server = Running::start(&address, server_options(&folder));
    let refused = Server::bind(&address, server_options(&folder)).err().unwrap();
    assert!(matches!(refused, ServeError::InUse(_)));
}

#[test]
fn a_user_that_is_not_trusted_gets_no_session() {
    let folder = tempfile::tempdir().unwrap();
    let address = unix_in(&folder);
    let stranger = rustix::process::geteuid().as_raw() + 1;
    let options = ServerOptions::new(Trust::Users(vec![stranger]));
    let server = Running::start(&address, options);
    let error = Client::connect(&server.address, small(Memory::Memfd)).err().unwrap();
    assert!(
        matches!(error, breezeway_shmipc::ConnectError::Handshake(HandshakeError::Closed)),
        "{error}"
    );
}

#[test]
fn a_handler_that_panics_closes_its_stream_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::bind(&unix_in(&folder), server_options(&folder)).unwrap();
    let (address, stopper) = (server.address().clone(), server.stopper());
    let handler = |stream: &mut Stream| {
        if let Some(bytes) = stream.try_peek()? {
            assert_ne!(bytes.to_vec(), b"panic", "as this test wants");
        }
        echo(stream)
    };
    let thread = std::thread::spawn(move || server.serve(handler));
    let client = Client::connect(&address, small(Memory::Memfd)).unwrap();
    let (mut calm, mut fatal) = (client.open().unwrap(), client.open().unwrap());
    assert_echo(&mut calm, 10);
    fatal.set_read_timeout(Some(PATIENCE));
    for _ in 0..3 {
        fatal.send(b"panic").unwrap();
        assert_eq!(fatal.read(&mut [0; 1]).unwrap(), 0, "the end of the stream");
        assert_echo(&mut calm, 1000);
        fatal = client.open().unwrap();
        fatal.set_read_timeout(Some(PATIENCE));
    }
    assert_eq!(client.sessions().len(), 1);
    stopper.stop();
    assert!(thread.join().is_ok(), "serve ends as ever");
}
