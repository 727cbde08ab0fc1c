//! A request with a deadline or metadata.

use std::future::{Future, poll_fn};
use std::time::{Duration, Instant};

use breezeway::{CallError, ClientError, Message, OwnedSpace, StreamError};
use tokio::time::timeout_at;

use crate::client::Client;
use crate::opener::StreamOpener;
use crate::server_session::ServerSession;
use crate::session::Session;
use crate::stream::Stream;

/// A call, one-way message or stream that is about to begin, with a deadline, metadata, or both:
/// `request` of a [`Client`], a [`Session`] or a server's end begins it, and the last method sends
/// it. Without either, `call`, `post` and `open` are shorter.
///
/// ```no_run
/// use std::time::Duration;
///
/// use breezeway_tokio::Client;
///
/// const LOOK_UP: u32 = 1;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("shm:/run/names.sock").await?;
/// let request = client.request(LOOK_UP).timeout(Duration::from_millis(50)).metadata(b"trace=7");
/// let reply = request.send(b"ada").await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a request is sent by its last method, such as send, post or open"]
pub struct Request<'a, S> {
    to: &'a S,
    method: u32,
    /// Metadata block; there is none if it is empty.
    metadata: &'a [u8],
    limit: Limit,
}

/// Time for which a request waits.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// The call timeout of the session.
    Usual,
    /// No limit.
    Never,
    At(Instant),
}

impl Limit {
    pub(crate) fn after(timeout: Option<Duration>) -> Self {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        deadline.map_or(Self::Never, Self::At)
    }

    /// Returns this limit, or that of the call timeout from now.
    pub(crate) fn or(self, call_timeout: Option<Duration>) -> Self {
        if let Self::Usual = self { Self::after(call_timeout) } else { self }
    }

    /// Returns the time that is left; None if it has no end.
    pub(crate) fn time_left(self) -> Option<Duration> {
        match self {
            Self::Usual | Self::Never => None,
            Self::At(deadline) => Some(deadline.saturating_duration_since(Instant::now())),
        }
    }

    /// Runs `work` until the deadline at most.
    pub(crate) async fn cut<T, E>(
        self,
        work: impl Future<Output = Result<T, E>>,
        passed: impl FnOnce() -> E,
    ) -> Result<T, E> {
        match self {
            Self::Usual | Self::Never => work.await,
            Self::At(deadline) => {
                timeout_at(deadline.into(), work).await.unwrap_or_else(|_| Err(passed()))
            }
        }
    }
}

impl<'a, S> Request<'a, S> {
    pub(crate) fn new(to: &'a S, method: u32) -> Self {
        Self { to, method, metadata: &[], limit: Limit::Usual }
    }

    /// Sets the time from now until the request fails with [`CallError::DeadlinePassed`], in place
    /// of the call timeout. The server's handler receives the time that is left.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { limit: Limit::after(Some(timeout)), ..self }
    }

    /// Sets the instant at which the request fails, like [`Self::timeout`].
    pub fn deadline(self, deadline: Instant) -> Self {
        Self { limit: Limit::At(deadline), ..self }
    }

    /// Sends a metadata block beside the message.
    pub fn metadata(self, metadata: &'a [u8]) -> Self {
        Self { metadata, ..self }
    }
}

impl<S> std::fmt::Debug for Request<'_, S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

/// Requests of a session.
impl Request<'_, Session> {
    /// Calls the method with a copy of `request`, and returns the reply. Dropping the future before
    /// cancels the call.
    pub async fn send(self, request: &[u8]) -> Result<Message, CallError> {
        let limit = self.limit();
        let (session, time) = (&self.to.session, limit.time_left());
        let call = async {
            let (method, metadata) = (self.method, Some(self.metadata));
            poll_fn(|cx| session.poll_start_call(cx, method, metadata, request, time)).await?.await
        };
        self.to.spanned(self.method, limit.cut(call, || CallError::DeadlinePassed)).await
    }

    /// Sends a one-way message like [`Session::post`].
    pub async fn post(self, message: &[u8]) -> Result<(), CallError> {
        let Self { to, method, metadata, .. } = self;
        let post = poll_fn(|cx| to.session.poll_post(cx, method, Some(metadata), message));
        self.limit().cut(post, || CallError::DeadlinePassed).await
    }

    /// Opens a stream like [`Session::open`]. The deadline is that of the opening; the stream is
    /// not reset when it has passed.
    pub async fn open(self) -> Result<Stream, StreamError> {
        let Self { to, method, metadata, limit } = self;
        let time = limit.time_left();
        let open = poll_fn(|cx| to.session.poll_open(cx, method, Some(metadata), time));
        Ok(Stream::new(limit.cut(open, || StreamError::DeadlinePassed(None)).await?))
    }

    /// Opens a stream like [`Self::open`], with a first message if given. The message, or the
    /// opening without one, is the last entry of this side if `last` is set: a stream with one
    /// request then takes one entry. Also waits while as many streams are open as the peer allows.
    pub async fn open_with(
        self,
        message: Option<&[u8]>,
        last: bool,
    ) -> Result<Stream, StreamError> {
        let Self { to, method, metadata, limit } = self;
        let (metadata, time) = (Some(metadata), limit.time_left());
        let open =
            poll_fn(|cx| to.session.poll_open_with(cx, method, metadata, message, last, time));
        Ok(Stream::new(limit.cut(open, || StreamError::DeadlinePassed(None)).await?))
    }

    /// Reserves space like [`Session::reserve`], with the metadata, which is sent in front of the
    /// message.
    pub async fn reserve(self, len: usize) -> Result<OwnedSpace, CallError> {
        let reserve = poll_fn(|cx| self.to.session.poll_reserve(cx, self.metadata, len));
        self.limit().cut(reserve, || CallError::DeadlinePassed).await
    }

    /// Calls the method with the content of `space`, and returns the reply. Dropping the future
    /// cancels the call. Metadata is that of the [reservation](Self::reserve), in place of this
    /// request's.
    pub async fn send_space(self, mut space: OwnedSpace) -> Result<Message, CallError> {
        let limit = self.limit();
        let (session, method, time) = (&self.to.session, self.method, limit.time_left());
        let call = async {
            poll_fn(|cx| session.poll_start_call_space(cx, method, &mut space, time)).await?.await
        };
        self.to.spanned(method, limit.cut(call, || CallError::DeadlinePassed)).await
    }

    /// Sends the content of `space` as a one-way message, as [`Session::post`] does. Metadata is
    /// that of the [reservation](Self::reserve), in place of this request's.
    pub async fn post_space(self, mut space: OwnedSpace) -> Result<(), CallError> {
        let (session, method) = (&self.to.session, self.method);
        let post = poll_fn(|cx| session.poll_post_space(cx, method, &mut space));
        self.limit().cut(post, || CallError::DeadlinePassed).await
    }

    fn limit(&self) -> Limit {
        self.limit.or(self.to.session.call_timeout())
    }
}

/// Requests of a client. A request that was never sent is repeated on the next session, for as long
/// as its deadline allows.
impl Request<'_, Client> {
    /// Calls the method with a copy of `request`, and returns the reply. Dropping the future before
    /// cancels the call.
    pub async fn send(self, request: &[u8]) -> Result<Message, ClientError> {
        // The session's own timeout would restart with each attempt.
        let (this, limit) = (&self, self.wait());
        let send = |session| async move { this.on(&session, limit).send(request).await };
        self.to.resending(limit, send).await
    }

    /// Sends a one-way message like [`Session::post`].
    pub async fn post(self, message: &[u8]) -> Result<(), ClientError> {
        let (this, limit) = (&self, self.wait());
        let post = |session| async move { this.on(&session, limit).post(message).await };
        self.to.resending(limit, post).await
    }

    /// Opens a stream like [`Session::open`]. The deadline is that of the opening; the stream is
    /// not reset when it has passed.
    pub async fn open(self) -> Result<Stream, ClientError> {
        let this = &self;
        let open = |session| async move { this.on(&session, this.limit).open().await };
        self.to.resending(self.wait(), open).await
    }

    /// Opens a stream with a first message, like `open_with` of a session's request.
    pub async fn open_with(
        self,
        message: Option<&[u8]>,
        last: bool,
    ) -> Result<Stream, ClientError> {
        let this = &self;
        let open =
            |session| async move { this.on(&session, this.limit).open_with(message, last).await };
        self.to.resending(self.wait(), open).await
    }

    fn wait(&self) -> Limit {
        self.limit.or(self.to.call_timeout())
    }

    /// Returns the request for a session.
    fn on<'b>(&'b self, session: &'b Session, limit: Limit) -> Request<'b, Session> {
        Request { to: session, method: self.method, metadata: self.metadata, limit }
    }
}

/// Streams that a server opens.
impl Request<'_, StreamOpener> {
    /// Opens a stream like [`StreamOpener::open`]. After the deadline, which is not sent to the
    /// client, nothing was sent.
    pub async fn open(self) -> Result<Stream, StreamError> {
        let Self { to, method, metadata, limit } = self;
        let open = poll_fn(|cx| to.stream_opener.poll_open(cx, method, Some(metadata)));
        Ok(Stream::new(limit.cut(open, || StreamError::DeadlinePassed(None)).await?))
    }
}

/// Streams that a server opens.
impl Request<'_, ServerSession> {
    /// Opens a stream like [`ServerSession::open`]. After the deadline, which is not sent to the
    /// client, nothing was sent.
    pub async fn open(self) -> Result<Stream, StreamError> {
        let Self { to, method, metadata, limit } = self;
        let open = poll_fn(|cx| to.session.poll_open(cx, method, Some(metadata)));
        Ok(Stream::new(limit.cut(open, || StreamError::DeadlinePassed(None)).await?))
    }
}
