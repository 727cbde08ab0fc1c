//! A handle of a server to its client: streams that the server opens.

use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use breezeway_os::Deadline;

use super::outgoing::Outgoing;
use super::shared::Shared;
use super::stream::{SendHalf, Stream};
use crate::error::{CallError, StreamError};
use crate::presence::SessionId;
use crate::request::Request;

/// A handle that opens streams to a session's client: with it a server's handler sends, later and
/// from any thread, to a client that has not asked for it. The client
/// [accepts](super::Session::accept) them. (The name is that of NFS 4.1: RFC 8881, section 2.10.3.)
///
/// A handler gets it from a client's request ([`Call::stream_opener`](crate::Call::stream_opener),
/// [`Stream::stream_opener`], [`OwnedCall::stream_opener`](super::OwnedCall::stream_opener)) and
/// may keep it as long as it likes: it keeps neither the session nor its memory. Streams that it
/// has opened are like all others, and remain when it is dropped.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use breezeway::{Call, Server, Session, StreamOpener};
///
/// const SUBSCRIBE: u32 = 0;
/// const NEWS: u32 = 7;
///
/// # let folder = format!("breezeway-opener-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # std::fs::create_dir(&folder)?;
/// # let address = format!("shm:{}", folder.join("s.sock").display());
/// let server = Server::bind(&address)?.on_stream(|_, _| Ok(()));
/// # let stopper = server.stopper();
/// let subscribers = Arc::new(Mutex::new(Vec::<StreamOpener>::new()));
/// let subscribing = Arc::clone(&subscribers);
/// let serving = std::thread::spawn(move || {
///     server.serve(move |call: Call<'_>| {
///         let client = call.stream_opener().ok_or("a plain session, which takes no streams")?;
///         subscribing.lock().unwrap().push(client);
///         call.done()
///     })
/// });
///
/// let session = Session::connect(&address)?;
/// session.call(SUBSCRIBE, b"subscribe")?;
/// for subscriber in subscribers.lock().unwrap().iter() {
///     let mut stream = subscriber.open(NEWS)?;
///     stream.send(b"news")?;
///     stream.finish()?;
/// }
/// let (method, mut stream) = session.accept()?;
/// assert_eq!((method, stream.receive()?.unwrap().to_vec()), (NEWS, b"news".to_vec()));
/// # drop((session, stream));
/// # stopper.stop();
/// # serving.join().unwrap()?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct StreamOpener {
    /// Weak, because a server treats a session as used while others hold it.
    shared: Weak<Shared>,
    session: SessionId,
}

impl StreamOpener {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::downgrade(shared), session: shared.id }
    }

    /// Returns the id of the session, like [`Call::session`](crate::Call::session).
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Opens a stream. Waits for room until the session ends.
    ///
    /// A handler that runs on a worker must not wait in this way, here or to send, because the
    /// worker itself makes the room. It leaves that to another thread, or gives the
    /// [request](Self::request) a deadline.
    ///
    /// Fails with [`CallError::NotSent`] if the session is over, and with [`StreamError::TooMany`]
    /// if the client allows no more open streams.
    pub fn open(&self, method: u32) -> Result<Stream, StreamError> {
        self.request(method).open()
    }

    /// Begins a stream with a deadline or metadata.
    pub fn request(&self, method: u32) -> Request<'_, Self> {
        Request::new(self, method)
    }

    /// Opens a stream like [`Self::open`] if there is room for it now. Otherwise wakes `cx` when
    /// there may be.
    pub fn poll_open(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        metadata: Option<&[u8]>,
    ) -> Poll<Result<Stream, StreamError>> {
        self.shared()?.poll_open(cx, method, metadata)
    }

    fn shared(&self) -> Result<Arc<Shared>, CallError> {
        // The reason of the end was dropped with the session.
        self.shared.upgrade().ok_or_else(|| CallError::NotSent(Arc::new(CallError::Ended)))
    }
}

impl std::fmt::Debug for StreamOpener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamOpener").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Streams that a server opens.
impl Request<'_, StreamOpener> {
    /// Opens a stream like [`StreamOpener::open`]. After the deadline, which is not sent to the
    /// client, nothing was sent.
    pub fn open(self) -> Result<Stream, StreamError> {
        let deadline = self.deadline.unwrap_or(Deadline::NEVER);
        self.to.shared()?.open(self.method, Some(self.metadata), deadline)
    }
}

/// Streams that a server opens.
impl Shared {
    pub(super) fn open(
        self: &Arc<Self>,
        method: u32,
        metadata: Option<&[u8]>,
        deadline: Deadline,
    ) -> Result<Stream, StreamError> {
        let mut outgoing = Outgoing::new(None, metadata);
        let outcome =
            self.wait(deadline, |state, cx| state.poll_open(cx, method, &mut outgoing, false, 0));
        let key = outcome.map_err(|_| StreamError::DeadlinePassed(None))??;
        Ok(Stream::new(self, key, None, Deadline::NEVER))
    }

    pub(super) fn poll_open(
        self: &Arc<Self>,
        cx: &mut Context<'_>,
        method: u32,
        metadata: Option<&[u8]>,
    ) -> Poll<Result<Stream, StreamError>> {
        let mut outgoing = Outgoing::new(None, metadata);
        let key = self.with(|state| state.poll_open(cx, method, &mut outgoing, false, 0));
        key.map_ok(|key| Stream::new(self, key, None, Deadline::NEVER))
    }
}

impl Stream {
    /// Returns a handle that opens further streams to the client, now or later. A client has none:
    /// it [opens](super::Session::open) its own.
    pub fn stream_opener(&self) -> Option<StreamOpener> {
        self.send.stream_opener()
    }
}

impl SendHalf {
    /// Returns a handle that opens streams, like [`Stream::stream_opener`].
    pub fn stream_opener(&self) -> Option<StreamOpener> {
        let shared = &self.inner.shared;
        (!shared.is_client).then(|| StreamOpener::new(shared))
    }
}
