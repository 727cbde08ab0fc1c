//! One session of a server: its driver and its handlers.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use breezeway::unstable::{self, CallLimit, Slice};
use breezeway::{Driver, ErrorCode, Incoming, OwnedCall, ServerSession};
use tokio::sync::futures::OwnedNotified;
use tokio::task::JoinSet;

use crate::drive::{Drive, Step};
use crate::handlers::{Slot, note, reap};
use crate::stopper::Stopper;
use crate::stream::Stream;

/// Maximum number of a session's waiting handlers of one-way messages, unless their messages reach
/// the session's cap in bytes before: the same as the maximum number of messages that are not
/// begun. The next message, and the requests behind it, are begun when a handler ends. (The
/// client's window bounds handlers that still hold their message; this limit also bounds those that
/// have dropped it.)
const MOST_ONE_WAY: usize = 1024;

/// Session that is served.
pub(crate) struct ServedSession<C, F, S, G> {
    drive: Option<Drive>,
    session: Option<ServerSession>,
    call: Arc<C>,
    stream: Arc<S>,
    calls: Slot<F>,
    streams: Slot<G>,
    waiting: JoinSet<()>,
    /// Counts the waiting handlers of streams: each holds a further copy.
    streams_served: Arc<()>,
    /// Counts the waiting handlers of one-way messages in the same way, and holds the bytes of
    /// these messages.
    one_way_served: Arc<AtomicUsize>,
    stopper: Stopper,
    /// Limit of the server's calls in flight.
    limit: CallLimit,
    stopped: Pin<Box<OwnedNotified>>,
    /// True if the client was asked to go to a successor.
    is_draining: bool,
    /// Time that a session drains once the server stops.
    drain_timeout: Duration,
    ending: Ending,
}

/// Stage of a session's end at a server that stops.
#[derive(PartialEq, Eq)]
enum Ending {
    No,
    /// Requests sent before are begun.
    Drains,
    /// Nothing more is begun.
    Drained,
}

/// Rest of the received requests after some were begun.
enum Left {
    Nothing,
    /// Other tasks run before the rest is begun.
    Something,
    /// Too many handlers wait. The rest is begun when one of them ends, which wakes this task.
    Held,
}

/// Count of a one-way message with a handler that waits; dropping it ends the count.
struct OneWay {
    served: Arc<AtomicUsize>,
    len: usize,
}

impl OneWay {
    fn begin(served: &Arc<AtomicUsize>, len: usize) -> Self {
        served.fetch_add(len, Ordering::SeqCst);
        Self { served: Arc::clone(served), len }
    }
}

impl Drop for OneWay {
    fn drop(&mut self) {
        self.served.fetch_sub(self.len, Ordering::SeqCst);
    }
}

impl<C, F, S, G> ServedSession<C, F, S, G>
where
    C: Fn(OwnedCall) -> F,
    F: Future<Output = ()> + Send + 'static,
    S: Fn(u32, Stream) -> G,
    G: Future<Output = ()> + Send + 'static,
{
    pub(crate) fn new(
        (session, driver): (ServerSession, Driver),
        (call, stream): (Arc<C>, Arc<S>),
        (stopper, limit): (Stopper, CallLimit),
        drain_timeout: Duration,
    ) -> io::Result<Self> {
        let drive = Drive::new(driver, session.carrier())?;
        let stopped = Box::pin(stopper.stopped());
        Ok(Self {
            drive: Some(drive),
            session: Some(session),
            call,
            stream,
            calls: Slot::new(),
            streams: Slot::new(),
            waiting: JoinSet::new(),
            streams_served: Arc::default(),
            one_way_served: Arc::default(),
            stopper,
            limit,
            stopped,
            is_draining: false,
            drain_timeout,
            ending: Ending::No,
        })
    }

    /// Serves until the session is over, or has drained because the server stops. Then it finishes
    /// the requests that were begun.
    pub(crate) async fn serve(mut self) {
        poll_fn(|cx| self.poll_requests(cx)).await;
        if self.is_draining && self.stopper.is_stopping() {
            // The client's time to go to the successor is over.
            self.stopper.lock_unserved().calls_cut += self.waiting.len();
            self.waiting.abort_all();
        }
        // Waiting handlers need the session, so this task continues to drive it.
        poll_fn(|cx| {
            if self.poll_end(cx).is_ready() && self.poll_stopping(cx).is_ready() {
                // The client is gone, so no handler can reply.
                self.waiting.abort_all();
            }
            loop {
                match self.waiting.poll_join_next(cx) {
                    Poll::Ready(Some(_)) => {}
                    Poll::Ready(None) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await;
        // The session is dropped first, which notifies the client.
        self.session = None;
        // The client may not have taken all replies yet.
        poll_fn(|cx| self.poll_end(cx)).await;
    }

    /// Drives the session until it is over.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.drive.as_mut().map(|drive| drive.step(cx)) {
            Some(Step::Again) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Asleep) => Poll::Pending,
            Some(Step::Ended) => {
                self.end_drive();
                Poll::Ready(())
            }
            None => Poll::Ready(()),
        }
    }

    /// Ends the drive of a session that is over, and adds the requests that it refused to the
    /// server's.
    fn end_drive(&mut self) {
        if let Some(drive) = self.drive.take() {
            let rest = drive.unserved();
            let mut unserved = self.stopper.lock_unserved();
            unserved.calls_refused += rest.calls_refused;
            unserved.messages_lost += rest.messages_lost;
        }
    }

    /// Waits until the server stops. Running handlers do not end because clients are sent to a
    /// successor.
    fn poll_stopping(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while !self.stopper.is_stopping() {
            ready!(self.poll_news(cx));
        }
        Poll::Ready(())
    }

    /// Waits for one notification of the server, whose state the caller checks then. The wait for
    /// the next notification is registered before, so that none is lost between the two.
    fn poll_news(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.stopped.as_mut().poll(cx));
        self.stopped = Box::pin(self.stopper.stopped());
        Poll::Ready(())
    }

    fn poll_requests(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.send_away();
        reap(&mut self.waiting);
        let Some(drive) = &mut self.drive else { return Poll::Ready(()) };
        let mut step = drive.step(cx);
        let mut left = self.begin(cx);
        if step == Step::Again
            && matches!(left, Left::Nothing)
            && let Some(drive) = self.drive.as_mut().filter(|drive| drive.is_rare())
        {
            // The reply to the only request is sent, and no wake-up is needed before the sleep.
            step = drive.step(cx);
            left = self.begin(cx);
        }
        if self.ending == Ending::Drained {
            return Poll::Ready(());
        }
        match (step, left) {
            (Step::Ended, Left::Nothing) => return Poll::Ready(()),
            // Work that the handlers leave to the driver wakes this task.
            (Step::Asleep, Left::Nothing | Left::Held) | (Step::Ended, Left::Held)
                if self.poll_news(cx).is_pending() => {}
            _ => cx.waker().wake_by_ref(),
        }
        Poll::Pending
    }

    /// Sends the client to a successor, if that is due, and serves it until it has gone; or ends
    /// the session if the server stops. (The time of a session with a successor is over by then.)
    fn send_away(&mut self) {
        let Some(session) = &self.session else { return };
        if !self.is_draining && self.stopper.is_draining() {
            self.is_draining = true;
            session.go_away();
        }
        if self.stopper.is_stopping() && self.ending == Ending::No {
            let time = if self.is_draining { Duration::ZERO } else { self.drain_timeout };
            session.drain(time);
            self.ending = Ending::Drains;
        }
    }

    /// Returns true if [`Self::send_away`] has something to do.
    fn has_news(&self) -> bool {
        self.stopper.is_draining() && !self.is_draining
            || self.stopper.is_stopping() && self.ending == Ending::No
    }

    /// Returns the client's next request, if it has come.
    fn next(&mut self, cx: &mut Context<'_>) -> Option<Incoming> {
        let session = self.session.as_ref()?;
        if self.ending != Ending::Drains {
            return session.try_accept();
        }
        match session.poll_accept(cx) {
            Poll::Ready(Ok(Some(incoming))) => Some(incoming),
            Poll::Ready(_) => {
                self.ending = Ending::Drained;
                None
            }
            Poll::Pending => None,
        }
    }

    /// Returns true if the served streams reach twice the number that may be open. Half of them
    /// are over for the client then: it opens and resets streams faster than their handlers end.
    fn serves_enough_streams(&self) -> bool {
        let most = self.session.as_ref().map_or(0, ServerSession::max_streams);
        Arc::strong_count(&self.streams_served) > 2 * most
    }

    fn serves_enough_one_way(&self) -> bool {
        let most = self.session.as_ref().map_or(0, ServerSession::cap);
        let served = &self.one_way_served;
        Arc::strong_count(served) > MOST_ONE_WAY || served.load(Ordering::SeqCst) >= most
    }

    /// Returns true if nothing more is begun until a handler ends, because too many handlers of
    /// one-way messages wait. One-way messages have no limit of calls in flight, and a refusal
    /// could not reach a caller. A session that drains holds nothing once its time is over: nothing
    /// is begun then either.
    fn is_held(&mut self, cx: &mut Context<'_>) -> bool {
        while self.serves_enough_one_way() {
            match self.waiting.poll_join_next(cx) {
                Poll::Ready(Some(ended)) => note(&ended),
                Poll::Ready(None) => return false,
                Poll::Pending => {
                    return !self.session.as_ref().is_none_or(unstable::has_drained);
                }
            }
        }
        false
    }

    /// Starts the handlers of the received requests, for a slice, or until [`Self::send_away`] has
    /// something to do.
    fn begin(&mut self, cx: &mut Context<'_>) -> Left {
        let mut slice = None;
        loop {
            if self.is_held(cx) {
                return Left::Held;
            }
            let Some(incoming) = self.next(cx) else { return Left::Nothing };
            let slice = slice.get_or_insert_with(Slice::begin);
            let bytes = self.start(incoming, cx);
            if !slice.goes_on_after(bytes) || self.has_news() {
                return Left::Something;
            }
        }
    }

    /// Starts one handler, or refuses its request. Returns the request's length in bytes.
    fn start(&mut self, incoming: Incoming, cx: &mut Context<'_>) -> usize {
        match incoming {
            Incoming::Call(call) if call.is_one_way() => {
                let len = call.request().len();
                let (serve, served) = (&self.call, &self.one_way_served);
                let handler = || serve(call);
                let hold = || OneWay::begin(served, len);
                self.calls.start(cx, handler, &mut self.waiting, hold);
                len
            }
            Incoming::Call(call) => {
                let len = call.request().len();
                match self.limit.refusal() {
                    Some(reason) => drop(call.fail(ErrorCode::Overloaded, reason)),
                    None => {
                        let (serve, limit) = (&self.call, &self.limit);
                        let handler = || serve(call);
                        self.calls.start(cx, handler, &mut self.waiting, || limit.begin());
                    }
                }
                len
            }
            Incoming::Stream(_, stream) if self.serves_enough_streams() => {
                tracing::debug!(peer = ?stream.peer(), "a stream is refused: too many handlers");
                stream.reset(ErrorCode::Overloaded);
                0
            }
            Incoming::Stream(method, stream) => {
                let (serve, served) = (&self.stream, &self.streams_served);
                let handler = || serve(method, Stream::new(stream));
                self.streams.start(cx, handler, &mut self.waiting, || Arc::clone(served));
                0
            }
        }
    }
}
