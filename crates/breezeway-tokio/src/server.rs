//! Server whose sessions are tasks.

use std::future::{Future, poll_fn, ready};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use breezeway::unstable::{self, HandlerTimer};
use breezeway::{
    Address, AddressError, Driver, ErrorCode, Monitor, OwnedCall, ServeError, ServerOptions,
    ServerSession, SessionListener, describe,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Sleep, sleep};

use crate::drive::watch;
use crate::served::ServedSession;
use crate::stopper::Stopper;
use crate::stream::Stream;

/// Server that listens. It serves once [`Server::serve`] is awaited; clients that connect before
/// wait in the backlog.
pub struct Server {
    listener: SessionListener,
    stopper: Stopper,
    drain_timeout: Duration,
}

impl Server {
    /// Listens with default options.
    pub fn bind(
        address: impl TryInto<Address, Error: Into<AddressError>>,
    ) -> Result<Self, ServeError> {
        Self::bind_with(address, ServerOptions::new())
    }

    /// Listens at all places of the address, with these options. A stale socket file is replaced.
    /// The runtime decides how many threads serve, so the options'
    /// [`workers`](ServerOptions::workers) and [`stream_threads`](ServerOptions::stream_threads)
    /// have no effect. An [`offload`](ServerOptions::offload) other than 0 is refused: handlers run
    /// slow work in `spawn_blocking`.
    pub fn bind_with(
        address: impl TryInto<Address, Error: Into<AddressError>>,
        options: ServerOptions,
    ) -> Result<Self, ServeError> {
        unstable::validate_for_tasks(&options)?;
        let drain_timeout = unstable::drain_timeout(&options);
        let listener = SessionListener::bind(address, options)?;
        Ok(Self { listener, stopper: Stopper::new(), drain_timeout })
    }

    /// Returns the address that the server listens at, with the assigned ports in place of 0.
    pub fn address(&self) -> Address {
        self.listener.address()
    }

    /// Returns a handle that ends the server.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Returns the monitor of the server, for use while it serves.
    pub fn monitor(&self) -> Monitor {
        self.listener.monitor()
    }

    /// Serves calls until stopped, or until a successor has
    /// [taken over](ServerOptions::take_over) and clients have moved, or the options' time to drain
    /// is over. Streams are refused.
    ///
    /// Each session is a task, in which `call` and the first poll of its future run. A handler that
    /// waits for something continues as a task of its own, also when the client is gone, which
    /// completes [`cancelled`](crate::cancelled). So calls of one session begin in their order, and
    /// may end in any. A reply reaches the client at once, regardless of the rest of its handler.
    /// Once handlers of one session have taken 50 µs in a row, or have received 1 MiB, other tasks
    /// run. A handler that takes longer delays them until it returns or waits. While 1,024 handlers
    /// of a session's one-way messages wait, or as many as have messages of its cap together,
    /// nothing more of that session is begun. The output of a handler's future is dropped.
    pub async fn serve<C, F>(self, call: C) -> Result<(), ServeError>
    where
        C: Fn(OwnedCall) -> F + Send + Sync + 'static,
        F: Future + Send + 'static,
    {
        let refuse = |_, stream: Stream| {
            stream.reset(ErrorCode::Refused);
            ready(())
        };
        self.serve_streams(call, refuse).await
    }

    /// Serves calls like [`Self::serve`], and streams by a handler that receives the stream and its
    /// method. The number of waiting stream handlers of a session is at most twice the number of
    /// its open streams ([`SessionOptions::max_streams`](crate::SessionOptions::max_streams)),
    /// because handlers of streams that the client has reset may be about to end. A stream beyond
    /// that is refused with [`ErrorCode::Overloaded`].
    pub async fn serve_streams<C, F, S, G>(self, call: C, stream: S) -> Result<(), ServeError>
    where
        C: Fn(OwnedCall) -> F + Send + Sync + 'static,
        F: Future + Send + 'static,
        S: Fn(u32, Stream) -> G + Send + Sync + 'static,
        G: Future<Output = ()> + Send + 'static,
    {
        #[cfg(feature = "spans")]
        let call = move |incoming: OwnedCall| spanned(incoming, &call);
        let call = move |incoming: OwnedCall| {
            let timer = HandlerTimer::of(&incoming);
            let handling = call(incoming);
            async move {
                drop(handling.await);
                timer.end();
            }
        };
        self.serve_with(call, stream).await
    }

    async fn serve_with<C, F, S, G>(self, call: C, stream: S) -> Result<(), ServeError>
    where
        C: Fn(OwnedCall) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
        S: Fn(u32, Stream) -> G + Send + Sync + 'static,
        G: Future<Output = ()> + Send + 'static,
    {
        let Self { listener, stopper, drain_timeout } = self;
        let limit = unstable::call_limit(&listener);
        let mut accepting = Accepting::new(listener)?;
        let (call, stream) = (Arc::new(call), Arc::new(stream));
        let mut stopped = pin!(stopper.stopped());
        let mut sessions = JoinSet::new();
        let mut drained: Option<Pin<Box<Sleep>>> = None;
        tracing::info!(address = %accepting.address(), "server started");
        while !stopper.is_stopping() {
            let accepted = poll_fn(|cx| {
                while let Poll::Ready(Some(ended)) = sessions.poll_join_next(cx) {
                    note(&ended);
                }
                if stopped.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                if let Poll::Ready(accepted) = accepting.poll_accept(cx) {
                    return Poll::Ready(Some(accepted));
                }
                if accepting.listener().is_handed_over() {
                    if drained.is_none() {
                        // From here on `stopped` completes only for a stop.
                        stopper.drain();
                        stopped.set(stopper.stopped());
                        if stopper.is_stopping() {
                            return Poll::Ready(None);
                        }
                    }
                    let end = drained.get_or_insert_with(|| Box::pin(sleep(drain_timeout)));
                    let have_gone = sessions.is_empty() && accepting.listener().is_exhausted();
                    if have_gone || end.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(None);
                    }
                    if stopped.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(None);
                    }
                }
                Poll::Pending
            });
            let Some(accepted) = accepted.await.transpose()? else { break };
            let handlers = (Arc::clone(&call), Arc::clone(&stream));
            let bounds = (stopper.clone(), limit.clone());
            match ServedSession::new(accepted, handlers, bounds, drain_timeout) {
                Ok(session) => {
                    sessions.spawn(session.serve());
                }
                Err(error) => tracing::warn!(error = %describe(&error), "no session"),
            }
        }
        // Stops sessions that are left after a drain.
        stopper.stop();
        let address = accepting.address();
        while let Some(ended) = sessions.join_next().await {
            note(&ended);
        }
        tracing::info!(%address, "server stopped");
        Ok(())
    }
}

/// Logs a panic of a session's task that has ended.
fn note(ended: &Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a session's task panicked, which ended the session");
    }
}

/// Runs a call's handler in a span from its beginning to its end.
#[cfg(feature = "spans")]
fn spanned<C, F>(incoming: OwnedCall, handler: &C) -> impl Future<Output = F::Output> + use<C, F>
where
    C: Fn(OwnedCall) -> F,
    F: Future,
{
    let span = unstable::served_span(&incoming);
    let handling = span.enter(|| handler(incoming));
    async move {
        let mut handling = pin!(handling);
        let output = poll_fn(|cx| span.enter(|| handling.as_mut().poll(cx))).await;
        // The span does not record the handler's reply.
        span.end(&Ok::<(), std::convert::Infallible>(()));
        output
    }
}

/// Listener with its registration at the runtime.
struct Accepting {
    listener: AsyncFd<Socket>,
    due: Option<Pin<Box<Sleep>>>,
}

struct Socket(SessionListener);

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Accepting {
    fn new(listener: SessionListener) -> io::Result<Self> {
        Ok(Self { listener: watch(Socket(listener), Interest::READABLE)?, due: None })
    }

    fn address(&self) -> Address {
        self.listener.get_ref().0.address()
    }

    fn listener(&mut self) -> &mut SessionListener {
        &mut self.listener.get_mut().0
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(ServerSession, Driver)>> {
        loop {
            while let Poll::Ready(ready) = self.listener.poll_read_ready(cx) {
                ready?.clear_ready();
            }
            let listener = &mut self.listener.get_mut().0;
            if let Some(accepted) = listener.accept()? {
                return Poll::Ready(Ok(accepted));
            }
            let Some(left) = listener.time_left() else { return self.poll_ready(cx) };
            if left.is_zero() {
                // The listener has more work, after other tasks.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let mut due = Box::pin(sleep(left));
            if due.as_mut().poll(cx).is_pending() {
                self.due = Some(due);
                return self.poll_ready(cx);
            }
        }
    }

    /// Waits for the descriptor. The due time has a timer already.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(ServerSession, Driver)>> {
        if self.listener.poll_read_ready(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
