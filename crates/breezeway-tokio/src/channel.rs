//! A session that tasks share.

use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breezeway::{
    Address, CallError, Carrier, ConnectError, Driver, Message, OwnedCall, Peer, SessionError,
    SessionId, SessionOptions, StreamError, TrustedPeer, TryPost, Unserved, shortage,
};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::time::timeout_at;

use crate::drive::{Drive, Driving};
use crate::stream::Stream;

/// A session to a server that tasks share: any number of calls and streams at one time.
///
/// A channel is cheap to clone; the session closes when the last clone and the last stream of it
/// are dropped. What [`breezeway::Channel`] says of order and room holds here.
#[derive(Clone)]
pub struct Channel {
    pub(crate) channel: breezeway::Channel,
}

impl TryPost for Channel {
    fn try_post(&mut self, method: u32, message: &[u8]) -> Result<bool, CallError> {
        Channel::try_post(self, method, message)
    }
}

impl Channel {
    /// Connects with default options.
    pub async fn connect(address: &Address) -> Result<Self, ConnectError> {
        Self::connect_with(address, &SessionOptions::new()).await
    }

    /// Connects to the first of the address's places that works. The handshake, which waits for the
    /// server, is done on a thread for blocking work.
    pub async fn connect_with(
        address: &Address,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        let (address, options) = (address.clone(), options.clone());
        let connected =
            blocking(move || breezeway::Channel::connect_driven(&address, &options)).await?;
        Self::driven(connected)
    }

    /// Opens a session in shared memory over a connected unix stream socket.
    pub async fn from_socket(
        socket: OwnedFd,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        let options = options.clone();
        let connected =
            blocking(move || breezeway::Channel::from_socket_driven(socket, &options)).await?;
        Self::driven(connected)
    }

    fn driven((channel, driver): (breezeway::Channel, Driver)) -> Result<Self, ConnectError> {
        spawn_driver(driver, channel.carrier())?;
        Ok(Self { channel })
    }

    /// Both ends of a session in shared memory within this process. The handshake may take an hour
    /// here, whatever the options say.
    pub async fn pair(options: &SessionOptions) -> Result<(Self, ServerChannel), ConnectError> {
        let (one, other) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
        options.validate()?;
        let options = &options.clone().handshake_timeout(Duration::from_secs(3600));
        let server = tokio::spawn({
            let options = options.clone();
            async move { ServerChannel::from_socket(other.into(), &options).await }
        });
        let client = Self::from_socket(one.into(), options).await?;
        let server = server.await.map_err(|error| failed(error.into()))??;
        Ok((client, server))
    }

    /// From now on messages are given as slices, without a copy.
    pub fn trusting(self, proof: TrustedPeer) -> Self {
        Self { channel: self.channel.trusting(proof) }
    }

    /// What its messages travel by.
    pub fn carrier(&self) -> Carrier {
        self.channel.carrier()
    }

    /// Who serves this session: the credentials of the process that listens.
    pub fn peer(&self) -> &Peer {
        self.channel.peer()
    }

    /// What the other side's messages mean, as its hello says it.
    pub fn service(&self) -> u16 {
        self.channel.service()
    }

    /// The largest message, in bytes: the smaller cap of both sides.
    pub fn cap(&self) -> usize {
        self.channel.cap()
    }

    /// The most calls in flight. Further ones wait.
    pub fn max_in_flight(&self) -> usize {
        self.channel.max_in_flight()
    }

    /// Whether the session is over.
    pub fn is_ended(&self) -> bool {
        self.channel.is_ended()
    }

    /// Whether another session is to be used for what is new: this one is over, or its server has
    /// said that it ends. What is under way goes on.
    pub fn is_going_away(&self) -> bool {
        self.channel.is_going_away()
    }

    /// Closes the session for all its clones and streams, as [`breezeway::Channel::close`] does.
    /// What waits on it ends; its task sends what is owed.
    pub fn close(&self) {
        self.channel.close();
    }

    /// Calls `method` with a copy of `request`, and gives the reply. Dropped before, the call is
    /// cancelled.
    pub async fn call(&self, method: u32, request: &[u8]) -> Result<Message, CallError> {
        self.exchange_in_time(method, None, request).await
    }

    /// As [`Self::call`], giving up at `deadline`.
    pub async fn call_until(
        &self,
        method: u32,
        request: &[u8],
        deadline: Instant,
    ) -> Result<Message, CallError> {
        let time = deadline.saturating_duration_since(Instant::now());
        let call = within(self.exchange(method, None, request, Some(time)), deadline);
        self.spanned(method, call).await
    }

    /// As [`Self::call`], with a metadata block beside the request.
    pub async fn call_with_metadata(
        &self,
        method: u32,
        metadata: &[u8],
        request: &[u8],
    ) -> Result<Message, CallError> {
        self.exchange_in_time(method, Some(metadata), request).await
    }

    /// As [`Self::call_with_metadata`], giving up at `deadline`.
    pub async fn call_with_metadata_until(
        &self,
        method: u32,
        metadata: &[u8],
        request: &[u8],
        deadline: Instant,
    ) -> Result<Message, CallError> {
        let time = deadline.saturating_duration_since(Instant::now());
        let call = within(self.exchange(method, Some(metadata), request, Some(time)), deadline);
        self.spanned(method, call).await
    }

    /// As long as a call may take that is given no deadline of its own.
    async fn exchange_in_time(
        &self,
        method: u32,
        metadata: Option<&[u8]>,
        request: &[u8],
    ) -> Result<Message, CallError> {
        let time = self.channel.call_timeout();
        let call = self.in_time(self.exchange(method, metadata, request, time));
        self.spanned(method, call).await
    }

    /// A call in a span from its beginning to its end.
    #[cfg(feature = "spans")]
    async fn spanned<T>(
        &self,
        method: u32,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let span = self.channel.span(method);
        let mut call = std::pin::pin!(call);
        let outcome = poll_fn(|cx| span.enter(|| call.as_mut().poll(cx))).await;
        span.end(&outcome);
        outcome
    }

    #[cfg(not(feature = "spans"))]
    fn spanned<F: Future>(&self, _method: u32, call: F) -> F {
        call
    }

    /// Waits for as long as a call may take that is given no deadline of its own.
    pub(crate) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        match self.channel.call_timeout().and_then(|time| Instant::now().checked_add(time)) {
            None => work.await,
            Some(deadline) => within(work, deadline).await,
        }
    }

    async fn exchange(
        &self,
        method: u32,
        metadata: Option<&[u8]>,
        request: &[u8],
        time: Option<Duration>,
    ) -> Result<Message, CallError> {
        let call =
            poll_fn(|cx| self.channel.poll_start_call(cx, method, metadata, request, time)).await?;
        call.await
    }

    /// Sends a one-way message, of which `Ok` says that it was published. Waits while there is no
    /// room, for as long as a call may take.
    pub async fn post(&self, method: u32, message: &[u8]) -> Result<(), CallError> {
        self.in_time(poll_fn(|cx| self.channel.poll_post(cx, method, message))).await
    }

    /// As [`Self::post`], giving up at `deadline`.
    pub async fn post_until(
        &self,
        method: u32,
        message: &[u8],
        deadline: Instant,
    ) -> Result<(), CallError> {
        within(poll_fn(|cx| self.channel.poll_post(cx, method, message)), deadline).await
    }

    /// As [`Self::post`], if there is room for the message now; false if not, and then nothing was
    /// sent. (A [`PostQueue`](breezeway::PostQueue) keeps what finds no room.)
    pub fn try_post(&self, method: u32, message: &[u8]) -> Result<bool, CallError> {
        self.channel.try_post(method, message)
    }

    /// Opens a stream, with metadata if there is some. Waits while there is no room.
    pub async fn open(&self, method: u32, metadata: Option<&[u8]>) -> Result<Stream, StreamError> {
        let stream = poll_fn(|cx| self.channel.poll_open(cx, method, metadata, None)).await?;
        Ok(Stream::new(stream))
    }

    /// As [`Self::open`], with a time after which this side will want no more of the stream, as the
    /// other side's handler learns. The stream is not reset by itself.
    pub async fn open_for(
        &self,
        method: u32,
        metadata: Option<&[u8]>,
        time: Duration,
    ) -> Result<Stream, StreamError> {
        let open = poll_fn(|cx| self.channel.poll_open(cx, method, metadata, Some(time)));
        Ok(Stream::new(open.await?))
    }

    /// Opens a stream with its first entry: metadata, a message, both or neither, which may be this
    /// side's last. Wakes `cx` when what it waits for may have come.
    pub fn poll_open_with(
        &self,
        cx: &mut Context<'_>,
        method: u32,
        metadata: Option<&[u8]>,
        message: Option<&[u8]>,
        last: bool,
        time: Option<Duration>,
    ) -> Poll<Result<Stream, StreamError>> {
        let opened = self.channel.poll_open_with(cx, method, metadata, message, last, time);
        opened.map_ok(Stream::new)
    }

    /// Waits for a stream that the server opens, and gives its method with it.
    pub async fn accept(&self) -> Result<(u32, Stream), CallError> {
        let (method, stream) = poll_fn(|cx| self.channel.poll_accept(cx)).await?;
        Ok((method, Stream::new(stream)))
    }
}

/// The serving end of a session that tasks share. A [`Server`](crate::Server) serves many.
#[derive(Clone)]
pub struct ServerChannel {
    channel: breezeway::ServerChannel,
}

/// What a client asks for.
pub enum Incoming {
    /// A call, or a one-way message.
    Call(OwnedCall),
    /// A stream, with its method.
    Stream(u32, Stream),
}

impl ServerChannel {
    /// Answers the hello of a client that wants shared memory on a connected unix stream socket.
    pub async fn from_socket(
        socket: OwnedFd,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        let options = options.clone();
        // Without a bound, as those that wait within it may wait for this side.
        let accepting =
            start(None, move || breezeway::ServerChannel::from_socket_driven(socket, &options));
        let (channel, driver) = accepting.await.map_err(ConnectError::Thread)??;
        spawn_driver(driver, channel.carrier())?;
        Ok(Self { channel })
    }

    /// From now on messages are given as slices, without a copy.
    pub fn trusting(self, proof: TrustedPeer) -> Self {
        Self { channel: self.channel.trusting(proof) }
    }

    /// Which session of this process it is.
    pub fn session(&self) -> SessionId {
        self.channel.session()
    }

    /// Who calls.
    pub fn peer(&self) -> &Peer {
        self.channel.peer()
    }

    /// What its messages travel by.
    pub fn carrier(&self) -> Carrier {
        self.channel.carrier()
    }

    /// Waits for what the client asks for next; `None` once it or [this side](Self::close) has
    /// closed the session, or that has [drained](Self::drain).
    pub async fn accept(&self) -> Result<Option<Incoming>, SessionError> {
        let incoming = poll_fn(|cx| self.channel.poll_accept(cx)).await?;
        Ok(incoming.map(Incoming::from))
    }

    /// Tells the client to open nothing new on this session. It is to be served until it closes
    /// the session. For a server with a successor; one that ends for good [drains](Self::drain).
    pub fn go_away(&self) {
        self.channel.go_away();
    }

    /// Begins the session's end, as [`breezeway::ServerChannel::drain`] does: for `timeout` at
    /// most [`Self::accept`] gives what was asked before, and then `None`.
    pub fn drain(&self, timeout: Duration) {
        self.channel.drain(timeout);
    }

    /// Closes the session for all its clones and streams, as [`breezeway::ServerChannel::close`]
    /// does.
    pub fn close(&self) {
        self.channel.close();
    }

    /// What a session that drains has left undone so far.
    pub fn unserved(&self) -> Unserved {
        self.channel.unserved()
    }

    /// Opens a stream to the client, which [accepts](Channel::accept) it. Waits while there is no
    /// room.
    pub async fn open(&self, method: u32, metadata: Option<&[u8]>) -> Result<Stream, StreamError> {
        let stream = poll_fn(|cx| self.channel.poll_open(cx, method, metadata)).await?;
        Ok(Stream::new(stream))
    }
}

impl From<breezeway::Incoming> for Incoming {
    fn from(incoming: breezeway::Incoming) -> Self {
        match incoming {
            breezeway::Incoming::Call(call) => Self::Call(call),
            breezeway::Incoming::Stream(method, stream) => {
                Self::Stream(method, Stream::new(stream))
            }
        }
    }
}

/// Waits until the client no longer wants the reply, or is gone.
pub async fn cancelled(call: &OwnedCall) {
    poll_fn(|cx| call.poll_cancelled(cx)).await;
}

/// Starts the task that drives a session.
fn spawn_driver(driver: Driver, carrier: Carrier) -> Result<(), ConnectError> {
    let drive = Drive::new(driver, carrier).map_err(failed)?;
    tokio::spawn(Driving(drive));
    Ok(())
}

fn failed(error: io::Error) -> ConnectError {
    ConnectError::Handshake(error.into())
}

pub(crate) async fn within<T>(
    call: impl Future<Output = Result<T, CallError>>,
    deadline: Instant,
) -> Result<T, CallError> {
    timeout_at(deadline.into(), call).await.unwrap_or(Err(CallError::DeadlinePassed))
}

/// How many threads connect at one time; whoever wants more waits.
const MOST_CONNECTING: usize = 512;
static CONNECTING: Semaphore = Semaphore::const_new(MOST_CONNECTING);

/// Runs what blocks for a moment on a thread of its own. (tokio's pool panics where it gets none.)
/// Waits while there are too many of them.
///
/// # Errors
///
/// That there is no thread, or that `work` has panicked.
#[doc(hidden)]
pub async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    on_one_of(&CONNECTING, work).await
}

async fn on_one_of<T: Send + 'static>(
    places: &'static Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let place = places.acquire().await.expect("it is never closed");
    start(Some(place), work).await
}

/// Starts the thread, which has its place until it ends.
async fn start<T: Send + 'static>(
    place: Option<SemaphorePermit<'static>>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (sender, outcome) = oneshot::channel();
    shortage::spawn("breezeway-connect", move || {
        let _place = place;
        // Whoever has asked may have given up.
        let _ = sender.send(work());
    })?;
    outcome.await.map_err(|_| io::Error::other("the thread has panicked"))
}

/// Runs what blocks for a moment where that holds up no task.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ConnectError> + Send + 'static,
) -> Result<T, ConnectError> {
    on_a_thread(work).await.map_err(ConnectError::Thread)?
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn threads_that_connect_are_no_more_than_there_are_places_also_when_nobody_waits_for_them()
     {
        static ONE: Semaphore = Semaphore::const_new(1);
        let moment = Duration::from_millis(10);
        let (open, gate) = mpsc::channel::<()>();
        let first = on_one_of(&ONE, move || gate.recv().is_err());
        assert!(timeout(moment, first).await.is_err(), "it waits");
        let has_begun = Arc::new(AtomicBool::new(false));
        let begun = Arc::clone(&has_begun);
        let mut second =
            std::pin::pin!(on_one_of(&ONE, move || begun.store(true, Ordering::SeqCst)));
        assert!(timeout(moment, &mut second).await.is_err(), "there is no place");
        assert!(!has_begun.load(Ordering::SeqCst));
        drop(open);
        timeout(Duration::from_secs(30), second).await.expect("there is a place").unwrap();
        assert!(has_begun.load(Ordering::SeqCst));
    }
}
