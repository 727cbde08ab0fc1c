//! The server that most tests talk to: a process with a handler for everything that a test wants to
//! happen to a call.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use breezeway::unstable::Tuning as _;
use breezeway::{
    Address, Call, Carrier, ExclusiveSession, Handler, HandlerError, Replied, ServerOptions,
    SessionOptions, WaitPolicy,
};
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, setrlimit};

use super::content::{is_message, message};
use super::{
    Folder, PATIENCE, Process, Settings, Stopwatch, eventually, hear, observe, patient, say,
};

/// Replies with the request, reserved and filled from it.
pub(crate) const ECHO: u32 = 0;
/// Replies with the request, copied twice.
pub(crate) const ECHO_COPY: u32 = 1;
/// Replies with the request, copied through a slice of the reserved space.
pub(crate) const ECHO_SLICE: u32 = 2;
/// Replies with a message: the request holds its number and its length, two `u64`.
pub(crate) const GIVE: u32 = 3;
/// Replies like [`GIVE`], once the gate is open. Prints `waiting` before it waits.
pub(crate) const GIVE_GATED: u32 = 4;
/// Counts messages and notes those that are out of order or not as they were made. The first 8
/// bytes are the sender, the next 8 the number.
pub(crate) const SINK: u32 = 5;
/// Replies with the count, the number of disordered and the number of corrupt messages sunk, three
/// `u64`.
pub(crate) const TALLY: u32 = 6;
/// Prints `hanging` and never returns. The request's `u64` selects a step before that: 0 nothing, 1
/// reserves a large reply, 2 fills half of it, 3 a small one.
pub(crate) const HANG: u32 = 7;
/// Fails with the request's text.
pub(crate) const FAIL: u32 = 8;
/// Panics. The request's `u64` selects the moment: 0 at once, 1 with a small reply reserved, 2 with
/// a large one, 3 after the reply.
pub(crate) const PANIC: u32 = 9;
/// Replies with what is known of the peer: pid, uid and gid.
pub(crate) const WHO: u32 = 10;
/// Reserves a reply of as many bytes as the request's `u64`, and fails if it cannot.
pub(crate) const RESERVE: u32 = 11;
/// Reserves a large reply and gives it up for an error.
pub(crate) const CHANGE_MIND: u32 = 12;

/// Replies with the carrier of the call, and the remote address of its peer if there is one.
pub(crate) const CARRIER: u32 = 13;

/// Bytes of the large replies of [`HANG`], [`PANIC`] and [`CHANGE_MIND`].
const LARGE: usize = 100_000;

pub(crate) fn policy_name(policy: WaitPolicy) -> &'static str {
    match policy {
        WaitPolicy::Busy => "busy",
        WaitPolicy::Adaptive => "adaptive",
        WaitPolicy::Park => "park",
    }
}

pub(crate) fn policy_of(settings: &Settings) -> WaitPolicy {
    match settings.find::<String>("wait").as_deref() {
        None | Some("adaptive") => WaitPolicy::Adaptive,
        Some("busy") => WaitPolicy::Busy,
        Some("park") => WaitPolicy::Park,
        Some(other) => panic!("wait={other}"),
    }
}

/// Session options from a role's settings.
pub(crate) fn session_options(settings: &Settings) -> SessionOptions {
    let mut options = SessionOptions::new().wait(policy_of(settings));
    if let Some(cap) = settings.find("cap") {
        options = options.cap(cap);
    }
    if let Some(bytes) = settings.find("prefault") {
        options = options.prefault(bytes);
    }
    if let Some(milliseconds) = settings.find("shrink") {
        options = options.shrink_after(Duration::from_millis(milliseconds));
    }
    if let Some(entries) = settings.find("ring") {
        options = options.ring_capacity(entries);
    }
    let handshake = settings.find("handshake").map_or(PATIENCE, Duration::from_millis);
    options.handshake_timeout(handshake)
}

pub(crate) fn server_options(settings: &Settings) -> ServerOptions {
    let mut options = ServerOptions::new().session(session_options(settings));
    if let Some(count) = settings.find("workers") {
        options = options.workers(count);
    }
    if let Some(threads) = settings.find("offload") {
        options = options.offload(threads);
    }
    if let Some(milliseconds) = settings.find("drain") {
        options = options.drain_timeout(Duration::from_millis(milliseconds));
    }
    if let Some(milliseconds) = settings.find("reply") {
        options = options.reply_timeout(Duration::from_millis(milliseconds));
    }
    if let Some(bytes) = settings.find("memory") {
        options = options.max_memory(bytes);
    }
    if let Some(count) = settings.find("sessions") {
        options = options.max_sessions(count);
    }
    if let Some(mode) = settings.find::<u32>("mode") {
        options = options.socket_mode(mode);
    }
    if let Some(reason) = settings.find::<String>("deny") {
        options = options.authorize(move |_| Err(reason.clone()));
    }
    if let Some(user) = settings.find::<u32>("only") {
        options = options.authorize(move |peer| match peer.uid {
            Some(uid) if uid == user => Ok(()),
            _ => Err(format!("only user {user} is served")),
        });
    }
    options
}

/// Leaves this process so many bytes of address space beside those that it has (RLIMIT_AS).
pub(crate) fn limit_address_space(spare: u64) {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("proc is mounted");
    let pages: u64 = statm.split(' ').next().and_then(|pages| pages.parse().ok()).expect("pages");
    let limit = Some(pages * 4096 + spare);
    setrlimit(Resource::As, Rlimit { current: limit, maximum: limit }).expect("a lower limit");
}

/// The role: listens, prints `listening` and the address, serves until the line `stop` or the end
/// of its input, and prints `served`.
pub(crate) fn serve(settings: &Settings) {
    if let Some(mask) = settings.find("umask") {
        rustix::process::umask(Mode::from_raw_mode(mask));
    }
    let address: Address = settings.get("address");
    let server = match breezeway::Server::bind_with(&address, server_options(settings)) {
        Ok(server) => server,
        Err(error) => return say(format!("failed {}", breezeway::describe(&error))),
    };
    let server = if settings.find("streams").unwrap_or(false) {
        server.on_stream(|_, _| Ok(()))
    } else {
        server
    };
    if let Some(spare) = settings.find("spare") {
        limit_address_space(spare);
    }
    let everything = Everything::new(settings);
    let gate = Arc::clone(&everything.gate);
    let stopper = server.stopper();
    std::thread::spawn(move || {
        while let Some(line) = hear() {
            match line.as_str() {
                "open" => gate.set(true),
                "shut" => gate.set(false),
                _ => stopper.stop(),
            }
        }
        stopper.stop();
    });
    say(format!("listening {}", server.address()));
    server.serve(everything).expect("the server ends in order");
    say("served");
}

/// Lets calls wait for the test.
#[derive(Default)]
pub(crate) struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn set(&self, open: bool) {
        *self.open.lock().unwrap() = open;
        self.changed.notify_all();
    }

    pub(crate) fn pass(&self) {
        let open = self.open.lock().unwrap();
        drop(self.changed.wait_while(open, |open| !*open).unwrap());
    }
}

/// A handler for all methods above.
pub(crate) struct Everything {
    gate: Arc<Gate>,
    sunk: Sunk,
    /// After so many sunk messages a pause is made, so that the ring and the memory behind it run
    /// full.
    pause_every: u64,
}

/// Record of the sunk messages so far.
#[derive(Default)]
struct Sunk {
    count: AtomicU64,
    disordered: AtomicU64,
    corrupt: AtomicU64,
    /// The number that each sender's next message has.
    next: Mutex<HashMap<u64, u64>>,
}

impl Everything {
    pub(crate) fn new(settings: &Settings) -> Self {
        let gate = Arc::new(Gate::default());
        gate.set(settings.find("gate").unwrap_or(true));
        let pause_every = settings.find("pause_every").unwrap_or(u64::MAX);
        Self { gate, sunk: Sunk::default(), pause_every }
    }

    /// Lets the calls go on that wait.
    pub(crate) fn open(&self) {
        self.gate.set(true);
    }

    /// Returns the number of sunk messages.
    pub(crate) fn sunk(&self) -> u64 {
        self.sunk.count.load(Ordering::Relaxed)
    }

    fn sink(&self, call: &Call<'_>) {
        const PAUSE: Duration = Duration::from_millis(1);
        self.gate.pass();
        let bytes = call.request().to_vec();
        let field = |at: usize| bytes.get(at..at + 8).and_then(|field| field.try_into().ok());
        let (sender, number) = (field(0).map(u64::from_le_bytes), field(8).map(u64::from_le_bytes));
        let (Some(sender), Some(number)) = (sender, number) else {
            self.sunk.corrupt.fetch_add(1, Ordering::Relaxed);
            return;
        };
        if !is_message(number, &bytes[16..]) {
            self.sunk.corrupt.fetch_add(1, Ordering::Relaxed);
        }
        let mut next = self.sunk.next.lock().unwrap();
        let expected = next.entry(sender).or_default();
        if *expected != number {
            self.sunk.disordered.fetch_add(1, Ordering::Relaxed);
        }
        *expected = number + 1;
        let count = self.sunk.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(self.pause_every) {
            std::thread::sleep(PAUSE);
        }
    }

    fn tally(&self) -> Vec<u8> {
        let Sunk { count, disordered, corrupt, .. } = &self.sunk;
        let counts = [count, disordered, corrupt];
        counts.iter().flat_map(|count| count.load(Ordering::Relaxed).to_le_bytes()).collect()
    }
}

/// The message for [`SINK`].
pub(crate) fn sinkable(sender: u64, number: u64, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 + len);
    bytes.extend_from_slice(&sender.to_le_bytes());
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(message(number, len));
    bytes
}

/// The request for [`GIVE`].
pub(crate) fn ask_for(number: u64, len: usize) -> Vec<u8> {
    [number.to_le_bytes(), (len as u64).to_le_bytes()].concat()
}

fn give(call: Call<'_>) -> Result<Replied, HandlerError> {
    let number = call.request().u64_le_at(0).ok_or("no number")?;
    let len = call.request().u64_le_at(8).ok_or("no length")? as usize;
    call.reply(message(number, len))
}

fn hang(call: Call<'_>) -> Result<Replied, HandlerError> {
    let how = call.request().u64_le_at(0);
    let forever = || -> ! {
        say("hanging");
        loop {
            std::thread::park();
        }
    };
    match how {
        Some(1..=3) => {
            let mut reply = call.reserve(if how == Some(3) { 50 } else { LARGE })?;
            if how == Some(2) {
                reply.bytes_mut()[..LARGE / 2].fill(0xaa);
            }
            forever()
        }
        _ => forever(),
    }
}

fn panic_sometime(call: Call<'_>) -> Result<Replied, HandlerError> {
    match call.request().u64_le_at(0) {
        Some(1) => {
            let mut reply = call.reserve(50)?;
            reply.bytes_mut().fill(1);
            panic!("with a small reply reserved");
        }
        Some(2) => {
            let mut reply = call.reserve(LARGE)?;
            reply.bytes_mut().fill(1);
            panic!("with a large reply reserved");
        }
        Some(3) => {
            call.reply(b"sent before the panic")?;
            panic!("after the reply");
        }
        _ => panic!("at once"),
    }
}

impl Handler for Everything {
    fn handle(&self, call: Call<'_>) -> Result<Replied, HandlerError> {
        match call.method() {
            ECHO => {
                let len = call.request().len();
                let mut reply = call.reserve(len)?;
                reply.write_request(0);
                reply.commit()
            }
            ECHO_COPY => {
                let bytes = call.request().to_vec();
                call.reply(&bytes)
            }
            ECHO_SLICE => {
                let len = call.request().len();
                let mut reply = call.reserve(len)?;
                let (request, bytes) = reply.request_and_bytes_mut();
                request.copy_to(bytes);
                reply.commit()
            }
            GIVE => give(call),
            GIVE_GATED => {
                say("waiting");
                self.gate.pass();
                give(call)
            }
            SINK => {
                self.sink(&call);
                call.done()
            }
            TALLY => call.reply(self.tally()),
            HANG => hang(call),
            FAIL => Err(String::from_utf8(call.request().to_vec())?.into()),
            PANIC => panic_sometime(call),
            WHO => {
                let peer = call.peer().clone();
                call.reply(format!("{:?} {:?} {:?}", peer.pid, peer.uid, peer.gid).as_bytes())
            }
            RESERVE => {
                let len = call.request().u64_le_at(0).ok_or("no length")? as usize;
                call.reserve(len)?.commit()
            }
            CHANGE_MIND => {
                let mut reply = call.reserve(LARGE)?;
                reply.bytes_mut().fill(2);
                Err("on second thoughts, no".into())
            }
            CARRIER => {
                let remote = call.peer().remote.map(|remote| remote.to_string());
                let known = format!("{} {}", call.carrier(), remote.unwrap_or_default());
                call.reply(known.as_bytes())
            }
            other => Err(format!("no method {other}").into()),
        }
    }
}

/// A server process at an address of its own.
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) folder: Arc<Folder>,
    address: Address,
}

impl Server {
    pub(crate) fn start(settings: Settings) -> Self {
        Self::start_in(Arc::new(Folder::new()), settings)
    }

    /// A server on `carrier`, whichever this run is about.
    pub(crate) fn on(carrier: Carrier, settings: Settings) -> Self {
        Self::start_in(Arc::new(Folder::on(carrier)), settings)
    }

    /// Starts a server with this wait policy.
    pub(crate) fn waiting(policy: WaitPolicy) -> Self {
        Self::start(Settings::new().with("wait", policy_name(policy)))
    }

    /// A server at the folder's address, or at another one that the settings name.
    pub(crate) fn start_in(folder: Arc<Folder>, settings: Settings) -> Self {
        let workers = settings.find::<usize>("workers").unwrap_or(1);
        let address = settings.find("address").unwrap_or_else(|| folder.address());
        let mut process = Process::start("server", &settings.with("address", address));
        let address = process.expect("listening").parse().expect("an address");
        // A worker's descriptors are there before its thread.
        let last = format!("breezeway-{}", workers - 1);
        eventually("the workers' start", || observe::has_thread(process.pid(), &last));
        Self { process, folder, address }
    }

    /// Returns the address that the server has printed.
    pub(crate) fn address(&self) -> Address {
        self.address.clone()
    }

    /// Returns the socket file, if the carrier has one.
    pub(crate) fn socket(&self) -> std::path::PathBuf {
        self.folder.socket()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Opens a session, however long the machine takes for it.
    #[track_caller]
    pub(crate) fn connect(&self, options: &SessionOptions) -> ExclusiveSession {
        let options = options.clone().handshake_timeout(PATIENCE);
        ExclusiveSession::connect_with(self.address(), &options).expect("the server is there")
    }

    /// Returns the resources of sessions that the server has at rest: descriptors, and mapped
    /// segments. The server closes some descriptors later than it could.
    #[track_caller]
    pub(crate) fn at_rest(&self) -> (usize, observe::Segments) {
        let (mut seen, mut same) = (self.holdings(), 0);
        eventually("the server rests", || {
            let now = self.holdings();
            same = if now == seen { same + 1 } else { 0 };
            seen = now;
            same == 30
        });
        seen
    }

    /// Returns the resources of sessions that the server has now.
    pub(crate) fn holdings(&self) -> (usize, observe::Segments) {
        (observe::descriptors(self.pid()), observe::segments(self.pid()))
    }

    /// Waits until it owns what it owned before.
    #[track_caller]
    pub(crate) fn returns_to(&self, before: (usize, observe::Segments)) {
        let start = Stopwatch::start();
        while self.holdings() != before {
            assert!(
                !start.passed(PATIENCE),
                "the server holds {:?} {:?}, at first it held {before:?}",
                self.holdings(),
                observe::descriptor_kinds(self.pid()),
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Opens the gate for calls that wait for it.
    pub(crate) fn open_gate(&mut self) {
        self.process.write_line("open");
    }

    /// Ends it in order.
    #[track_caller]
    pub(crate) fn stop(mut self) {
        self.process.write_line("stop");
        self.process.expect("served");
        self.process.succeeds();
    }
}

/// The `u64`s of a tally: count, disordered, corrupt.
#[track_caller]
pub(crate) fn tally(session: &mut ExclusiveSession) -> [u64; 3] {
    let reply = session.call(TALLY, &[]).expect("the server is there");
    [0, 8, 16].map(|at| reply.bytes().u64_le_at(at).expect("three numbers"))
}

/// Asserts that a session works.
#[track_caller]
pub(crate) fn assert_serves(session: &mut ExclusiveSession) {
    for (number, len) in [(1, 10), (2, 100), (3, 10_000)] {
        let request = message(number, len);
        let reply = session.call(ECHO, request).expect("the session goes on");
        assert_eq!(reply.to_vec(), request);
    }
}

/// Asserts that a server takes new clients.
#[track_caller]
pub(crate) fn assert_takes_clients(address: &Address) {
    let mut session =
        ExclusiveSession::connect_with(address, &patient()).expect("the server takes new clients");
    assert_serves(&mut session);
}
