//! The way back to a client: streams that its server opens.

use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

use breezeway_os::Deadline;

use super::outgoing::Outgoing;
use super::shared::Shared;
use super::stream::{Stream, StreamError};
use crate::error::CallError;
use crate::presence::SessionId;

/// Opens streams to the other side of a session: how a server's handler says something, later and
/// from any thread, to a client that has not asked for it. The client
/// [accepts](super::Channel::accept) them. (The name is that of NFS 4.1: RFC 8881, section 2.10.3.)
///
/// A handler gets it from what the client has asked for
/// ([`Call::back_channel`](crate::Call::back_channel),
/// [`Stream::back_channel`], [`OwnedCall::back_channel`](super::OwnedCall::back_channel)) and
/// may keep it as long as it likes: it keeps neither the session nor its memory. Streams that it
/// has opened are as all others, and go on when it is dropped.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use breezeway::{BackChannel, Call, Channel, Server};
///
/// # let folder = format!("breezeway-back-channel-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # std::fs::create_dir(&folder)?;
/// # let address = format!("shm:{}", folder.join("s.sock").display()).parse()?;
/// let server = Server::bind(&address)?.on_stream(|_, _| Ok(()));
/// # let stopper = server.stopper();
/// let subscribers = Arc::new(Mutex::new(Vec::<BackChannel>::new()));
/// let subscribing = Arc::clone(&subscribers);
/// let serving = std::thread::spawn(move || {
///     server.serve(move |call: Call<'_>| {
///         let client = call.back_channel().ok_or("a plain session, which takes no streams")?;
///         subscribing.lock().unwrap().push(client);
///         call.done()
///     })
/// });
///
/// let channel = Channel::connect(&address)?;
/// channel.call(0, b"subscribe")?;
/// for subscriber in subscribers.lock().unwrap().iter() {
///     let mut stream = subscriber.open(7, None)?;
///     stream.send(b"news")?;
///     stream.finish()?;
/// }
/// let (method, mut stream) = channel.accept()?;
/// assert_eq!((method, stream.receive()?.unwrap().to_vec()), (7, b"news".to_vec()));
/// # drop((channel, stream));
/// # stopper.stop();
/// # serving.join().unwrap()?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct BackChannel {
    /// Weak: whoever serves a session takes it for being used while others hold it.
    shared: Weak<Shared>,
    session: SessionId,
}

impl BackChannel {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::downgrade(shared), session: shared.id }
    }

    /// The session, as [`Call::session`](crate::Call::session) names it.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Opens a stream, with metadata if there is some. Waits while there is no room, until the
    /// session ends.
    ///
    /// A handler that a worker runs must not wait so, here or to send: the worker is who makes
    /// room. It leaves that to another thread, or takes [`Self::open_until`].
    ///
    /// Fails if the session is over, by [`CallError::NotSent`], and if the client lets no more
    /// streams be open ([`StreamError::TooMany`]).
    pub fn open(&self, method: u32, metadata: Option<&[u8]>) -> Result<Stream, StreamError> {
        self.shared()?.open(method, metadata, Deadline::NEVER)
    }

    /// As [`Self::open`], giving up at `deadline`: then nothing was sent.
    pub fn open_until(
        &self,
        method: u32,
        metadata: Option<&[u8]>,
        deadline: Instant,
    ) -> Result<Stream, StreamError> {
        self.shared()?.open(method, metadata, Deadline::at(deadline))
    }

    /// As [`Self::open`], if there is room for it now. Wakes `cx` when there may be.
    pub fn poll_open(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        metadata: Option<&[u8]>,
    ) -> Poll<Result<Stream, StreamError>> {
        self.shared()?.poll_open(cx, method, metadata)
    }

    fn shared(&self) -> Result<Arc<Shared>, CallError> {
        // Nobody is left who knows why it has ended.
        self.shared.upgrade().ok_or_else(|| CallError::NotSent(Arc::new(CallError::Ended)))
    }
}

impl std::fmt::Debug for BackChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackChannel").field("session", &self.session).finish_non_exhaustive()
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
