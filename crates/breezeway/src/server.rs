//! A server: accepts clients, agrees with each on a session, and hands the sessions to its workers.

mod acceptor;
mod half_open;
mod placement;
mod session_listener;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use breezeway_os::{Notifier, Waiting, clock, segment};

use crate::address::Address;
use crate::call::Handler;
use crate::carrier::Carrier;
use crate::error::ServeError;
use crate::listener::Listener;
use crate::offload::{Offloading, Queue};
use crate::options::ServerOptions;
use crate::presence::Hooks;
use crate::served::ServerSession;
use crate::worker::{Inbox, Worker};

use acceptor::{Accepted, Acceptor, Destination};
use placement::{Candidate, Placement};

pub use session_listener::SessionListener;

/// A server that listens. It serves once [`Server::serve`] is called; clients that connect before
/// wait in the backlog.
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
    /// Lets [`Server::serve`] return: calls in progress are finished, clients are notified, the
    /// socket file is removed.
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
        let listeners = listen(address, &options)?;
        let stopper =
            Stopper { stopping: Arc::new(AtomicBool::new(false)), notifier: Notifier::new()? };
        Ok(Self { listeners, options, stopper })
    }

    /// Where it listens: the address that it was given, with the ports that it has got where 0 was
    /// asked for.
    pub fn address(&self) -> Address {
        address(&self.listeners)
    }

    /// A handle that ends the server.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until stopped. This thread accepts; the workers, threads of their own, call
    /// `handler`. Without sessions all of them sleep, whatever the wait policy.
    ///
    /// When it is stopped, deferred and offloaded calls have a second to be replied to.
    pub fn serve(self, handler: impl Handler) -> Result<(), ServeError> {
        match self.options.offload {
            0 => self.serve_with(handler),
            threads => self.serve_offloading(threads, &handler),
        }
    }

    /// Serves with threads that run the handler for the workers.
    fn serve_offloading(self, threads: usize, handler: &impl Handler) -> Result<(), ServeError> {
        let queue = Arc::new(Queue::default());
        thread::scope(|scope| {
            // However this ends, the threads end with it.
            let closing = CloseOnDrop(Arc::clone(&queue));
            for number in 0..threads {
                let builder = thread::Builder::new().name(format!("breezeway-call-{number}"));
                let queue = &queue;
                let stopper = self.stopper();
                builder.spawn_scoped(scope, move || {
                    let _stopper = StopOnDrop(stopper);
                    queue.serve(handler);
                })?;
            }
            let outcome = self.serve_with(Offloading(Arc::clone(&closing.0)));
            drop(closing);
            outcome
        })
    }

    fn serve_with(self, handler: impl Handler) -> Result<(), ServeError> {
        let handler = Arc::new(handler);
        let address = self.address();
        let Self { listeners, options, stopper } = self;
        let wait = options.session.waiting();
        let options = ServerOptions { session: options.session.for_plain_calls(), ..options };
        thread::scope(|scope| {
            let mut inboxes = Vec::new();
            let mut threads = Vec::new();
            let mut started = Ok(());
            for number in 0..options.workers {
                let (hooks, handler) = (options.hooks.clone(), Arc::clone(&handler));
                match spawn_worker(scope, number, wait, hooks, handler, stopper.clone()) {
                    Ok((inbox, thread)) => {
                        inboxes.push(inbox);
                        threads.push(thread);
                    }
                    Err(error) => started = Err(error),
                }
            }
            let mut acceptor = None;
            let outcome = started.and_then(|()| {
                tracing::info!(%address, "server started");
                let placement = Placement::new(inboxes.len());
                let reply_timeout = options.reply_timeout;
                let workers = Workers { inboxes: &inboxes, placement, reply_timeout };
                let acceptor = acceptor.insert(Acceptor::new(listeners, options, workers)?);
                acceptor.watch_stopper(&stopper.notifier)?;
                while !stopper.is_stopping() {
                    let timeout = acceptor.time_left();
                    acceptor.turn(timeout)?;
                }
                Ok(())
            });
            for inbox in &inboxes {
                inbox.stop();
            }
            for thread in threads {
                // A handler's panic does not get here: it is caught with its call.
                thread.join().expect("a worker does not panic")?;
            }
            tracing::info!(%address, "server stopped");
            outcome
        })
        .map_err(ServeError::Io)
    }
}

/// Listens at all places of an address, if these options are in order.
fn listen(address: &Address, options: &ServerOptions) -> Result<Vec<Listener>, ServeError> {
    options.validate()?;
    if address.places().iter().any(|place| place.carrier() == Carrier::Shm) {
        segment::probe()?;
    }
    let bind = |place| Listener::bind(place, options.socket_mode);
    address.places().iter().map(bind).collect()
}

/// Where these listen.
fn address(listeners: &[Listener]) -> Address {
    listeners.iter().map(|listener| listener.place().clone()).collect()
}

/// Hands each session to the worker with the least to do.
struct Workers<'i> {
    inboxes: &'i [Arc<Inbox>],
    placement: Placement,
    reply_timeout: Duration,
}

impl Destination for Workers<'_> {
    fn sessions(&self) -> usize {
        self.inboxes.iter().map(|inbox| inbox.sessions()).sum()
    }

    fn deliver(&mut self, accepted: Accepted) {
        let Accepted { agreed, peer, exit, trusted } = accepted;
        let mut session = ServerSession::new(agreed, peer);
        session.watch_exit(exit);
        session.set_reply_timeout(self.reply_timeout);
        if let Some(proof) = trusted {
            session = session.trusting(proof);
        }
        let now = clock::ticks();
        let candidate = |worker: usize| {
            let inbox = &self.inboxes[worker];
            Candidate { share: inbox.load().share(now), sessions: inbox.sessions() }
        };
        let worker = self.placement.place(now, candidate).expect("there is a worker");
        self.inboxes[worker].deliver(session);
    }
}

/// Ends the server when dropped.
struct StopOnDrop(Stopper);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Ends the threads that run handlers when dropped.
struct CloseOnDrop(Arc<Queue>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

type WorkerThread<'scope> = thread::ScopedJoinHandle<'scope, io::Result<()>>;

fn spawn_worker<'scope, H: Handler>(
    scope: &'scope thread::Scope<'scope, '_>,
    number: usize,
    wait: Waiting,
    hooks: Hooks,
    handler: Arc<H>,
    stopper: Stopper,
) -> io::Result<(Arc<Inbox>, WorkerThread<'scope>)> {
    let inbox = Arc::new(Inbox::new()?);
    let worker = Worker::new(wait, hooks, Arc::clone(&inbox))?;
    let builder = thread::Builder::new().name(format!("breezeway-{number}"));
    let thread = builder.spawn_scoped(scope, move || {
        // However a worker ends, the server ends with it instead of handing clients to nobody.
        let _stopper = StopOnDrop(stopper);
        worker.run(&*handler)
    })?;
    Ok((inbox, thread))
}
