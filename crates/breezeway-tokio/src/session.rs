//! One session of a server: its driver, and the handlers that it asks for.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use breezeway::{Driver, ErrorCode, Incoming, IncomingCall, ServerChannel};
use tokio::sync::futures::OwnedNotified;
use tokio::task::JoinSet;

use crate::drive::{Drive, Step};
use crate::handlers::{Slot, reap};
use crate::server::Stopper;
use crate::stream::Stream;

/// Handlers that are started before other tasks get to run.
const HANDLERS_PER_POLL: usize = 64;

/// A session that is served.
pub(crate) struct Session<C, F, S, G> {
    drive: Option<Drive>,
    channel: Option<ServerChannel>,
    call: Arc<C>,
    stream: Arc<S>,
    calls: Slot<F>,
    streams: Slot<G>,
    waiting: JoinSet<()>,
    stopper: Stopper,
    stopped: Pin<Box<OwnedNotified>>,
    /// Whether the client was told to go away.
    is_draining: bool,
}

impl<C, F, S, G> Session<C, F, S, G>
where
    C: Fn(IncomingCall) -> F,
    F: Future<Output = ()> + Send + 'static,
    S: Fn(u32, Stream) -> G,
    G: Future<Output = ()> + Send + 'static,
{
    pub(crate) fn new(
        (channel, driver): (ServerChannel, Driver),
        (call, stream): (Arc<C>, Arc<S>),
        stopper: Stopper,
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
            stopper,
            stopped,
            is_draining: false,
        })
    }

    /// Serves until the session is over, or the server stops: then what was begun is finished.
    pub(crate) async fn serve(mut self) {
        poll_fn(|cx| self.poll_requests(cx)).await;
        if self.is_draining && self.stopper.is_stopping() {
            self.cut();
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
            Some(Step::Ended) | None => {
                self.drive = None;
                Poll::Ready(())
            }
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
        // Also if the server stops already: a session that was never told is cut as all others.
        self.send_away();
        if self.stopper.is_stopping() {
            return Poll::Ready(());
        }
        reap(&mut self.waiting);
        let Some(drive) = &mut self.drive else { return Poll::Ready(()) };
        let step = drive.step(cx);
        let began = self.begin(cx);
        match step {
            Step::Ended if began < HANDLERS_PER_POLL => return Poll::Ready(()),
            // What the handlers have left to do for whoever drives wakes this task.
            Step::Asleep if began < HANDLERS_PER_POLL && self.poll_news(cx).is_pending() => {}
            _ => cx.waker().wake_by_ref(),
        }
        Poll::Pending
    }

    /// Lets the client go to a successor, if that is due, and serves it until it has gone.
    fn send_away(&mut self) {
        if !self.is_draining && self.stopper.is_draining() {
            self.is_draining = true;
            if let Some(channel) = &self.channel {
                channel.go_away();
            }
        }
    }

    /// The time for the client to go is over: what was not begun is refused, and what runs ends.
    fn cut(&mut self) {
        let mut unserved = self.stopper.lock_unserved();
        while let Some(incoming) = self.channel.as_ref().and_then(ServerChannel::try_accept) {
            match incoming {
                Incoming::Call(call) if call.is_one_way() => unserved.messages_lost += 1,
                Incoming::Call(call) => {
                    unserved.calls_refused += 1;
                    call.fail(ErrorCode::Refused, "the server ended before it began the call");
                }
                Incoming::Stream(_, stream) => stream.reset(ErrorCode::Refused),
            }
        }
        unserved.calls_cut += self.waiting.len();
        self.waiting.abort_all();
    }

    /// Starts the handlers of what has come, but not of all if that is much. Gives how many.
    fn begin(&mut self, cx: &mut Context<'_>) -> usize {
        let Some(channel) = &self.channel else { return 0 };
        for began in 0..HANDLERS_PER_POLL {
            match channel.try_accept() {
                Some(Incoming::Call(call)) => {
                    self.calls.start(cx, (self.call)(call), &mut self.waiting);
                }
                Some(Incoming::Stream(method, stream)) => {
                    let handler = (self.stream)(method, Stream::new(stream));
                    self.streams.start(cx, handler, &mut self.waiting);
                }
                None => return began,
            }
        }
        HANDLERS_PER_POLL
    }
}
