//! One session of a server: its driver, and the handlers that it asks for.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use breezeway::{Driver, Incoming, IncomingCall, ServerChannel};
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
        })
    }

    /// Serves until the session is over, or the server stops: then what was begun is finished.
    pub(crate) async fn serve(mut self) {
        poll_fn(|cx| self.poll_requests(cx)).await;
        // Those that wait need the session, so it is driven meanwhile.
        poll_fn(|cx| {
            let ended = self.drive.as_mut().is_none_or(|drive| match drive.step(cx) {
                Step::Again => {
                    cx.waker().wake_by_ref();
                    false
                }
                Step::Asleep => false,
                Step::Ended => true,
            });
            if ended {
                self.drive = None;
                let stopping =
                    self.stopper.is_stopping() || self.stopped.as_mut().poll(cx).is_ready();
                if stopping {
                    // Nobody is left to whom they could reply.
                    self.waiting.abort_all();
                }
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
        self.drive = None;
    }

    fn poll_requests(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.stopper.is_stopping() {
            return Poll::Ready(());
        }
        reap(&mut self.waiting);
        let Some(drive) = &mut self.drive else { return Poll::Ready(()) };
        let step = drive.step(cx);
        let began = self.begin(cx);
        match step {
            Step::Ended if began < HANDLERS_PER_POLL => return Poll::Ready(()),
            Step::Asleep if began == 0 && self.stopped.as_mut().poll(cx).is_pending() => {}
            _ => cx.waker().wake_by_ref(),
        }
        Poll::Pending
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
