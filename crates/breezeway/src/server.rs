//! A server: accepts clients, agrees with each on a session, and hands the sessions to its workers.

mod acceptor;
mod half_open;
mod placement;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use breezeway_os::{Notifier, Waiting, segment};

use crate::address::Address;
use crate::call::Handler;
use crate::carrier::Carrier;
use crate::error::ServeError;
use crate::listener::Listener;
use crate::offload::{Offloading, Queue};
use crate::options::ServerOptions;
use crate::presence::Hooks;
use crate::worker::{Inbox, Worker};

use acceptor::Acceptor;

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

    /// Where it listens: the address that it was given, with the ports that it has got where 0 was
    /// asked for.
    pub fn address(&self) -> Address {
        self.listeners.iter().map(|listener| listener.place().clone()).collect()
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
        let wait = self.options.session.waiting();
        thread::scope(|scope| {
            let mut inboxes = Vec::new();
            let mut threads = Vec::new();
            let mut started = Ok(());
            for number in 0..self.options.workers {
                let (hooks, handler) = (self.options.hooks.clone(), Arc::clone(&handler));
                match spawn_worker(scope, number, wait, hooks, handler, self.stopper()) {
                    Ok((inbox, thread)) => {
                        inboxes.push(inbox);
                        threads.push(thread);
                    }
                    Err(error) => started = Err(error),
                }
            }
            let outcome = started.and_then(|()| {
                tracing::info!(address = %self.address(), "server started");
                Acceptor::new(&self, &inboxes)?.run()
            });
            for inbox in &inboxes {
                inbox.stop();
            }
            for thread in threads {
                // A handler's panic does not get here: it is caught with its call.
                thread.join().expect("a worker does not panic")?;
            }
            tracing::info!(address = %self.address(), "server stopped");
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
