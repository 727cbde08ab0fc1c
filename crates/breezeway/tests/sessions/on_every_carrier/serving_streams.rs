//! Servers that take streams: beside calls, each on a thread of its own, and none in another's way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use breezeway::{
    Call, CallError, ErrorCode, ExclusiveSession, HandlerError, ServeError, Server, ServerOptions,
    Session, SessionOptions, Stopper, Stream, StreamError, WaitPolicy,
};

use crate::support::{
    EVERY_POLICY, Folder, PATIENCE, PROMPT, Process, Role, Settings, eventually, hear, patient,
    say, wait_for, within,
};

pub(crate) const ROLES: &[(&str, Role)] =
    &[("server of streams", serve), ("server without threads", serve_without_threads)];

/// Methods of streams.
const ECHO: u32 = 0;
const PANIC: u32 = 1;
const FAIL: u32 = 2;
/// Fails, or panics, once it has read the stream to its end.
const READ_AND_FAIL: u32 = 4;
const READ_AND_PANIC: u32 = 5;
/// Not read until the gate is opened; what comes of it then is reported.
const HELD: u32 = 3;

type Outcome = Result<Option<Vec<u8>>, StreamError>;

fn echo(stream: &mut Stream) -> Result<(), HandlerError> {
    while let Some(message) = stream.receive()? {
        stream.send(&message.to_vec())?;
    }
    Ok(stream.finish()?)
}

/// A server in this process.
struct Served {
    folder: Folder,
    stopper: Stopper,
    serving: Option<JoinHandle<Result<(), ServeError>>>,
    /// Lets streams go on that are held, one for each.
    gate: Sender<()>,
    /// The first results that they have received.
    held: Receiver<Outcome>,
}

impl Served {
    fn with(options: ServerOptions) -> Self {
        Self::serving(options, |call| call.echo())
    }

    fn serving(options: ServerOptions, handler: fn(Call<'_>) -> breezeway::Handled) -> Self {
        let folder = Folder::new();
        let ((gate, opened), (report, held)) = (channel(), channel());
        let opened = Arc::new(Mutex::new(opened));
        let server = Server::bind_with(folder.address(), options).unwrap();
        let server = server.on_stream(move |method, mut stream| match method {
            ECHO => echo(&mut stream),
            PANIC => panic!("on purpose"),
            FAIL => Err("on purpose".into()),
            READ_AND_FAIL | READ_AND_PANIC => {
                while stream.receive()?.is_some() {}
                assert!(method == READ_AND_FAIL, "on purpose");
                drop(stream);
                Err("on purpose".into())
            }
            HELD => {
                let _ = opened.lock().unwrap().recv_timeout(PATIENCE);
                let first = stream.receive().map(|message| message.map(|first| first.to_vec()));
                Ok(report.send(first)?)
            }
            _ => {
                stream.reset(ErrorCode::NoSuchMethod);
                Ok(())
            }
        });
        let stopper = server.stopper();
        let serving = Some(thread::spawn(move || server.serve(handler)));
        Self { folder, stopper, serving, gate, held }
    }

    fn connect(&self) -> Session {
        self.connect_with(&patient())
    }

    fn connect_with(&self, options: &SessionOptions) -> Session {
        Session::connect_with(self.folder.address(), options).unwrap()
    }

    fn session(&self) -> ExclusiveSession {
        ExclusiveSession::connect_with(self.folder.address(), &patient()).unwrap()
    }

    fn stop(mut self) {
        self.stopper.stop();
        let serving = self.serving.take().expect("stopped once");
        within(PATIENCE, "the end", move || serving.join().unwrap()).unwrap();
    }
}

#[track_caller]
fn assert_echoes(stream: &mut Stream, message: &[u8]) {
    stream.send(message).unwrap();
    assert!(stream.receive().unwrap().expect("an echo").to_vec() == message);
}

#[track_caller]
fn reset_code(stream: &mut Stream) -> ErrorCode {
    match stream.receive() {
        Err(StreamError::Reset(code)) => code,
        other => panic!("{other:?}"),
    }
}

/// The role: echoes calls and streams until the line `stop` or the end of its input.
fn serve(settings: &Settings) {
    let address: breezeway::Address = settings.get("address");
    let options = ServerOptions::new().session(patient());
    let server = Server::bind_with(&address, options).unwrap();
    let server = server.on_stream(|_, mut stream| echo(&mut stream));
    let stopper = server.stopper();
    thread::spawn(move || {
        while let Some(line) = hear()
            && line != "stop"
        {
            limit_threads((line == "no more threads").then_some(0));
            say("limited");
        }
        stopper.stop();
    });
    say("listening");
    server.serve(|call: Call<'_>| call.echo()).unwrap();
}

/// The address space of a process, in bytes.
fn address_space(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

fn limit_address_space(pid: u32, bytes: Option<u64>) {
    let pid = rustix::process::Pid::from_raw(pid as i32);
    let limit = rustix::process::Rlimit { current: bytes, maximum: None };
    rustix::process::prlimit(pid, rustix::process::Resource::As, limit).unwrap();
}

#[test]
fn server_without_new_threads_serves_and_recovers() {
    let folder = Folder::new();
    let settings = Settings::new().with("address", folder.address());
    let server = Process::start("server of streams", &settings);
    // Half of what a thread's stack takes. No right of a user's, nor root's, goes beyond it.
    runs_short_of_threads(&folder, server, |server, is_short| {
        let most = || address_space(server.pid()) + (1 << 20);
        limit_address_space(server.pid(), is_short.then(most));
    });
}

/// From now on this process's user may have so many threads, or as many as ever.
fn limit_threads(most: Option<u64>) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nproc).maximum;
    setrlimit(Resource::Nproc, Rlimit { current: most.or(maximum), maximum }).unwrap();
}

/// Starts a server for which `RLIMIT_NPROC` counts, as it does not for root's.
fn start_limited(role: &str, folder: &Folder) -> Process {
    let settings = Settings::new().with("address", folder.address());
    if !rustix::process::geteuid().is_root() {
        return Process::start(role, &settings);
    }
    folder.open_to_others();
    let anybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), anybody).unwrap();
    Process::start_as(23_456, role, &settings)
}

#[test]
fn server_at_users_thread_limit_serves_and_recovers() {
    let folder = Folder::new();
    let server = start_limited("server of streams", &folder);
    runs_short_of_threads(&folder, server, |server, is_short| {
        server.write_line(if is_short { "no more threads" } else { "threads" });
        server.expect("limited");
    });
}

/// The role: prints its error while it gets no thread, and serves once it does.
fn serve_without_threads(settings: &Settings) {
    limit_threads(Some(0));
    let address: breezeway::Address = settings.get("address");
    let options = ServerOptions::new().session(patient());
    let server = Server::bind_with(&address, options).unwrap();
    let error = server.serve(|call: Call<'_>| call.echo()).unwrap_err();
    say(format!("failed {}", breezeway::describe(&error)));
    limit_threads(None);
    serve(settings);
}

#[test]
fn missing_thread_at_start_names_the_limit() {
    let folder = Folder::new();
    let mut server = start_limited("server without threads", &folder);
    let error = server.expect("failed");
    assert!(error.contains("cannot start a thread") && error.contains("ulimit -u"), "{error}");
    server.expect("listening");
    let mut session = ExclusiveSession::connect_with(folder.address(), &patient()).unwrap();
    assert_eq!(session.call(0, b"recovered").unwrap().to_vec(), b"recovered");
    drop(session);
    server.write_line("stop");
    server.succeeds();
}

/// Has a server of streams get no thread for a while.
fn runs_short_of_threads(folder: &Folder, mut server: Process, limit: impl Fn(&mut Process, bool)) {
    server.expect("listening");
    let address = folder.address();
    let (channel, mut session) = within(PATIENCE, "clients", move || {
        let channel = Session::connect_with(&address, &patient()).unwrap();
        let session = ExclusiveSession::connect_with(&address, &patient()).unwrap();
        (channel, session)
    });
    // The client has a thread for one stream, and the memory that it needs.
    let mut stream = channel.open(ECHO).unwrap();
    let serves = |stream: &mut Stream, session: &mut ExclusiveSession| {
        for len in [1, 105, 5_000] {
            assert_echoes(stream, &vec![7; len]);
            assert_eq!(channel.call(0, &vec![8; len]).unwrap().to_vec(), vec![8; len]);
            assert_eq!(session.call(0, &vec![9; len]).unwrap().to_vec(), vec![9; len]);
        }
    };
    serves(&mut stream, &mut session);
    limit(&mut server, true);
    for _ in 0..3 {
        let mut refused = channel.open(ECHO).unwrap();
        assert_eq!(reset_code(&mut refused), ErrorCode::Overloaded);
        serves(&mut stream, &mut session);
    }
    let mut late = ExclusiveSession::connect_with(folder.address(), &patient()).unwrap();
    assert_eq!(late.call(0, b"let in").unwrap().to_vec(), b"let in");
    limit(&mut server, false);
    let mut another = channel.open(ECHO).unwrap();
    assert_echoes(&mut another, b"recovered");
    serves(&mut stream, &mut session);
    drop((stream, another, session, late, channel));
    server.write_line("stop");
    server.succeeds();
}

#[test]
fn streams_calls_and_plain_sessions_are_served_at_the_same_time() {
    for policy in EVERY_POLICY {
        let options = ServerOptions::new().session(patient().wait(policy)).workers(2);
        let server = Served::with(options);
        let shared = server.connect_with(&patient().wait(policy));
        let callers: Vec<_> = (0..4u8)
            .map(|number| {
                let (shared, mut session) = (shared.clone(), server.session());
                thread::spawn(move || {
                    let mut stream = shared.open(ECHO).unwrap();
                    for len in [0, 1, 40, 105, 5_000, 70_000] {
                        let message = vec![number; len];
                        assert_echoes(&mut stream, &message);
                        assert!(shared.call(0, &message).unwrap().to_vec() == message);
                        assert!(session.call(0, &message).unwrap().to_vec() == message);
                    }
                    stream.finish().unwrap();
                    assert!(stream.receive().unwrap().is_none());
                })
            })
            .collect();
        for caller in callers {
            within(PATIENCE, "calls and streams", move || caller.join().unwrap());
        }
        drop(shared);
        server.stop();
    }
}

#[test]
fn a_stream_that_is_not_read_stops_itself_and_nothing_else() {
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park] {
        let session = patient().wait(policy).stream_window(4, 1 << 20);
        let server = Served::with(ServerOptions::new().session(session));
        let (channel, other) = (server.connect(), server.connect());
        let mut stuck = channel.open(HELD).unwrap();
        let soon = Instant::now() + Duration::from_millis(50);
        let refused = loop {
            if let Err(error) = stuck.sender().send_until(b"first", soon) {
                break error;
            }
        };
        assert!(matches!(refused, StreamError::DeadlinePassed(None)), "{refused}");
        let mut session = server.session();
        for channel in [&channel, &other] {
            let mut stream = channel.open(ECHO).unwrap();
            for number in 0..50u8 {
                assert_echoes(&mut stream, &[number]);
                assert_eq!(channel.call(0, &[number]).unwrap().to_vec(), [number]);
                assert_eq!(session.call(0, &[number]).unwrap().to_vec(), [number]);
            }
        }
        server.gate.send(()).unwrap();
        let first = server.held.recv_timeout(PATIENCE).unwrap();
        assert_eq!(first.unwrap().unwrap(), b"first");
        drop((stuck, channel, other, session));
        server.stop();
    }
}

#[test]
fn one_clients_sessions_cannot_take_all_threads() {
    let server = Served::with(ServerOptions::new().session(patient()).stream_threads(4));
    let channels: Vec<_> = (0..2).map(|_| server.connect()).collect();
    // Half of all for one that is alone, by the hello.
    let mut streams: Vec<_> = (0..2).map(|_| channels[0].open(ECHO).unwrap()).collect();
    let error = channels[0].open(ECHO).map(drop).unwrap_err();
    assert!(matches!(error, StreamError::TooMany(2)), "{error}");
    streams.iter_mut().for_each(|stream| assert_echoes(stream, b"served"));
    // Another session of the same process has the same share.
    let mut refused = channels[1].open(ECHO).unwrap();
    assert_eq!(reset_code(&mut refused), ErrorCode::Overloaded);
    assert_eq!(channels[1].call(0, b"calls go on").unwrap().to_vec(), b"calls go on");
    drop(streams);
    eventually("threads are free again", || {
        let mut stream = channels[1].open(ECHO).unwrap();
        stream.send(b"again").is_ok() && stream.receive().is_ok()
    });
    drop((refused, channels));
    server.stop();
}

#[test]
fn handler_panic_or_failure_resets_only_its_stream() {
    let server = Served::with(ServerOptions::new().session(patient()));
    let channel = server.connect();
    let mut other = channel.open(ECHO).unwrap();
    for (method, expected) in [
        (PANIC, ErrorCode::Panicked),
        (FAIL, ErrorCode::Cancelled),
        (99, ErrorCode::NoSuchMethod),
        (PANIC, ErrorCode::Panicked),
    ] {
        let mut stream = channel.open(method).unwrap();
        assert_eq!(reset_code(&mut stream), expected, "method {method}");
        assert_echoes(&mut other, b"goes on");
    }
    drop((other, channel));
    server.stop();
}

#[test]
fn handler_that_fails_behind_the_end_of_its_stream_resets_it() {
    let server = Served::with(ServerOptions::new().session(patient()));
    let channel = server.connect();
    for (method, expected) in
        [(READ_AND_FAIL, ErrorCode::Cancelled), (READ_AND_PANIC, ErrorCode::Panicked)]
    {
        let mut stream = channel.open(method).unwrap();
        stream.finish().unwrap();
        assert_eq!(reset_code(&mut stream), expected, "method {method}");
    }
    drop(channel);
    server.stop();
}

#[test]
fn client_end_fails_its_streams_in_handlers() {
    let server = Served::with(ServerOptions::new().session(patient()));
    let channel = server.connect();
    let stream = channel.open(HELD).unwrap();
    channel.call(0, b"the stream was handed over").unwrap();
    // The client ends while its handler waits at the gate.
    drop(channel);
    drop(stream);
    server.gate.send(()).unwrap();
    let first = within(PROMPT, "the news", move || {
        let first = server.held.recv().unwrap();
        server.stop();
        first
    });
    assert!(first.is_err(), "{first:?}");
}

#[test]
fn a_server_that_stops_lets_streams_end_and_takes_no_more() {
    for policy in EVERY_POLICY {
        let options = ServerOptions::new().session(patient().wait(policy)).drain_timeout(PATIENCE);
        let server = Served::with(options);
        let channel = server.connect();
        let mut stream = channel.open(ECHO).unwrap();
        assert_echoes(&mut stream, b"before");
        server.stopper.stop();
        eventually("the client hears of the end", || {
            let refused = channel.call(0, b"more").map(drop);
            matches!(refused, Err(CallError::GoingAway))
        });
        let refused = channel.open(ECHO).map(drop).unwrap_err();
        assert!(matches!(refused, StreamError::Session(CallError::GoingAway)), "{refused}");
        assert_echoes(&mut stream, b"goes on");
        stream.finish().unwrap();
        assert!(stream.receive().unwrap().is_none());
        drop(stream);
        // Long before the time to drain is over.
        within(PROMPT, "the end", move || server.stop());
    }
}

#[test]
fn streams_past_drain_time_are_cut_on_both_sides() {
    let options = ServerOptions::new().session(patient()).drain_timeout(Duration::from_millis(50));
    let server = Served::with(options);
    let channel = server.connect();
    let mut stream = channel.open(HELD).unwrap();
    channel.call(0, b"the stream was handed over").unwrap();
    server.stopper.stop();
    let error = within(PATIENCE, "the end", move || stream.receive().map(drop).unwrap_err());
    assert!(matches!(error, StreamError::Session(_)), "{error}");
    server.gate.send(()).unwrap();
    let first = server.held.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(first, Err(StreamError::Session(_))), "{first:?}");
    server.stop();
}

#[test]
fn metadata_is_accepted_only_where_streams_are() {
    fn reply_with_metadata(call: Call<'_>) -> breezeway::Handled {
        let metadata = call.metadata().unwrap_or(b"none").to_vec();
        call.reply(&metadata)
    }
    for offload in [0, 1] {
        let options = ServerOptions::new().session(patient()).offload(offload);
        let server = Served::serving(options, reply_with_metadata);
        let channel = server.connect();
        let reply = channel.request(0).metadata(b"block").send(b"body").unwrap();
        assert_eq!(reply.to_vec(), b"block");
        assert_eq!(channel.call(0, b"body").unwrap().to_vec(), b"none");
        assert_eq!(server.session().call(0, b"body").unwrap().to_vec(), b"none");
        drop(channel);
        server.stop();
    }
    let folder = Folder::new();
    let server = Server::bind(folder.address()).unwrap();
    let stopper = server.stopper();
    let serving = thread::spawn(move || server.serve(|call: Call<'_>| call.echo()));
    let channel = Session::connect_with(folder.address(), &patient()).unwrap();
    let error = channel.request(0).metadata(b"block").send(b"body").map(drop).unwrap_err();
    assert!(matches!(error, CallError::TooMuchMetadata { limit: 0, .. }), "{error}");
    let error = channel.open(0).map(drop).unwrap_err();
    assert!(matches!(error, StreamError::TooMany(0)), "{error}");
    stopper.stop();
    serving.join().unwrap().unwrap();
}

/// Every way to end a call, by a server that takes streams.
fn every_way(call: Call<'_>) -> breezeway::Handled {
    match call.method() {
        0 => call.echo(),
        1 => {
            let request = call.request().to_vec();
            call.reply(&request)
        }
        2 => {
            let mut space = call.reserve(100_000)?;
            space.write_request(0);
            space.truncate(300);
            space.commit()
        }
        3 => call.fail(ErrorCode::Application(7), "no"),
        4 => panic!("on purpose"),
        5 => Err("failed".into()),
        6 => {
            let (call, later) = call.defer()?;
            thread::spawn(move || call.reply(b"later"));
            Ok(later)
        }
        7 => {
            let (call, later) = call.defer()?;
            drop(call);
            Ok(later)
        }
        8 => call.reply(vec![0; 2 << 20]),
        _ => call.no_such_method(),
    }
}

#[test]
fn calls_of_channels_end_in_every_way_beside_streams() {
    for offload in [0, 2] {
        let options = ServerOptions::new().session(patient().cap(1 << 20)).offload(offload);
        let server = Served::serving(options, every_way);
        let channel = server.connect();
        let mut stream = channel.open(ECHO).unwrap();
        let request = vec![7; 300];
        for method in [0, 1, 2] {
            assert!(channel.call(method, &request).unwrap().to_vec() == request, "{method}");
        }
        for (method, expected) in [
            (3, ErrorCode::Application(7)),
            (4, ErrorCode::Panicked),
            (5, ErrorCode::Failed),
            (7, ErrorCode::Failed),
            (8, ErrorCode::NoMemory),
            (9, ErrorCode::NoSuchMethod),
        ] {
            match channel.call(method, &request) {
                Err(CallError::Failed { code, .. }) if code == expected => {}
                other => panic!("method {method}, offload {offload}: {other:?}"),
            }
            assert_echoes(&mut stream, b"goes on");
        }
        assert_eq!(channel.call(6, &request).unwrap().to_vec(), b"later");
        channel.post(0, b"one-way").unwrap();
        assert_echoes(&mut stream, b"goes on");
        drop((stream, channel));
        server.stop();
    }
}

#[test]
fn reply_reaches_sleeping_channel_before_handler_returns() {
    let (sender, received) = channel();
    let received = Mutex::new(received);
    let is_late = Arc::new(AtomicBool::new(false));
    let folder = Folder::new();
    let options = ServerOptions::new().session(patient().wait(WaitPolicy::Park));
    let server = Server::bind_with(folder.address(), options).unwrap();
    let server = server.on_stream(|_, mut stream| echo(&mut stream));
    let stopper = server.stopper();
    let serving = thread::spawn({
        let is_late = Arc::clone(&is_late);
        move || {
            server.serve(move |call: Call<'_>| {
                let replied = call.reply(b"at once")?;
                let heard = wait_for(&received.lock().unwrap(), PATIENCE);
                is_late.fetch_or(heard.is_err(), Ordering::Relaxed);
                Ok(replied)
            })
        }
    });
    let channel =
        Session::connect_with(folder.address(), &patient().wait(WaitPolicy::Park)).unwrap();
    for _ in 0..10 {
        assert_eq!(channel.call(0, b"").unwrap().to_vec(), b"at once");
        sender.send(()).unwrap();
        assert!(!is_late.load(Ordering::Relaxed), "the handler had returned before");
    }
    drop(channel);
    stopper.stop();
    within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
}
