//! Where attacks happen: an honest server with an honest client that must not notice, one honest
//! session that is served, and one that calls.

use std::fmt::Display;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use breezeway::{
    Address, ExclusiveServerSession, ExclusiveSession, ServeError, Server, ServerOptions,
    SessionError, SessionOptions, Stopper, WaitPolicy,
};
use breezeway_adversary::native::{Peer, Terms};
use breezeway_adversary::{PATIENCE, journal};

use super::service::{self, ECHO, Service};

/// Returns the options of the honest side, unless a case needs others: terms that cases count with,
/// and all the time for a hello that a loaded machine takes.
pub(crate) fn options() -> SessionOptions {
    SessionOptions::new().ring_capacity(64).cap(64 << 20).handshake_timeout(PATIENCE)
}

/// Timeout of a hello in cases that wait for it to pass.
pub(crate) const IMPATIENCE: Duration = Duration::from_secs(1);

/// Returns [`options`] with a short timeout of the hello.
pub(crate) fn impatient() -> SessionOptions {
    options().handshake_timeout(IMPATIENCE)
}

/// Returns the text of the end of a session whose peer broke `rule`.
pub(crate) fn broken(rule: impl Display) -> String {
    format!("the peer broke the protocol, which ended the session: {rule}")
}

/// A session that is served honestly while `attack` is the client; how it ended.
pub(crate) fn served(
    options: SessionOptions,
    terms: Terms,
    attack: impl FnOnce(&mut Peer),
) -> Result<(), SessionError> {
    let (hostile, honest) = UnixStream::pair().unwrap();
    let serving = thread::spawn(move || {
        let session =
            ExclusiveServerSession::from_socket(honest.into(), &options).expect("a good hello");
        session.serve(&Service::default())
    });
    let mut peer = Peer::client(hostile.into(), terms);
    attack(&mut peer);
    serving.join().expect("the honest side panicked")
}

/// Runs an honest client, `usage`, on a session to the server `attack`.
pub(crate) fn called<R>(
    options: SessionOptions,
    terms: Terms,
    attack: impl FnOnce(&mut Peer) + Send,
    usage: impl FnOnce(&mut ExclusiveSession) -> R,
) -> R {
    let (hostile, honest) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let attacking = scope.spawn(move || {
            let mut peer = Peer::server(hostile.into(), terms);
            attack(&mut peer);
            // The honest side must find the violation without an end of the connection.
            peer
        });
        let mut session =
            ExclusiveSession::from_socket(honest.into(), &options).expect("a good hello");
        let result = usage(&mut session);
        drop(session);
        attacking.join().expect("the attack itself failed");
        result
    })
}

/// Record of the honest client's calls so far.
#[derive(Debug, Default)]
struct Record {
    laps: u64,
    longest: Duration,
    failure: Option<String>,
}

/// An honest client that calls all the time, and checks every reply.
pub(crate) struct Bystander {
    record: Arc<(Mutex<Record>, Condvar)>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Pause of the honest client between rounds: shorter by far than a delay that counts.
const PAUSE: Duration = Duration::from_millis(2);

/// Sizes of its messages: inline in one line and in two, lent, and streamed past the caches.
const SIZES: [usize; 8] = [0, 8, 40, 41, 104, 105, 5_000, 70_000];

impl Bystander {
    fn start(address: &Address) -> Self {
        let options = options().wait(WaitPolicy::Park);
        let session = ExclusiveSession::connect_with(address, &options).expect("the honest client");
        let record = Arc::new((Mutex::new(Record::default()), Condvar::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (record, stop) = (Arc::clone(&record), Arc::clone(&stop));
            move || {
                let failure = Self::run(session, &record, &stop).err();
                record.0.lock().unwrap().failure = failure;
                record.1.notify_all();
            }
        });
        Self { record, stop, thread: Some(thread) }
    }

    fn run(
        mut session: ExclusiveSession,
        record: &(Mutex<Record>, Condvar),
        stop: &AtomicBool,
    ) -> Result<(), String> {
        let mut seed = 0u8;
        while !stop.load(Ordering::Relaxed) {
            let mut longest = Duration::ZERO;
            for size in SIZES {
                seed = seed.wrapping_add(1);
                let request: Vec<u8> = (0..size).map(|at| at as u8 ^ seed).collect();
                let start = Instant::now();
                let reply = session.call(ECHO, &request).map_err(|error| error.to_string())?;
                longest = longest.max(start.elapsed());
                if reply.to_vec() != request {
                    return Err(format!("a reply of {size} bytes came back changed"));
                }
            }
            let mut now = record.0.lock().unwrap();
            now.laps += 1;
            now.longest = now.longest.max(longest);
            record.1.notify_all();
            drop(now);
            thread::park_timeout(PAUSE);
        }
        Ok(())
    }

    /// Waits until two more rounds of calls were served: at least one of them began after this was
    /// called.
    pub(crate) fn goes_on(&self) {
        let deadline = Instant::now() + PATIENCE;
        let mut record = self.record.0.lock().unwrap();
        let wanted = record.laps + 2;
        while record.laps < wanted {
            assert_eq!(record.failure, None, "the honest client failed");
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the honest client is no longer served");
            record = self.record.1.wait_timeout(record, left).unwrap().0;
        }
    }

    /// The longest that a call took since this was last asked.
    pub(crate) fn take_longest(&self) -> Duration {
        std::mem::take(&mut self.record.0.lock().unwrap().longest)
    }

    fn stop(&mut self) -> Option<String> {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            thread.join().expect("the honest client panicked");
        }
        self.record.0.lock().unwrap().failure.take()
    }
}

/// A real server with one worker, which takes streams as well, and an honest client.
pub(crate) struct Stage {
    path: PathBuf,
    pub(crate) bystander: Bystander,
    stopper: Stopper,
    server: Option<JoinHandle<Result<(), ServeError>>>,
    acceptor: ThreadId,
    worker: ThreadId,
    start: usize,
    _folder: tempfile::TempDir,
}

impl Stage {
    /// One with the usual options.
    pub(crate) fn set() -> Self {
        Self::with(ServerOptions::new().session(options()))
    }

    pub(crate) fn with(options: ServerOptions) -> Self {
        Self::at("shm", options)
    }

    /// One whose messages travel on unix sockets.
    pub(crate) fn on_a_socket() -> Self {
        Self::at("unix", ServerOptions::new().session(options()))
    }

    fn at(scheme: &str, options: ServerOptions) -> Self {
        journal::keep();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stage.sock");
        let address: Address = format!("{scheme}:{}", path.display()).parse().unwrap();
        let start = journal::length();
        let server = Server::bind_with(&address, options).expect("bind");
        let stopper = server.stopper();
        let service = Service::default();
        let handler = service.clone();
        let server = server.on_stream(service::on_stream);
        let server = thread::spawn(move || server.serve(handler));
        let bystander = Bystander::start(&address);
        bystander.goes_on();
        Self {
            path,
            bystander,
            stopper,
            acceptor: server.thread().id(),
            server: Some(server),
            worker: service.thread(),
            start,
            _folder: folder,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn address(&self) -> Address {
        format!("shm:{}", self.path.display()).parse().unwrap()
    }

    /// Attacks as a client, which breaks a rule of shared memory.
    pub(crate) fn attack_memory(
        &self,
        terms: Terms,
        expected: impl Display,
        attack: impl FnOnce(&mut Peer),
    ) {
        self.attack(terms, &[&broken(expected)], attack);
    }

    /// Attacks as a client; the server must end the session for the reason `expected`, and the
    /// honest client must not notice.
    pub(crate) fn attack(&self, terms: Terms, expected: &[&str], attack: impl FnOnce(&mut Peer)) {
        let from = journal::length();
        let mut peer = Peer::connect(&self.path, terms);
        attack(&mut peer);
        let reason = self.end_of_session(from);
        assert!(expected.contains(&&*reason), "{reason:?}, but expected {expected:?}");
        peer.wait_for_end();
        self.bystander.goes_on();
    }

    /// Returns the worker's log lines so far.
    pub(crate) fn worker_lines(&self) -> Vec<journal::Line> {
        journal::lines_of(self.worker, self.start)
    }

    /// Waits until the worker logs, since `from`, the end of a session, and returns the reason.
    pub(crate) fn end_of_session(&self, from: usize) -> String {
        journal::wait_for(self.worker, from, PATIENCE, |line| line.message == "session ended")
            .expect("no session ended")
            .error
    }

    /// Waits until the acceptor logs, since `from`, a refused client, and returns the reason.
    pub(crate) fn no_session(&self, from: usize) -> String {
        journal::wait_for(self.acceptor, from, PATIENCE, |line| line.message == "no session")
            .expect("nobody was refused")
            .error
    }

    /// Ends the server. No thread may have panicked, and the honest client must have been served to
    /// the end.
    pub(crate) fn close(mut self) {
        self.bystander.goes_on();
        assert_eq!(self.bystander.stop(), None, "the honest client failed");
        self.stopper.stop();
        let server = self.server.take().expect("closed once");
        server.join().expect("the server panicked").expect("the server failed");
        for line in journal::lines_of(self.worker, self.start) {
            assert!(!line.error.contains("panicked"), "{line:?}");
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Only after a failure: what can be ended is ended, and the failure is what counts.
        self.bystander.stop.store(true, Ordering::Relaxed);
        self.stopper.stop();
    }
}
