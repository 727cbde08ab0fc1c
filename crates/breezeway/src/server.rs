//! The server: accepts clients, sets up a session with each, and hands the sessions to its workers.

mod acceptor;
mod draining;
mod half_open;
mod layers;
mod listening;
mod monitor;
mod on_drop;
mod placement;
mod session_listener;
mod stopper;
mod threads;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use breezeway_os::segment;
use breezeway_os::{Waiting, clock, shortage};
use rustix::io::dup;

use crate::address::{Address, AddressError};
use crate::call::{Handler, HandlerError};
use crate::call_limit::CallLimit;
use crate::error::{SegmentError, ServeError};
use crate::exclusive_server::ExclusiveServerSession;
use crate::offload::{Offloading, Queue};
use crate::options::ServerOptions;
use crate::session::Stream;
use crate::stream_threads::StreamThreads;
use crate::worker::Inbox;

use acceptor::{Accepted, Acceptor, Destination};
use layers::{Limited, Timed};
use listening::{Listening, address_of};
use on_drop::OnDrop;
use placement::{Candidate, Placement};
use threads::Threads;

#[cfg(feature = "metrics")]
pub(crate) use monitor::refused_by_this_process;
pub use monitor::{Monitor, ServerStats};
pub use session_listener::SessionListener;
pub use stopper::Stopper;

/// A listening server. It serves once [`Server::serve`] is called; clients that connect earlier
/// wait in the backlog.
///
/// ```no_run
/// use breezeway::{Call, Server};
///
/// let server = Server::bind("shm:/run/hello.sock")?;
/// server.serve(|call: Call<'_>| {
///     let name = String::from_utf8(call.request().to_vec())?;
///     call.reply(format!("hello {name}"))
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    listening: Listening,
    options: ServerOptions,
    streams: Option<Arc<StreamThreads>>,
    stopper: Stopper,
    monitor: Monitor,
    on_start: Option<Box<dyn FnOnce() + Send>>,
}

impl Server {
    /// Listens with default options.
    pub fn bind(
        address: impl TryInto<Address, Error: Into<AddressError>>,
    ) -> Result<Self, ServeError> {
        Self::bind_with(address, ServerOptions::new())
    }

    /// Listens at all places of the address. A socket file without a listening process is replaced.
    pub fn bind_with(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: ServerOptions,
    ) -> Result<Self, ServeError> {
        let listening = Listening::at(&Address::of(address)?, &options)?;
        check_memory(options.workers)?;
        let stopper = Stopper::new()?;
        let monitor = Monitor::new(&options);
        Ok(Self { listening, options, streams: None, stopper, monitor, on_start: None })
    }

    /// Sets the handler of streams, which clients open with a [`Session`](crate::Session).
    /// `handler` is called with the method and the stream, on a thread of its own, so it may block;
    /// an unread stream stops its sender, and nothing else. At most
    /// [`ServerOptions::stream_threads`] run; a stream beyond them is reset with
    /// [`ErrorCode::Overloaded`](crate::ErrorCode::Overloaded).
    ///
    /// A stream that the handler drops ends when the handler returns: in order if the handler has
    /// read it to its end, and otherwise by a reset, as described at [`Stream`]. An error that the
    /// handler returns is logged, and resets the stream; to send the client a code, the handler
    /// [resets](Stream::reset) the stream itself. A panic resets it with
    /// [`ErrorCode::Panicked`](crate::ErrorCode::Panicked).
    ///
    /// The worker that receives for the session serves calls, with or without this handler. Plain
    /// calls of an [`ExclusiveSession`](crate::ExclusiveSession) or a [`Pool`](crate::Pool) keep
    /// their cost; calls of a session may have [metadata](crate::Call::metadata).
    ///
    /// ```
    /// use breezeway::{Call, Session, Server};
    ///
    /// const ECHO: u32 = 0;
    ///
    /// # let folder = format!("breezeway-stream-{}", std::process::id());
    /// # let folder = std::env::temp_dir().join(folder);
    /// # std::fs::create_dir(&folder)?;
    /// # let address = format!("shm:{}", folder.join("s.sock").display());
    /// let server = Server::bind(&address)?.on_stream(|_method, mut stream| {
    ///     while let Some(message) = stream.receive()? {
    ///         stream.send(&message.to_vec())?;
    ///     }
    ///     Ok(stream.finish()?)
    /// });
    /// # let stopper = server.stopper();
    /// let serving = std::thread::spawn(move || server.serve(|call: Call<'_>| call.echo()));
    ///
    /// let mut stream = Session::connect(&address)?.open(ECHO)?;
    /// stream.send(b"one")?;
    /// assert_eq!(stream.receive()?.unwrap().to_vec(), b"one");
    /// # drop(stream);
    /// # stopper.stop();
    /// # serving.join().unwrap()?;
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_stream(
        mut self,
        handler: impl Fn(u32, Stream) -> Result<(), HandlerError> + Send + Sync + 'static,
    ) -> Self {
        self.streams = Some(Arc::new(StreamThreads::new(self.options.stream_threads, handler)));
        self
    }

    /// Returns the address that the server was given, with the actual ports in place of 0.
    pub fn address(&self) -> Address {
        address_of(&self.listening.listeners)
    }

    /// Returns a handle that ends the server.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Returns a handle to the server's statistics.
    ///
    /// ```
    /// use breezeway::{Call, Server, ExclusiveSession};
    ///
    /// const ECHO: u32 = 0;
    ///
    /// # let folder = format!("breezeway-monitor-{}", std::process::id());
    /// # let folder = std::env::temp_dir().join(folder);
    /// # std::fs::create_dir(&folder)?;
    /// # let address = format!("shm:{}", folder.join("s.sock").display());
    /// let server = Server::bind(&address)?;
    /// let monitor = server.monitor();
    /// # let stopper = server.stopper();
    /// let serving = std::thread::spawn(move || server.serve(|call: Call<'_>| call.echo()));
    ///
    /// let mut session = ExclusiveSession::connect(&address)?;
    /// session.call(ECHO, b"one")?;
    /// assert_eq!(monitor.stats().totals.calls_received, 1);
    /// assert_eq!(session.stats().totals.bytes_received, 3);
    /// # drop(session);
    /// # stopper.stop();
    /// # serving.join().unwrap()?;
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// Sets a function that is called once all threads and descriptors for serving exist.
    pub(crate) fn on_start(mut self, started: impl FnOnce() + Send + 'static) -> Self {
        self.on_start = Some(Box::new(started));
        self
    }

    /// Serves until stopped, or until a successor has [taken over](ServerOptions::take_over) and
    /// clients have moved. This thread accepts; the workers, threads of their own, call `handler`.
    /// Without sessions all of them sleep, whatever the wait policy.
    ///
    /// A server that is stopped asks sessions to make no more calls, and serves and replies to
    /// earlier requests for at most [`ServerOptions::drain_timeout`].
    pub fn serve(self, handler: impl Handler) -> Result<(), ServeError> {
        #[cfg(feature = "spans")]
        let handler = layers::Spanned(handler);
        let handler = Timed(handler);
        let limit = self.monitor.call_limit().clone();
        match self.options.offload {
            0 => self.serve_with(Limited(handler, limit)),
            threads => self.serve_offloading(threads, &handler, limit),
        }
    }

    /// Serves with additional threads that run the handler for the workers.
    fn serve_offloading(
        self,
        threads: usize,
        handler: &impl Handler,
        limit: CallLimit,
    ) -> Result<(), ServeError> {
        let queue = Arc::new(Queue::default());
        thread::scope(|scope| {
            // The threads end with this function, however it returns.
            let closing = OnDrop(|| queue.close());
            for number in 0..threads {
                let builder = thread::Builder::new().name(format!("breezeway-call-{number}"));
                let queue = &queue;
                let stopper = self.stopper();
                let started = builder.spawn_scoped(scope, move || {
                    let _stopping = OnDrop(|| stopper.stop());
                    queue.serve(handler);
                });
                started.map_err(shortage::no_thread)?;
            }
            let outcome = self.serve_with(Limited(Offloading(Arc::clone(&queue)), limit));
            drop(closing);
            outcome
        })
    }

    fn serve_with(self, handler: impl Handler) -> Result<(), ServeError> {
        let handler = Arc::new(handler);
        let address = self.address();
        let Self { listening, options, streams, stopper, monitor, on_start } = self;
        let session = match &streams {
            Some(threads) => options.session.with_at_most(threads.most_of_one_session()),
            None => options.session.for_plain_calls(),
        };
        let options = ServerOptions { session, ..options };
        // Dropped after the sessions, whose end ends the work on streams.
        let _closing = streams.clone().map(|threads| OnDrop(move || threads.close()));
        thread::scope(|scope| {
            let mut threads = Threads::default();
            let started = threads.start(scope, &options, &handler, &stopper);
            let drain_timeout = options.drain_timeout;
            let inboxes = threads.inboxes.clone();
            let mut acceptor = None;
            let outcome = started.map_err(ServeError::Io).and_then(|()| {
                tracing::info!(%address, "server started");
                let placement = Placement::new(inboxes.len());
                let reply_timeout = options.reply_timeout;
                let workers = Workers {
                    inboxes: &inboxes,
                    placement,
                    reply_timeout,
                    waiting: options.session.waiting(),
                    call_limit: monitor.call_limit().clone(),
                    streams,
                };
                let acceptor =
                    acceptor.insert(Acceptor::new(listening, options, workers, monitor)?);
                acceptor.watch_stopper(&stopper.notifier)?;
                check_descriptors(&stopper.notifier)?;
                acceptor.begin()?;
                if let Some(started) = on_start {
                    started();
                }
                while !stopper.is_stopping() {
                    if acceptor.is_handed_over() {
                        draining::drain(acceptor, &inboxes, &stopper, drain_timeout)?;
                        break;
                    }
                    let timeout = acceptor.time_left();
                    acceptor.turn(timeout)?;
                }
                Ok(())
            });
            threads.stop()?;
            draining::sum_up(&inboxes, &stopper);
            tracing::info!(%address, "server stopped");
            outcome
        })
    }
}

/// Descriptors that a session takes while its hello is answered: its socket, the control segments
/// of the client and of the server, and the descriptor that reports the exit of the client's
/// process.
const DESCRIPTORS_OF_A_HELLO: usize = 4;
/// Bytes of private memory required at the start of a server, and again for each worker's thread:
/// with less, a small allocation or the start of a thread would end the process.
const MEMORY_AT_START: usize = 8 << 20;
const MEMORY_OF_WORKER: usize = 3 << 20;

/// Checks that threads and a first session find memory under the limits of this process.
fn check_memory(workers: usize) -> Result<(), SegmentError> {
    let size = MEMORY_AT_START + workers.saturating_mul(MEMORY_OF_WORKER);
    let memory = Vec::<u8>::new().try_reserve_exact(size);
    memory.map_err(|_| SegmentError(segment::SegmentError::Private { size }))
}

/// Checks that a first session finds descriptors under the limits of this process.
fn check_descriptors(any: impl AsFd) -> Result<(), ServeError> {
    let copies: io::Result<Vec<OwnedFd>> =
        (0..DESCRIPTORS_OF_A_HELLO).map(|_| Ok(dup(&any)?)).collect();
    Ok(copies.map(drop)?)
}

/// Hands each session to the least busy worker.
struct Workers<'i> {
    inboxes: &'i [Arc<Inbox>],
    placement: Placement,
    reply_timeout: Duration,
    waiting: Waiting,
    call_limit: CallLimit,
    /// The threads that serve streams, if the server has a stream handler.
    streams: Option<Arc<StreamThreads>>,
}

impl Workers<'_> {
    fn session(&self, accepted: Accepted) -> ExclusiveServerSession {
        let Accepted { agreed, peer, exit, trusted } = accepted;
        let threads = self.streams.as_ref().filter(|_| agreed.takes_streams());
        let mut session = match threads {
            Some(threads) => ExclusiveServerSession::with_streams(
                agreed,
                peer,
                self.waiting,
                Arc::clone(threads),
            ),
            None => ExclusiveServerSession::new(agreed, peer, self.waiting),
        };
        session.watch_exit(exit);
        session.set_reply_timeout(self.reply_timeout);
        session.set_call_limit(self.call_limit.clone());
        match trusted {
            Some(proof) => session.trusting(proof),
            None => session,
        }
    }
}

impl Destination for Workers<'_> {
    fn sessions(&self) -> usize {
        self.inboxes.iter().map(|inbox| inbox.sessions()).sum()
    }

    fn prefers_plain(&self) -> bool {
        true
    }

    fn deliver(&mut self, accepted: Accepted) {
        let session = self.session(accepted);
        let now = clock::ticks();
        let candidate = |worker: usize| {
            let inbox = &self.inboxes[worker];
            Candidate { share: inbox.load().share(now), sessions: inbox.sessions() }
        };
        let worker = self.placement.place(now, candidate).expect("there is a worker");
        self.inboxes[worker].deliver(session);
    }
}
