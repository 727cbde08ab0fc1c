//! A client: one or more sessions with the server at an address, kept alive.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway_os::{Deadline, Notifier};

use crate::address::Address;
use crate::error::{ConnectError, StreamError};
use crate::handshake;
use crate::keeper::Keeper;
use crate::lock::{lock, wait};
use crate::options::ClientOptions;
use crate::regions::{OwnBuffer, OwnRegions};
use crate::session::Session;
use crate::socket::connect_socket;
use crate::stream::Stream;
use crate::stream_pool::StreamPool;

/// Number of consecutive streams for one session, as in upstream.
const STREAMS_IN_A_ROW: usize = 32;

/// Opens streams to the server at an address. Lost sessions are replaced, and a hot restart of the
/// server is followed; open streams of a session end with it.
///
/// Threads share it by reference. A thread of its own serves idle sessions; it sleeps while they
/// are used.
pub struct Client {
    shared: Arc<Shared>,
    keeping: Option<JoinHandle<()>>,
}

/// State that client and keeper share.
pub(crate) struct Shared {
    pub(crate) address: Address,
    pub(crate) options: ClientOptions,
    pub(crate) notifier: Notifier,
    pub(crate) slots: Mutex<Slots>,
    changed: Condvar,
    /// Notified like `changed`, for tasks.
    #[cfg(feature = "tokio")]
    replaced: tokio::sync::Notify,
    put_back: StreamPool,
    /// Listeners of other holders of streams.
    listeners: Mutex<Vec<Listener>>,
    opened: AtomicUsize,
}

/// Called on each replacement, until it returns false.
type Listener = Box<dyn Fn() -> bool + Send>;

/// The sessions, by index.
pub(crate) struct Slots {
    pub(crate) sessions: Vec<Option<Session>>,
    /// Error of the last failed attempt to connect.
    pub(crate) last_error: String,
    pub(crate) closed: bool,
}

impl Slots {
    /// Returns a live session, searching from this turn's.
    fn in_turn(&self, turn: usize) -> Option<Session> {
        let count = self.sessions.len();
        let mut candidates =
            (0..count).filter_map(|step| self.sessions[(turn + step) % count].as_ref());
        candidates.find(|session| session.ended().is_none()).cloned()
    }
}

impl Client {
    /// Connects all sessions.
    pub fn connect(address: &Address, options: ClientOptions) -> Result<Self, ConnectError> {
        let failed = |cause| ConnectError::Connect { address: address.to_string(), cause };
        options.validate_at(address)?;
        let mut sessions = Vec::new();
        let mut buffer = None;
        for index in 0..options.sessions {
            sessions.push(Some(connect_session(address, &options, &mut buffer, index, None)?));
        }
        let shared = Arc::new(Shared {
            address: address.clone(),
            options,
            notifier: Notifier::new().map_err(failed)?,
            slots: Mutex::new(Slots { sessions, last_error: String::new(), closed: false }),
            changed: Condvar::new(),
            #[cfg(feature = "tokio")]
            replaced: tokio::sync::Notify::new(),
            put_back: StreamPool::default(),
            listeners: Mutex::default(),
            opened: AtomicUsize::new(0),
        });
        let keeper = Keeper::new(Arc::clone(&shared));
        let keeping = std::thread::Builder::new().name("shmipc-keeper".to_owned());
        let keeping = keeping.spawn(move || keeper.run()).map_err(failed)?;
        Ok(Self { shared, keeping: Some(keeping) })
    }

    /// Opens a stream: one that was [put back](Self::put_back), or a new one. Waits for a session
    /// if there is none, at most for `connect_timeout`.
    pub fn open(&self) -> Result<Stream, ConnectError> {
        self.open_until(Deadline::NEVER)
    }

    /// Opens a stream like [`open`](Self::open), waiting at most until `deadline`.
    pub fn open_until(&self, deadline: Deadline) -> Result<Stream, ConnectError> {
        if let Some(stream) = self.shared.put_back.take() {
            return Ok(stream);
        }
        let timeout = self.shared.options.connect_timeout;
        let deadline = deadline.min(Deadline::after(timeout));
        loop {
            let session = self.session(timeout, deadline)?;
            match session.open() {
                // It ended at this moment.
                Err(StreamError::Session(_)) => continue,
                opened => return Ok(opened?),
            }
        }
    }

    /// Keeps a stream for the next [`open`](Self::open), instead of closing it: the server sees the
    /// same stream continue. Do this only if the server, too, is done with the stream, as after a
    /// complete reply: bytes that it sends later would be taken as part of the next reply. A stream
    /// with unread bytes, that either side has ended, that sends over the socket, or whose session
    /// was replaced is closed instead.
    ///
    /// ```
    /// # use breezeway_shmipc::{Client, ClientOptions, Server, ServerOptions, Trust};
    /// # let folder = tempfile::tempdir()?;
    /// # let address = format!("shmipc:{}", folder.path().join("echo.sock").display()).parse()?;
    /// # let server = Server::bind(&address, ServerOptions::new(Trust::SameUser))?;
    /// let client = Client::connect(&address, ClientOptions::new(Trust::SameUser))?;
    /// let stream = client.open()?;
    /// let id = stream.id();
    /// client.put_back(stream);
    /// assert_eq!(client.open()?.id(), id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_back(&self, stream: Stream) {
        let session = stream.session();
        let is_ours = |own: &Session| Arc::ptr_eq(&own.core, &session.core);
        // A stream of another client is closed, too.
        if self.sessions().iter().any(is_ours) {
            self.shared.put_back.put(stream);
        }
    }

    /// Opens a stream if there is a session now.
    #[cfg(feature = "tokio")]
    fn try_open(&self) -> Result<Option<Stream>, ConnectError> {
        if let Some(stream) = self.shared.put_back.take() {
            return Ok(Some(stream));
        }
        let turn = self.shared.opened.fetch_add(1, Ordering::Relaxed) / STREAMS_IN_A_ROW;
        loop {
            let session = lock(&self.shared.slots).in_turn(turn);
            match session.map(|session| session.open()) {
                None => return Ok(None),
                // It ended at this moment.
                Some(Err(StreamError::Session(_))) => {}
                Some(opened) => return Ok(Some(opened?)),
            }
        }
    }

    /// Calls `listener` each time that a session was [replaced](Session::is_replaced), until it
    /// returns false: a holder of streams must close those of such sessions, for which their server
    /// waits. It is called on another thread, and must not call this client.
    pub fn on_replaced(&self, listener: impl Fn() -> bool + Send + 'static) {
        lock(&self.shared.listeners).push(Box::new(listener));
    }

    /// Opens a stream like [`open`](Self::open), for tasks.
    #[cfg(feature = "tokio")]
    pub(crate) async fn open_awaited(&self) -> Result<Stream, ConnectError> {
        if let Some(stream) = self.try_open()? {
            return Ok(stream);
        }
        let timeout = self.shared.options.connect_timeout;
        let opening = async {
            loop {
                // Registered before the check, so that no later session is missed.
                let replaced = self.shared.replaced.notified();
                if let Some(stream) = self.try_open()? {
                    return Ok::<_, ConnectError>(stream);
                }
                self.shared.notifier.notify();
                replaced.await;
            }
        };
        tokio::time::timeout(timeout, opening).await.unwrap_or_else(|_| {
            let last = lock(&self.shared.slots).last_error.clone();
            Err(ConnectError::NoSession { timeout, last })
        })
    }

    /// Returns a live session, the next in turn.
    fn session(&self, timeout: Duration, deadline: Deadline) -> Result<Session, ConnectError> {
        let turn = self.shared.opened.fetch_add(1, Ordering::Relaxed) / STREAMS_IN_A_ROW;
        let mut slots = lock(&self.shared.slots);
        loop {
            if slots.closed {
                return Err(ConnectError::Closed);
            }
            if let Some(session) = slots.in_turn(turn) {
                return Ok(session);
            }
            self.shared.notifier.notify();
            if deadline.has_passed() {
                return Err(ConnectError::NoSession { timeout, last: slots.last_error.clone() });
            }
            slots = wait(&self.shared.changed, slots, deadline);
        }
    }

    /// Records the counts of the live sessions since the last call: see
    /// [`Session::record_metrics`].
    #[cfg(feature = "metrics")]
    pub fn record_metrics(&self) {
        self.sessions().iter().for_each(Session::record_metrics);
    }

    /// Returns the live sessions.
    pub fn sessions(&self) -> Vec<Session> {
        let slots = lock(&self.shared.slots);
        slots
            .sessions
            .iter()
            .flatten()
            .filter(|session| session.ended().is_none())
            .cloned()
            .collect()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Client({})", self.shared.address)
    }
}

impl Drop for Client {
    /// Ends the opening of streams; open ones continue.
    fn drop(&mut self) {
        lock(&self.shared.slots).closed = true;
        self.shared.notifier.notify();
        self.shared.changed.notify_all();
        self.shared.put_back.clear();
        if let Some(keeping) = self.keeping.take() {
            let _ = keeping.join();
        }
    }
}

impl Shared {
    /// Replaces the session at `index`, and returns the one before. `None` for both if the client
    /// was closed.
    pub(crate) fn replace(&self, index: usize, session: Session) -> Option<Session> {
        let mut slots = lock(&self.slots);
        if slots.closed {
            return None;
        }
        let before = slots.sessions[index].replace(session);
        self.changed.notify_all();
        drop(slots);
        #[cfg(feature = "tokio")]
        self.replaced.notify_waiters();
        if let Some(before) = &before {
            before.core.replaced.store(true, Ordering::SeqCst);
        }
        self.put_back.forget_replaced();
        lock(&self.listeners).retain(|listener| listener());
        before
    }
}

/// Agrees on one session in the calling thread. Sessions that are connected together share their
/// buffer region, which is created if there is none yet. Over TCP a server does not map a file for
/// two sessions.
pub(crate) fn connect_session(
    address: &Address,
    options: &ClientOptions,
    shared: &mut Option<OwnBuffer>,
    index: usize,
    epoch: Option<u64>,
) -> Result<Session, ConnectError> {
    let socket = connect_socket(address, options.connect_timeout)?;
    let buffer = match shared.take() {
        Some(buffer) if address.is_unix() => buffer,
        _ => OwnBuffer::create(options, epoch)?,
    };
    let regions = OwnRegions::create(options, shared.insert(buffer), index)?;
    let parts = handshake::connect(socket, regions, options)?;
    Ok(Session::new(parts, options.session.clone()))
}
