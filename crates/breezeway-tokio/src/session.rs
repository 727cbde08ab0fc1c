//! One session of a server: its driver, and the handlers that it asks for.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use breezeway::{CallLimit, Driver, ErrorCode, Incoming, OwnedCall, ServerChannel, Slice};
use tokio::sync::futures::OwnedNotified;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};

use crate::drive::{Drive, Step};
use crate::handlers::{Slot, note, reap};
use crate::server::Stopper;
use crate::stream::Stream;

/// Handlers of one-way messages of a session that wait at one time, unless their messages have as
/// many bytes as its cap before: as many as there may be messages that are not begun. The next one,
/// and what came behind it, is begun when a handler ends. (The client's window bounds those that
/// have their message still; this one also those that have let go of it.)
const MOST_ONE_WAY: usize = 1024;

/// A session that is served.
pub(crate) struct Session<C, F, S, G> {
    drive: Option<Drive>,
    channel: Option<ServerChannel>,
    call: Arc<C>,
    stream: Arc<S>,
    calls: Slot<F>,
    streams: Slot<G>,
    waiting: JoinSet<()>,
    /// Handlers of streams that wait: as many as this has further copies.
    streams_served: Arc<()>,
    /// And of one-way messages, with the bytes of these messages.
    one_way_served: Arc<AtomicUsize>,
    stopper: Stopper,
    /// Of the server's calls in flight.
    limit: CallLimit,
    stopped: Pin<Box<OwnedNotified>>,
    /// Whether the client was told to go to a successor.
    is_draining: bool,
    /// How long a session drains once the server stops.
    drain_timeout: Duration,
    ending: Ending,
}

/// How far a session of a server that stops has got.
enum Ending {
    No,
    /// What was asked before is begun, until then.
    Drains(Pin<Box<Sleep>>),
    /// Nothing more is begun.
    Drained,
}

/// What is left of what has come, once some was begun.
enum Left {
    Nothing,
    /// Other tasks are to run before it is begun.
    Something,
    /// So many handlers wait that it is begun when one of them ends, which wakes this task.
    Held,
}

/// A one-way message whose handler waits, until it is dropped.
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

impl<C, F, S, G> Session<C, F, S, G>
where
    C: Fn(OwnedCall) -> F,
    F: Future<Output = ()> + Send + 'static,
    S: Fn(u32, Stream) -> G,
    G: Future<Output = ()> + Send + 'static,
{
    pub(crate) fn new(
        (channel, driver): (ServerChannel, Driver),
        (call, stream): (Arc<C>, Arc<S>),
        (stopper, limit): (Stopper, CallLimit),
        drain_timeout: Duration,
    ) -> io::Result<Self> {
        let drive = Drive::new(driver, channel.carrier())?;
        let stopped = Box::pin(stopper.stopped());
        Ok(Self {
            drive: Some(drive),
            channel: Some(channel),
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

    /// Serves until the session is over, or has drained as the server stops: then what was begun is
    /// finished.
    pub(crate) async fn serve(mut self) {
        poll_fn(|cx| self.poll_requests(cx)).await;
        if self.is_draining && self.stopper.is_stopping() {
            // The time for the client to go is over.
            self.stopper.lock_unserved().calls_cut += self.waiting.len();
            self.waiting.abort_all();
        }
        // Those that wait need the session, so it is driven meanwhile.
        poll_fn(|cx| {
            if self.poll_end(cx).is_ready() && self.poll_stopping(cx).is_ready() {
                // Nobody is left to whom they could reply.
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
        // First the channel: the client is notified.
        self.channel = None;
        // It may not have taken all replies yet.
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

    /// The session is over: what it has refused is known now.
    fn end_drive(&mut self) {
        if let Some(drive) = self.drive.take() {
            let rest = drive.unserved();
            let mut unserved = self.stopper.lock_unserved();
            unserved.calls_refused += rest.calls_refused;
            unserved.messages_lost += rest.messages_lost;
        }
    }

    /// Ready once the server stops. That clients are sent away is no reason to end what runs.
    fn poll_stopping(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while !self.stopper.is_stopping() {
            ready!(self.poll_news(cx));
        }
        Poll::Ready(())
    }

    /// Ready once after the server has said something: what it was is to be asked then. By then
    /// the next news are waited for, so that none is lost between the two.
    fn poll_news(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.stopped.as_mut().poll(cx));
        self.stopped = Box::pin(self.stopper.stopped());
        Poll::Ready(())
    }

    fn poll_requests(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.send_away();
        reap(&mut self.waiting);
        let Some(drive) = &mut self.drive else { return Poll::Ready(()) };
        let step = drive.step(cx);
        let left = self.begin(cx);
        if matches!(self.ending, Ending::Drained) {
            return Poll::Ready(());
        }
        match (step, left) {
            (Step::Ended, Left::Nothing) => return Poll::Ready(()),
            // What the handlers have left to do for whoever drives wakes this task.
            (Step::Asleep, Left::Nothing | Left::Held) | (Step::Ended, Left::Held)
                if self.poll_news(cx).is_pending() => {}
            _ => cx.waker().wake_by_ref(),
        }
        Poll::Pending
    }

    /// Lets the client go to a successor, if that is due, and serves it until it has gone; or ends
    /// the session, as the server stops. (Of one with a successor the time is over by then.)
    fn send_away(&mut self) {
        let Some(channel) = &self.channel else { return };
        if !self.is_draining && self.stopper.is_draining() {
            self.is_draining = true;
            channel.go_away();
        }
        if self.stopper.is_stopping() && matches!(self.ending, Ending::No) {
            let time = if self.is_draining { Duration::ZERO } else { self.drain_timeout };
            channel.drain(time);
            self.ending = Ending::Drains(Box::pin(sleep(time)));
        }
    }

    /// Whether [`Self::send_away`] has something to do.
    fn has_news(&self) -> bool {
        self.stopper.is_draining() && !self.is_draining
            || self.stopper.is_stopping() && matches!(self.ending, Ending::No)
    }

    /// What the client asks for next, if it is there.
    fn next(&mut self, cx: &mut Context<'_>) -> Option<Incoming> {
        let channel = self.channel.as_ref()?;
        let Ending::Drains(_) = self.ending else { return channel.try_accept() };
        match channel.poll_accept(cx) {
            Poll::Ready(Ok(Some(incoming))) => Some(incoming),
            Poll::Ready(_) => {
                self.ending = Ending::Drained;
                None
            }
            Poll::Pending => None,
        }
    }

    /// Whether as many streams are served as may be open, and as many again that are over for the
    /// client: it opens and resets them faster than their handlers end.
    fn serves_enough_streams(&self) -> bool {
        let most = self.channel.as_ref().map_or(0, ServerChannel::max_streams);
        Arc::strong_count(&self.streams_served) > 2 * most
    }

    fn serves_enough_one_way(&self) -> bool {
        let most = self.channel.as_ref().map_or(0, ServerChannel::cap);
        let served = &self.one_way_served;
        Arc::strong_count(served) > MOST_ONE_WAY || served.load(Ordering::SeqCst) >= most
    }

    /// Whether so many handlers of one-way messages wait that no more is begun until one has ended:
    /// messages have no limit of calls in flight, and nobody could be told that one is refused. Of
    /// a session that drains nothing is held once the time is over: then nothing is begun either.
    fn is_held(&mut self, cx: &mut Context<'_>) -> bool {
        while self.serves_enough_one_way() {
            match self.waiting.poll_join_next(cx) {
                Poll::Ready(Some(ended)) => note(&ended),
                Poll::Ready(None) => return false,
                Poll::Pending => {
                    let Ending::Drains(end) = &mut self.ending else { return true };
                    // The end comes early if the client is gone and all it sent was begun.
                    let has_drained = self.channel.as_ref().is_none_or(ServerChannel::has_drained);
                    // No turn of a session that is over has a timer.
                    return !has_drained && end.as_mut().poll(cx).is_pending();
                }
            }
        }
        false
    }

    /// Starts the handlers of what has come, for a slice, or until there are news.
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

    /// Starts one handler, or refuses what it would be for. Gives the request's bytes.
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
