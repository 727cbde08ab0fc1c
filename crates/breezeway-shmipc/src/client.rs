//! A client: one or more sessions with the server at an address, kept alive.

mod keeper;
mod shared;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway_os::{Deadline, Notifier};

use crate::address::Address;
use crate::error::{ConnectError, StreamError};
use crate::lock::{lock, wait};
use crate::options::ClientOptions;
use crate::session::Session;
use crate::stream::Stream;
use crate::stream_pool::StreamPool;
use keeper::Keeper;
use shared::{Shared, Slots, connect_session};

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
