//! Servers that are restarted: a successor takes the sockets over, clients move, and nothing is
//! lost.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use breezeway::{
    Address, Call, CallError, Client, ClientError, ClientOptions, ExclusiveSession, Handler,
    HandlerError, Pool, Replied, ServeError, ServerOptions, SessionOptions, Stopper, TrySendError,
    Unserved,
};
use breezeway_adversary::{slow_to_close, socket};

use crate::support::content::{Random, message};
use crate::support::server::{
    ECHO, Everything, GIVE_GATED, SINK, ask_for, server_options, sinkable,
};
use crate::support::{
    Folder, PATIENCE, Process, Role, Settings, eventually, has_socket_file, hear, patient, say,
    within,
};

pub(crate) const ROLES: &[(&str, Role)] =
    &[("generation", serve), ("intruder", needs_root::intrude), ("knocker", needs_root::knock)];

/// Returns the admin socket of a folder's servers, on every carrier.
fn admin(folder: &Folder) -> PathBuf {
    folder.path().join("test.sock.admin")
}

/// A server of a folder, one generation.
struct Generation(Process);

impl Generation {
    fn start(folder: &Folder, settings: Settings) -> Self {
        let mut server = Self::prepare(folder, settings);
        server.0.write_line("serve");
        server
    }

    /// One that has the sockets, or those of its predecessor, and does not serve yet.
    fn prepare(folder: &Folder, settings: Settings) -> Self {
        let settings =
            settings.with("address", folder.address()).with("admin", admin(folder).display());
        let mut process = Process::start("generation", &settings);
        process.expect("listening");
        Self(process)
    }

    /// Waits until it has ended, as all its clients have moved. Gives how many messages it has
    /// served.
    #[track_caller]
    fn has_moved_out(mut self) -> u64 {
        let sunk = self.0.expect("sunk ");
        self.0.succeeds();
        sunk.parse().unwrap()
    }
}

fn drain() -> Settings {
    Settings::new().with("drain", PATIENCE.as_millis())
}

fn options() -> ClientOptions {
    ClientOptions::new().session(patient()).max_sessions(4)
}

#[test]
fn a_client_without_a_call_under_way_notices_nothing() {
    let folder = Folder::new();
    let mut serving = Generation::start(&folder, drain());
    let pool = Pool::connect_with(folder.address(), options()).unwrap();
    let shared = Client::connect_with(folder.address(), options()).unwrap();
    for generation in 0..4 {
        assert_eq!(pool.call(ECHO, &[generation]).unwrap().to_vec(), [generation]);
        assert_eq!(shared.call(ECHO, &[generation]).unwrap().to_vec(), [generation]);
        let successor = Generation::start(&folder, drain());
        let mut predecessor = std::mem::replace(&mut serving, successor);
        eventually("both have moved", || {
            pool.call(ECHO, b"again").unwrap();
            shared.call(ECHO, b"again").unwrap();
            predecessor.0.has_ended()
        });
        predecessor.has_moved_out();
    }
    serving.0.write_line("stop");
    serving.has_moved_out();
    assert!(!folder.socket().exists() && !admin(&folder).exists());
}

#[test]
fn under_load_no_call_fails_and_no_message_is_lost_or_doubled() {
    let folder = Folder::new();
    let mut serving = Generation::start(&folder, drain());
    let over = Arc::new(AtomicBool::new(false));
    let calls = Arc::new(AtomicU64::new(0));
    let pool = Arc::new(Pool::connect_with(folder.address(), options()).unwrap());
    let shared = Arc::new(Client::connect_with(folder.address(), options()).unwrap());
    let callers: Vec<_> = (0..4u64)
        .map(|caller| {
            let (over, calls) = (Arc::clone(&over), Arc::clone(&calls));
            let (pool, shared) = (Arc::clone(&pool), Arc::clone(&shared));
            std::thread::spawn(move || {
                let mut random = Random::new(caller);
                let mut posted = 0;
                while !over.load(Ordering::Relaxed) {
                    let number = calls.fetch_add(1, Ordering::Relaxed);
                    let request = message(number, random.len(20_000));
                    if caller % 2 == 0 {
                        assert!(pool.call(ECHO, request).unwrap().to_vec() == request);
                        pool.session().unwrap().post(SINK, &sinkable(caller, posted, 30)).unwrap();
                    } else {
                        assert!(shared.call(ECHO, request).unwrap().to_vec() == request);
                        shared.post(SINK, &sinkable(caller, posted, 30)).unwrap();
                    }
                    posted += 1;
                }
                posted
            })
        })
        .collect();
    let mut sunk = 0;
    for _ in 0..5 {
        let before = calls.load(Ordering::Relaxed);
        eventually("calls are made", || calls.load(Ordering::Relaxed) > before + 100);
        let successor = Generation::start(&folder, drain());
        let predecessor = std::mem::replace(&mut serving, successor);
        sunk += predecessor.has_moved_out();
    }
    over.store(true, Ordering::Relaxed);
    let posted: u64 = within(PATIENCE, "the callers", move || {
        callers.into_iter().map(|caller| caller.join().unwrap()).sum()
    });
    drop((pool, shared));
    serving.0.write_line("stop");
    sunk += serving.has_moved_out();
    assert_eq!(sunk, posted);
}

#[test]
fn successor_killed_during_take_over_changes_nothing() {
    let folder = Folder::new();
    let mut serving = Generation::start(&folder, drain());
    let client = Pool::connect_with(folder.address(), options()).unwrap();
    for _ in 0..3 {
        let mut killed = Generation::prepare(&folder, drain());
        killed.0.kill();
        assert_eq!(client.call(ECHO, b"still").unwrap().to_vec(), b"still");
        let mut fresh = ExclusiveSession::connect_with(folder.address(), &patient()).unwrap();
        assert_eq!(fresh.call(ECHO, b"there").unwrap().to_vec(), b"there");
    }
    let mut last = Generation::start(&folder, drain());
    client.call(ECHO, b"next").unwrap();
    eventually("it has moved", || {
        client.call(ECHO, b"again").unwrap();
        serving.0.has_ended()
    });
    drop(client);
    serving.has_moved_out();
    last.0.write_line("stop");
    last.has_moved_out();
}

#[test]
fn server_stopped_during_take_over_is_not_succeeded() {
    let folder = Folder::new();
    let mut serving = Generation::start(&folder, drain());
    let mut successor = Generation::prepare(&folder, drain());
    serving.0.write_line("stop");
    serving.has_moved_out();
    successor.0.write_line("serve");
    let error = successor.0.expect("failed ");
    assert!(error.contains("it has ended"), "{error}");
    successor.0.succeeds();
    // The next one finds no server, and starts as the first one.
    let mut next = Generation::start(&folder, drain());
    let mut session = ExclusiveSession::connect_with(folder.address(), &patient()).unwrap();
    assert_eq!(session.call(ECHO, b"anew").unwrap().to_vec(), b"anew");
    drop(session);
    next.0.write_line("stop");
    next.has_moved_out();
}

#[test]
fn a_server_that_stops_can_be_succeeded_until_it_has_ended() {
    let folder = Folder::new();
    let settings = drain().with("gate", false).with("offload", 1);
    let mut serving = Generation::start(&folder, settings);
    let mut session = ExclusiveSession::connect_with(folder.address(), &patient()).unwrap();
    session.send(GIVE_GATED, &ask_for(1, 10)).unwrap();
    serving.0.expect("waiting");
    serving.0.write_line("stop");
    eventually("the news", || {
        assert!(session.try_receive().unwrap().is_none());
        session.is_going_away()
    });
    let mut last = Generation::start(&folder, drain());
    let greet = || {
        let mut fresh = ExclusiveSession::connect_with(folder.address(), &patient()).unwrap();
        assert_eq!(fresh.call(ECHO, b"there").unwrap().to_vec(), b"there");
    };
    greet();
    serving.0.write_line("open");
    assert_eq!(session.receive().unwrap().to_vec(), message(1, 10));
    drop(session);
    serving.has_moved_out();
    greet();
    last.0.write_line("stop");
    last.has_moved_out();
}

#[test]
fn call_past_drain_time_is_cut_and_may_have_run() {
    let folder = Folder::new();
    let settings = || Settings::new().with("drain", 50).with("gate", false).with("offload", 1);
    let mut serving = Generation::start(&folder, settings());
    let mut session = ExclusiveSession::connect_with(folder.address(), &patient()).unwrap();
    session.send(GIVE_GATED, &ask_for(1, 10)).unwrap();
    serving.0.expect("waiting");
    let mut last = Generation::start(&folder, settings());
    let error = within(PATIENCE, "the end", move || session.receive().map(drop).unwrap_err());
    assert!(matches!(error, CallError::Closed) && error.may_have_run(), "{error:?}");
    // A running handler is not ended, so the server waits for it.
    serving.0.write_line("open");
    serving.0.expect("unserved 0 1 0");
    serving.has_moved_out();
    last.0.write_line("stop");
    last.has_moved_out();
}

#[test]
fn malformed_admin_requests_do_no_harm() {
    let folder = Folder::new();
    let serving = Generation::start(&folder, drain());
    assert_eq!(admin(&folder).metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let knock = || UnixStream::connect(admin(&folder)).unwrap();
    let silent = knock();
    knock().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // One that takes the sockets and sends no more.
    let mut greedy = knock();
    greedy.write_all(b"BRZWTAK1").unwrap();
    drop((silent, greedy));
    // One that sends an urgent first byte, with a descriptor that is slow to close.
    let urgent = knock();
    let (slow, _other) = slow_to_close();
    socket::send_urgent(&urgent, b"B", &[slow.as_fd()]).unwrap();
    drop(slow);
    let mut hasty = knock();
    hasty.write_all(b"BRZWTAK1Rxxxxxxx").unwrap();
    drop(hasty);
    // One that reports that it serves, and closes before it may.
    let mut deaf = knock();
    deaf.write_all(b"BRZWTAK1").unwrap();
    let mut said = Vec::new();
    while !said.ends_with(&[3, 0, 0, 0, 0, 0]) {
        let mut byte = [0];
        deaf.read_exact(&mut byte).unwrap();
        said.extend(byte);
    }
    deaf.shutdown(Shutdown::Read).unwrap();
    deaf.write_all(b"R\xff\xff\xff\xff\xff\xff\xff\xff").unwrap();
    eventually("it is given up", || deaf.write_all(b"?").is_err());
    let client = Pool::connect_with(folder.address(), options()).unwrap();
    assert_eq!(client.call(ECHO, b"hi").unwrap().to_vec(), b"hi");
    drop(client);
    let mut last = Generation::start(&folder, drain());
    serving.has_moved_out();
    last.0.write_line("stop");
    last.has_moved_out();
}

#[test]
fn a_server_that_was_not_meant_to_be_succeeded_is_left_alone() {
    let folder = Folder::new();
    let _plain = breezeway::Server::bind(folder.address()).unwrap();
    let options = ServerOptions::new().take_over(true).admin_socket(admin(&folder));
    let refused = breezeway::Server::bind_with(folder.address(), options).err();
    assert!(matches!(refused, Some(ServeError::InUse(_))), "{refused:?}");
}

#[test]
fn an_address_without_a_file_needs_a_place_for_the_admin_socket() {
    let address: Address = "tcp:127.0.0.1:0".parse().unwrap();
    let options = ServerOptions::new().take_over(true);
    let refused = breezeway::Server::bind_with(&address, options).err();
    assert!(matches!(refused, Some(ServeError::NoAdminSocket)), "{refused:?}");
}

#[test]
fn an_admin_path_past_the_limit_names_the_option() {
    let folder = Folder::new();
    let named = |len: usize| {
        let name = "x".repeat(len - folder.path().join("").as_os_str().len());
        Address::unix(folder.path().join(name))
    };
    let options = || ServerOptions::new().take_over(true);
    // The name of the admin socket has six bytes more.
    drop(breezeway::Server::bind_with(named(101), options()).unwrap());
    for len in [102, 107] {
        let error = breezeway::Server::bind_with(named(len), options()).err().unwrap();
        assert!(matches!(error, ServeError::AdminPathTooLong { .. }), "{error}");
        assert!(error.to_string().contains("(--admin)"), "{error}");
        let elsewhere = options().admin_socket(folder.path().join("admin"));
        drop(breezeway::Server::bind_with(named(len), elsewhere).unwrap());
    }
}

#[test]
fn client_waits_for_a_returning_server_within_limit() {
    let folder = Folder::new();
    let waiting = options().wait_for_server(PATIENCE);
    let address = folder.address();
    let connecting = std::thread::spawn(move || Pool::connect_with(&address, waiting).unwrap());
    let serve = || {
        let server = breezeway::Server::bind(folder.address()).unwrap();
        let stopper = server.stopper();
        (stopper, std::thread::spawn(move || server.serve(echo)))
    };
    let (stopper, serving) = serve();
    let client = within(PATIENCE, "the connection", move || connecting.join().unwrap());
    assert_eq!(client.call(ECHO, b"one").unwrap().to_vec(), b"one");
    stopper.stop();
    serving.join().unwrap().unwrap();
    let calling = std::thread::spawn(move || {
        let call = || client.call(ECHO, b"two").map(|reply| reply.to_vec());
        // Within a millisecond of the last call the session is used as it is, and this one may have
        // run for all that the client knows.
        let reply = call().or_else(|error| {
            assert!(error.may_have_run(), "{error}");
            call()
        });
        (reply, client)
    });
    let (stopper, serving) = serve();
    let (reply, client) = within(PATIENCE, "the call", move || calling.join().unwrap());
    assert_eq!(reply.unwrap(), b"two");
    stopper.stop();
    serving.join().unwrap().unwrap();
    drop(client);
    let impatient = options().wait_for_server(Duration::from_millis(20));
    let error = Pool::connect_with(folder.address(), impatient).err().unwrap();
    assert!(error.may_pass(), "{error}");
}

fn echo(call: Call<'_>) -> Result<Replied, HandlerError> {
    let bytes = call.request().to_vec();
    call.reply(&bytes)
}

#[test]
fn a_client_returns_to_the_first_place_when_it_is_served_again() {
    let (first, second) = (Folder::new(), Folder::new());
    let both: Address = [first.address(), second.address()]
        .iter()
        .flat_map(|address| address.places().to_vec())
        .collect();
    let name = |name: &'static str| {
        move |call: Call<'_>| -> Result<Replied, HandlerError> { call.reply(name.as_bytes()) }
    };
    let serve = |address: &Address, named: &'static str| {
        let server = breezeway::Server::bind(address).unwrap();
        let stopper = server.stopper();
        (stopper, std::thread::spawn(move || server.serve(name(named))))
    };
    let (stop_second, second_serves) = serve(&second.address(), "second");
    let returning = options().return_to_first(Duration::from_millis(1));
    let client = Pool::connect_with(&both, returning).unwrap();
    assert_eq!(client.call(0, b"").unwrap().to_vec(), b"second");
    let (stop_first, first_serves) = serve(&first.address(), "first");
    eventually("it returns", || client.call(0, b"").unwrap().to_vec() == b"first");
    for (stopper, serving) in [(stop_first, first_serves), (stop_second, second_serves)] {
        stopper.stop();
        serving.join().unwrap().unwrap();
    }
}

#[test]
fn session_of_departing_server_begins_nothing() {
    let folder = Folder::new();
    let serving = Generation::start(&folder, drain());
    let mut session =
        ExclusiveSession::connect_with(folder.address(), &SessionOptions::new()).unwrap();
    for number in 0..100 {
        session.post(SINK, &sinkable(0, number, 10)).unwrap();
    }
    let mut last = Generation::start(&folder, drain());
    let mut session = within(PATIENCE, "the news", move || {
        while !session.is_going_away() {
            session.call(ECHO, b"hi").unwrap();
        }
        session
    });
    let begun = [
        session.call(ECHO, b"hi").map(drop),
        session.send(ECHO, b"hi").map(drop),
        session.post(SINK, &sinkable(0, 100, 10)),
        session.try_post(SINK, &sinkable(0, 100, 10)).map_err(|error| match error {
            TrySendError::Full(_) => panic!("there is room"),
            TrySendError::Failed(error) => error,
        }),
        session.reserve(10).map(drop),
        session.batch().post(SINK, &sinkable(0, 100, 10)),
    ];
    for outcome in begun {
        assert!(matches!(outcome, Err(CallError::GoingAway)), "{outcome:?}");
    }
    assert!(session.is_going_away() && !session.is_ended());
    drop(session);
    assert_eq!(serving.has_moved_out(), 100);
    last.0.write_line("stop");
    last.has_moved_out();
}

mod needs_root {
    use super::*;

    const STRANGER: u32 = 54321;

    /// A role: tries to take over as a user without the right, and prints the error.
    pub(super) fn intrude(settings: &Settings) {
        let options = ServerOptions::new().take_over(true);
        let options = options.admin_socket(settings.get::<String>("admin"));
        let address: Address = settings.get("address");
        let error = breezeway::Server::bind_with(&address, options).err().unwrap();
        say(breezeway::describe(&error));
    }

    #[test]
    #[ignore = "needs root: `make needs`"]
    fn another_user_is_refused_on_both_sides() {
        let folder = Folder::new();
        folder.open_to_others();
        let mut serving = Generation::start(&folder, drain());
        let settings = Settings::new()
            .with("address", folder.address())
            .with("admin", admin(&folder).display());
        // The mode keeps it out.
        let mut stranger = Process::start_as(STRANGER, "intruder", &settings);
        assert!(stranger.expect("cannot take over").contains("denied"));
        // So does the kernel's word, where the mode does not.
        let open = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(admin(&folder), open).unwrap();
        let mut stranger = Process::start_as(STRANGER, "intruder", &settings);
        assert!(stranger.expect("cannot take over").contains("belongs to user 0"));
        // A stranger that does not check the server's user first gets no answer.
        let asking = Settings::new().with("admin", admin(&folder).display());
        let mut stranger = Process::start_as(STRANGER, "knocker", &asking);
        stranger.expect("closed");
        let client = Pool::connect_with(folder.address(), options()).unwrap();
        assert_eq!(client.call(ECHO, b"hi").unwrap().to_vec(), b"hi");
        drop(client);
        serving.0.write_line("stop");
        serving.has_moved_out();
    }

    /// A role: requests the sockets as a user without the right, and prints the answer.
    pub(super) fn knock(settings: &Settings) {
        let mut door = UnixStream::connect(settings.get::<String>("admin")).unwrap();
        // It may be closed already.
        let _ = door.write_all(b"BRZWTAK1");
        let came = door.read(&mut [0; 64]);
        say(if matches!(came, Ok(1..)) { "answered" } else { "closed" });
    }
}

/// The role: takes over, prints `listening`, serves from the line `serve` until the line `stop`,
/// the end of its input or a successor, and prints what was left undone and how many messages it
/// has sunk.
fn serve(settings: &Settings) {
    let options =
        server_options(settings).take_over(true).admin_socket(settings.get::<String>("admin"));
    let address: Address = settings.get("address");
    let server = match breezeway::Server::bind_with(&address, options) {
        Ok(server) => server,
        Err(error) => return say(format!("failed {}", breezeway::describe(&error))),
    };
    say("listening");
    assert_eq!(hear().as_deref(), Some("serve"));
    let everything = Arc::new(Everything::new(settings));
    let (stopper, told) = (server.stopper(), Arc::clone(&everything));
    let unserved = server.stopper();
    std::thread::spawn(move || {
        while let Some(line) = hear() {
            match line.as_str() {
                "open" => told.open(),
                _ => stopper.stop(),
            }
        }
        stopper.stop();
    });
    let handler = Arc::clone(&everything);
    if let Err(error) = server.serve(move |call: Call<'_>| handler.handle(call)) {
        return say(format!("failed {}", breezeway::describe(&error)));
    }
    let unserved = unserved.unserved();
    if unserved != Unserved::default() {
        let Unserved { calls_refused, calls_cut, messages_lost, .. } = unserved;
        say(format!("unserved {calls_refused} {calls_cut} {messages_lost}"));
    }
    say(format!("sunk {}", everything.sunk()));
}

/// A server in this process, which can be succeeded. It replies to a call by a stream that it opens
/// to the client, and echoes streams.
struct Subscribed {
    address: Address,
    stopper: Stopper,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl Subscribed {
    fn start(folder: &Folder, address: &Address) -> Self {
        let options = ServerOptions::new().take_over(true).admin_socket(admin(folder));
        let options = options.drain_timeout(Duration::from_secs(3600));
        let server = breezeway::Server::bind_with(address, options).unwrap();
        let server = server.on_stream(|_, mut stream| {
            while let Some(message) = stream.receive()? {
                stream.send(&message.to_vec())?;
            }
            Ok(stream.finish()?)
        });
        let (address, stopper) = (server.address(), server.stopper());
        let serving = thread::spawn(move || {
            server.serve(|call: Call<'_>| {
                let mut stream = call.stream_opener().ok_or("a plain session")?.open(SINK)?;
                stream.send(&call.request().to_vec())?;
                stream.finish()?;
                call.done()
            })
        });
        Self { address, stopper, serving }
    }
}

#[test]
fn clone_of_a_client_opens_and_accepts_streams_over_a_restart() {
    let folder = Folder::new();
    let first = Subscribed::start(&folder, &folder.address());
    let address = first.address.clone();
    let client = Client::connect_with(&address, options()).unwrap();
    let accepting = client.clone();
    let accepting = thread::spawn(move || {
        let (method, mut stream) = accepting.accept().unwrap();
        (method, stream.receive().unwrap().unwrap().to_vec())
    });
    let mut old = client.open(ECHO).unwrap();
    old.send(b"before").unwrap();
    assert_eq!(old.receive().unwrap().unwrap().to_vec(), b"before");

    let last = Subscribed::start(&folder, &address);
    eventually("the client moves", || {
        let mut new = client.open(ECHO).unwrap();
        new.session() != old.session() && {
            new.send(b"after").unwrap();
            new.receive().unwrap().unwrap().to_vec() == b"after"
        }
    });
    old.send(b"still here").unwrap();
    assert_eq!(old.receive().unwrap().unwrap().to_vec(), b"still here");
    drop(old);
    // The thread that accepts has left the old session too.
    within(PATIENCE, "the first server ends", move || first.serving.join().unwrap().unwrap());
    client.call(ECHO, b"news").unwrap();
    let accepted = within(PATIENCE, "a stream comes", move || accepting.join().unwrap());
    assert_eq!(accepted, (SINK, b"news".to_vec()));

    let soon = Instant::now() + Duration::from_millis(10);
    let error = client.accept_until(soon).map(drop).unwrap_err();
    assert!(matches!(error, ClientError::Call(CallError::DeadlinePassed)), "{error}");
    drop(client);
    last.stopper.stop();
    last.serving.join().unwrap().unwrap();
}

/// On the carriers with socket files.
#[test]
fn admin_socket_defaults_to_beside_the_socket() {
    if !has_socket_file() {
        return;
    }
    let folder = Folder::new();
    let options = ServerOptions::new().take_over(true);
    let server = breezeway::Server::bind_with(folder.address(), options).unwrap();
    let mut name = folder.socket().into_os_string();
    name.push(".admin");
    assert!(Path::new(&name).exists());
    drop(server);
    assert!(!Path::new(&name).exists());
}
