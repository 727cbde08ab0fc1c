//! A server: accepts clients, agrees with each on a session, and hands the sessions to its workers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use breezeway_os::{ForeignDescriptor, Notifier, Peer, Waiting, exit_descriptor, segment};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::address::Address;
use crate::call::Handler;
use crate::carrier::Carrier;
use crate::connect;
use crate::error::ServeError;
use crate::handshake::{GreetingReceiver, HandshakeError, refuse, timespec, welcome};
use crate::hello::Refusal;
use crate::listener::Listener;
use crate::options::ServerOptions;
use crate::served::ServerSession;
use crate::worker::{Inbox, Worker};

/// Clients whose hello is not complete. One more pushes the oldest out, so that silent ones cannot keep others away.
const MOST_HALF_OPEN: usize = 64;
/// Nobody is pushed out earlier than this, so that a flood of silent clients does not take an honest one with it; meanwhile others wait in the backlog.
const GRACE: Duration = Duration::from_millis(100);
/// Clients accepted before handshakes are looked at.
const ACCEPTS_PER_TURN: usize = 32;
/// Pause after a failure to accept that only time can mend, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server that listens. It serves once [`Server::serve`] is called; clients that connect before wait in the backlog.
///
/// ```no_run
/// use breezeway::{Call, Server};
///
/// let server = Server::bind(&"shm:/run/hello.sock".parse()?)?;
/// server.serve(|call: Call<'_>| {
///     let name = String::from_utf8(call.request().to_vec())?;
///     call.reply(format!("hello {name}").as_bytes())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    listeners: Vec<Listener>,
    options: ServerOptions,
    stopper: Stopper,
}

/// Ends a server from another thread.
#[derive(Clone)]
pub struct Stopper {
    stopping: Arc<AtomicBool>,
    notifier: Notifier,
}

impl Stopper {
    /// Lets [`Server::serve`] return: calls in progress are finished, clients are told, the socket file is removed.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.notifier.notify();
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}

impl Server {
    /// Listens with default options.
    pub fn bind(address: &Address) -> Result<Self, ServeError> {
        Self::bind_with(address, ServerOptions::new())
    }

    /// Listens at all places of the address. A socket file that nobody serves any more is replaced.
    pub fn bind_with(address: &Address, options: ServerOptions) -> Result<Self, ServeError> {
        options.validate()?;
        if address.places().iter().any(|place| place.carrier() == Carrier::Shm) {
            segment::probe()?;
        }
        let bind = |place| Listener::bind(place, options.socket_mode);
        let listeners = address.places().iter().map(bind).collect::<Result<_, _>>()?;
        let stopper =
            Stopper { stopping: Arc::new(AtomicBool::new(false)), notifier: Notifier::new()? };
        Ok(Self { listeners, options, stopper })
    }

    /// Where it listens: the address that it was given, with the ports that it has got where 0 was asked for.
    pub fn address(&self) -> Address {
        self.listeners.iter().map(|listener| listener.place().clone()).collect()
    }

    /// A handle that ends the server.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until stopped. This thread accepts; the workers, threads of their own, call `handler`. Without sessions all of them sleep,
    /// whatever the wait policy.
    pub fn serve(self, handler: impl Handler) -> Result<(), ServeError> {
        let handler = Arc::new(handler);
        let wait = self.options.session.waiting();
        thread::scope(|scope| {
            let mut inboxes = Vec::new();
            let mut threads = Vec::new();
            let mut started = Ok(());
            for number in 0..self.options.workers {
                let spawned =
                    spawn_worker(scope, number, wait, Arc::clone(&handler), self.stopper());
                match spawned {
                    Ok((inbox, thread)) => {
                        inboxes.push(inbox);
                        threads.push(thread);
                    }
                    Err(error) => started = Err(error),
                }
            }
            let outcome = started.and_then(|()| Acceptor::new(&self, &inboxes).run());
            for inbox in &inboxes {
                inbox.stop();
            }
            for thread in threads {
                // A handler's panic does not get here: it is caught with its call.
                thread.join().expect("a worker does not panic")?;
            }
            outcome
        })
        .map_err(ServeError::Io)
    }
}

/// Ends the server when dropped.
struct StopOnDrop(Stopper);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

type WorkerThread<'scope> = thread::ScopedJoinHandle<'scope, io::Result<()>>;

fn spawn_worker<'scope, H: Handler>(
    scope: &'scope thread::Scope<'scope, '_>,
    number: usize,
    wait: Waiting,
    handler: Arc<H>,
    stopper: Stopper,
) -> io::Result<(Arc<Inbox>, WorkerThread<'scope>)> {
    let inbox = Arc::new(Inbox::new()?);
    let worker = Worker::new(wait, Arc::clone(&inbox))?;
    let builder = thread::Builder::new().name(format!("breezeway-{number}"));
    let thread = builder.spawn_scoped(scope, move || {
        // However a worker ends, the server ends with it instead of handing clients to nobody.
        let _stopper = StopOnDrop(stopper);
        worker.run(&*handler)
    })?;
    Ok((inbox, thread))
}

/// A client whose hello is not complete.
struct HalfOpen {
    socket: OwnedFd,
    carrier: Carrier,
    peer: Peer,
    receiver: GreetingReceiver,
    accepted: Instant,
}

/// Accepts clients and completes their handshakes, none of which can delay another.
struct Acceptor<'s> {
    server: &'s Server,
    inboxes: &'s [Arc<Inbox>],
    half_open: Vec<HalfOpen>,
    /// While accepting failed for want of something, or everybody there is to be waited for.
    pause_until: Option<Instant>,
}

impl<'s> Acceptor<'s> {
    fn new(server: &'s Server, inboxes: &'s [Arc<Inbox>]) -> Self {
        Self { server, inboxes, half_open: Vec::new(), pause_until: None }
    }

    fn run(mut self) -> io::Result<()> {
        while !self.server.stopper.is_stopping() {
            self.wait()?;
            self.accept_all();
            self.advance_handshakes();
        }
        Ok(())
    }

    /// Sleeps until a client, a byte of a hello, a deadline or the stopper wants attention.
    fn wait(&self) -> io::Result<()> {
        let stop = self.server.stopper.notifier.as_fd();
        let paused = self.pause_until.is_some();
        let listen = self.server.listeners.iter().filter(|_| !paused).map(AsFd::as_fd);
        let hellos = self.half_open.iter().map(|client| client.socket.as_fd());
        let watch = |fd: BorrowedFd<'s>| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut watched: Vec<PollFd<'_>> = std::iter::once(stop).chain(listen).map(watch).collect();
        watched.extend(hellos.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let patience = self.server.options.session.handshake_timeout;
        let deadlines = self.half_open.iter().map(|client| client.accepted + patience);
        let timeout = deadlines
            .chain(self.pause_until)
            .min()
            .map(|deadline| timespec(deadline.saturating_duration_since(Instant::now())));
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn accept_all(&mut self) {
        if self.pause_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.pause_until = None;
        // Not without end: a client that connects again and again must not keep others' handshakes waiting.
        for listener in &self.server.listeners {
            for _ in 0..ACCEPTS_PER_TURN {
                if !self.make_room() {
                    return;
                }
                match listener.accept() {
                    Ok(Some(socket)) => self.admit(socket, listener.carrier()),
                    Ok(None) => break,
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept; raise the limit of open files?");
                        self.pause_until = Some(Instant::now() + ACCEPT_PAUSE);
                        return;
                    }
                }
            }
        }
    }

    /// Makes room for one more client whose hello is to come; false if all of those that are there deserve to be waited for.
    fn make_room(&mut self) -> bool {
        if self.half_open.len() == MOST_HALF_OPEN {
            // First those whose hello is there and was not read yet.
            self.advance_handshakes();
        }
        if self.half_open.len() < MOST_HALF_OPEN {
            return true;
        }
        let until = self.half_open[0].accepted + GRACE;
        if Instant::now() < until {
            self.pause_until = Some(until);
            return false;
        }
        self.half_open.remove(0);
        true
    }

    /// Starts a client's handshake, if the policy lets it.
    fn admit(&mut self, socket: OwnedFd, carrier: Carrier) {
        let peer = match connect::peer(&socket, carrier) {
            Ok(peer) => peer,
            Err(error) => return tracing::warn!(%error, "cannot tell who connects"),
        };
        if let Err(reason) = self.authorize(&peer) {
            tracing::info!(?peer, %reason, "client denied");
            return refuse(&socket, Refusal::Denied, &reason);
        }
        if self.is_full(&socket) {
            return;
        }
        let receiver = GreetingReceiver::default();
        let client = HalfOpen { socket, carrier, peer, receiver, accepted: Instant::now() };
        self.half_open.extend(self.advance(client));
    }

    /// Refuses a client if there are as many sessions as there may be.
    fn is_full(&self, socket: &OwnedFd) -> bool {
        let limit = self.server.options.max_sessions;
        let full = self.sessions() >= limit;
        if full {
            tracing::warn!(limit, "client refused: as many sessions as allowed are open");
            let reason =
                format!("{limit} sessions are open; the server's max_sessions allows no more");
            refuse(socket, Refusal::Busy, &reason);
        }
        full
    }

    /// Asks the policy; one that panics admits nobody.
    fn authorize(&self, peer: &Peer) -> Result<(), String> {
        let policy = &self.server.options.authorize;
        // A policy is a shared function without state of ours, so nothing is left half done.
        catch_unwind(AssertUnwindSafe(|| policy(peer)))
            .unwrap_or_else(|_| Err("the server's policy failed".to_owned()))
    }

    fn sessions(&self) -> usize {
        self.inboxes.iter().map(|inbox| inbox.sessions()).sum()
    }

    /// Takes what came of each hello.
    fn advance_handshakes(&mut self) {
        for client in std::mem::take(&mut self.half_open) {
            let client = self.advance(client);
            self.half_open.extend(client);
        }
    }

    /// Takes what came of one hello; gives the client back while it is incomplete.
    fn advance(&self, mut client: HalfOpen) -> Option<HalfOpen> {
        let timeout = self.server.options.session.handshake_timeout;
        match client.receiver.receive(&client.socket) {
            Ok(Some(received)) => self.complete(client, Ok(received)),
            Ok(None) if client.accepted.elapsed() < timeout => return Some(client),
            Ok(None) => {
                self.complete(client, Err(HandshakeError::Timeout(timeout)));
            }
            Err(error) => self.complete(client, Err(error)),
        }
        None
    }

    /// Answers a hello and hands the session to the worker with the fewest.
    fn complete(
        &self,
        client: HalfOpen,
        received: Result<(crate::hello::Greeting, Option<ForeignDescriptor>), HandshakeError>,
    ) {
        if received.is_ok() && self.is_full(&client.socket) {
            return;
        }
        let options = &self.server.options.session;
        let exit = exit_descriptor(&client.socket);
        match welcome(client.socket, client.carrier, options, received) {
            Ok(agreed) => {
                let mut session = ServerSession::new(agreed, client.peer);
                session.watch_exit(exit);
                let inbox = self.inboxes.iter().min_by_key(|inbox| inbox.sessions());
                inbox.expect("there is a worker").deliver(session);
            }
            Err(error) => tracing::info!(peer = ?client.peer, %error, "no session"),
        }
    }
}
