//! A handle of a server to its client: streams that the server opens.

use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

use breezeway_os::Deadline;

use super::outgoing::Outgoing;
use super::shared::Shared;
use super::stream::{SendHalf, Stream};
use crate::error::{CallError, StreamError};
use crate::presence::SessionId;

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
/// use breezeway::{StreamOpener, Call, Session, Server};
///
/// # let folder = format!("breezeway-opener-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # std::fs::create_dir(&folder)?;
/// # let address = format!("shm:{}", folder.join("s.sock").display()).parse()?;
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
/// session.call(0, b"subscribe")?;
/// for subscriber in subscribers.lock().unwrap().iter() {
///     let mut stream = subscriber.open(7, None)?;
///     stream.send(b"news")?;
///     stream.finish()?;
/// }
/// let (method, mut stream) = session.accept()?;
/// assert_eq!((method, stream.receive()?.unwrap().to_vec()), (7, b"news".to_vec()));
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

    /// Opens a stream, with optional metadata. Waits while there is no room, until the session
    /// ends.
    ///
    /// A handler that runs on a worker must not wait in this way, here or to send, because the
    /// worker itself makes the room. It leaves that to another thread, or calls
    /// [`Self::open_until`].
    ///
    /// Fails with [`CallError::NotSent`] if the session is over, and with [`StreamError::TooMany`]
    /// if the client allows no more open streams.
    pub fn open(&self, method: u32, metadata: Option<&[u8]>) -> Result<Stream, StreamError> {
        self.shared()?.open(method, metadata, Deadline::NEVER)
    }

    /// Opens a stream like [`Self::open`], but fails at `deadline`: then nothing was sent.
    pub fn open_until(
        &self,
        method: u32,
        metadata: Option<&[u8]>,
        deadline: Instant,
    ) -> Result<Stream, StreamError> {
        self.shared()?.open(method, metadata, Deadline::at(deadline))
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
