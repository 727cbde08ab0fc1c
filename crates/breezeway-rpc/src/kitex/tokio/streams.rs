//! A connection of Kitex's streams, served by a task for each.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout_at};

use super::client::Bytes;
use super::connection::{ROOM, Session, or_end, within};
use super::watched::has_ended;
use crate::call::Call;
use crate::context::Context;
use crate::error::Error;
use crate::kitex::Receiver;
use crate::kitex::frame::{TIMEOUT, Writer};
use crate::kitex::streams::{Came, Opening, Streams};
use crate::registry::Found;
use crate::stream::{Body, Ended};
use crate::thrift::ExceptionKind;
use crate::tokio::stream::{ReceivingRequests, SendingReplies, Served};
use crate::tokio::{AsyncServices, caught};

/// Maximum number of concurrent streams of a connection.
const MAX_OPEN: usize = 1024;
/// Units of a connection's room that a message takes beside one per KiB.
const EACH: usize = 8;
/// Interval at which a wait for room checks for the end of the connection.
const LOOK: Duration = Duration::from_millis(100);

/// Next input for the handler of a stream.
enum Input {
    Message(Vec<u8>, OwnedSemaphorePermit),
    End,
}

/// Sender of a stream's input, for the connection. Dropping it cancels the handler.
struct Inlet {
    inputs: mpsc::UnboundedSender<Input>,
    _wanted: oneshot::Sender<Infallible>,
}

/// The client's direction, for its handler.
pub(crate) struct Requests {
    inputs: mpsc::UnboundedReceiver<Input>,
    has_ended: bool,
}

/// The server's direction.
pub(crate) struct Replies {
    frames: mpsc::Sender<Vec<u8>>,
    writer: Writer,
    context: Arc<Context>,
    has_begun: bool,
}

/// Serves the streams of a connection until its client closes it, or the server stops. Unfinished
/// streams are then cancelled.
///
/// Messages that no handler has read take room; when there is no more, nothing further is read: the
/// protocol has no other way to stop a client, and all streams of the connection wait.
pub(super) async fn serve<S: AsyncServices>(
    session: Arc<Session<S>>,
    mut receiver: Receiver,
    mut from: impl Bytes,
    mut patience: Option<Duration>,
    stopped: &mut watch::Receiver<()>,
) -> Result<(), Error> {
    let replies = session.replies.clone();
    let mut connection = Connection {
        session,
        room: Arc::new(Semaphore::new(ROOM)),
        streams: Streams::new(MAX_OPEN),
        inlets: HashMap::new(),
        running: JoinSet::new(),
    };
    loop {
        while let Some(frame) = receiver.next_frame().map_err(Error::wire)? {
            patience = None;
            connection.reap();
            let came = connection.streams.take(frame).map_err(Error::wire)?;
            tokio::select! {
                taken = connection.take(came) => if taken.is_break() {
                    return connection.end().await;
                },
                _ = stopped.changed() => return connection.end().await,
            }
        }
        tokio::select! {
            read = within(patience, from.read(receiver.room())) => match or_end(read)? {
                0 => return connection.end().await,
                count => receiver.take(count),
            },
            _ = stopped.changed() => return connection.end().await,
            // The client would wait for messages that cannot be written.
            () = replies.closed() => return connection.end().await,
        }
    }
}

struct Connection<S> {
    session: Arc<Session<S>>,
    room: Arc<Semaphore>,
    streams: Streams,
    inlets: HashMap<i32, Inlet>,
    /// A task for each stream, which returns its number.
    running: JoinSet<i32>,
}

impl<S: AsyncServices> Connection<S> {
    /// Removes streams that have ended.
    fn reap(&mut self) {
        while let Some(ended) = self.running.try_join_next() {
            if let Ok(stream) = ended {
                self.streams.close(stream);
                self.inlets.remove(&stream);
            }
        }
    }

    /// Returns `Break` if the connection has ended while its room was full.
    async fn take(&mut self, came: Came) -> ControlFlow<()> {
        match came {
            Came::Opened(opening) => self.open(opening),
            Came::Refused(opening, words) => {
                let error = Error::new(ExceptionKind::INTERNAL_ERROR, words);
                Replies::new(&self.session, &opening).finish(Ended::Failed(error)).await;
            }
            Came::Message(stream, message) => {
                let taken = (EACH + message.len() / 1024).min(ROOM) as u32;
                let place = tokio::select! {
                    biased;
                    place = Arc::clone(&self.room).acquire_many_owned(taken) => place,
                    () = self.ended() => return ControlFlow::Break(()),
                };
                if let (Ok(place), Some(inlet)) = (place, self.inlets.get(&stream)) {
                    // Fails if the handler no longer reads.
                    let _ = inlet.inputs.send(Input::Message(message, place));
                }
            }
            Came::End(stream) => {
                if let Some(inlet) = self.inlets.get(&stream) {
                    let _ = inlet.inputs.send(Input::End);
                }
            }
            Came::Reset(stream) => drop(self.inlets.remove(&stream)),
            Came::Nothing => {}
        }
        ControlFlow::Continue(())
    }

    /// Waits until the client has ended the connection, without reading from it.
    async fn ended(&self) {
        while !has_ended(&self.session.watcher) {
            sleep(LOOK).await;
        }
    }

    fn open(&mut self, opening: Opening) {
        let (inputs, came) = mpsc::unbounded_channel();
        let (wanted, unwanted) = oneshot::channel();
        let stream = opening.stream;
        self.inlets.insert(stream, Inlet { inputs, _wanted: wanted });
        let session = Arc::clone(&self.session);
        let requests = Requests { inputs: came, has_ended: false };
        self.running.spawn(async move {
            // The number is free again even if the handler panics when it is dropped.
            let _ = caught(serve_stream(&session, opening, requests, unwanted)).await;
            stream
        });
    }

    /// Cancels all streams, and waits for handlers that clean up after that.
    async fn end(mut self) -> Result<(), Error> {
        self.inlets.clear();
        while self.running.join_next().await.is_some() {}
        Ok(())
    }
}

/// Serves one stream, for as long as its client wants it.
async fn serve_stream<S: AsyncServices>(
    session: &Session<S>,
    mut opening: Opening,
    requests: Requests,
    unwanted: oneshot::Receiver<Infallible>,
) {
    let mut replies = Replies::new(session, &opening);
    let found = match opening.find(&session.shared.registry) {
        Ok(found) => found,
        Err(error) => return replies.finish(Ended::Failed(error)).await,
    };
    let context = Arc::new(opening.context(session.carrier, session.peer.clone()));
    replies.context = Arc::clone(&context);
    let mut served = Served {
        receiving: ReceivingRequests::Thrift(requests),
        sending: SendingReplies::Thrift(replies),
        ended: None,
    };
    let outcome = run(session, found, &context, &mut served, unwanted).await;
    let Served { sending: SendingReplies::Thrift(mut replies), ended, .. } = served else { return };
    match outcome {
        Outcome::Unwanted => {}
        Outcome::TooLate => replies.reset().await,
        Outcome::Over(Ok(())) => replies.finish(ended.unwrap_or(Ended::Well(None))).await,
        Outcome::Over(Err(error)) => replies.finish(Ended::Failed(error)).await,
    }
}

/// Outcome of a handler.
enum Outcome {
    Over(Result<(), Error>),
    TooLate,
    Unwanted,
}

async fn run<S: AsyncServices>(
    session: &Session<S>,
    found: Found,
    context: &Context,
    served: &mut Served,
    mut unwanted: oneshot::Receiver<Infallible>,
) -> Outcome {
    let mut call = Call::of_async_stream(served);
    let mut running = pin!(caught(session.shared.dispatch(found, context, &mut call)));
    let panicked = |()| Err(Error::new(ExceptionKind::INTERNAL_ERROR, "the handler panicked"));
    let watched = poll_fn(|cx| match running.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(Outcome::Over(outcome.unwrap_or_else(panicked))),
        // The handler was polled first, so it has seen the stream's events.
        Poll::Pending => Pin::new(&mut unwanted).poll(cx).map(|_| Outcome::Unwanted),
    });
    match context.deadline() {
        None => watched.await,
        Some(deadline) => timeout_at(deadline.into(), watched).await.unwrap_or(Outcome::TooLate),
    }
}

impl Requests {
    pub(crate) async fn receive(&mut self) -> Result<Option<Body>, Error> {
        if self.has_ended {
            return Ok(None);
        }
        match self.inputs.recv().await {
            Some(Input::Message(message, place)) => {
                drop(place);
                Ok(Some(Body::Private(message)))
            }
            Some(Input::End) => {
                self.has_ended = true;
                Ok(None)
            }
            None => Err(Error::cancelled()),
        }
    }
}

impl Replies {
    fn new<S>(session: &Session<S>, opening: &Opening) -> Self {
        Self {
            frames: session.replies.clone(),
            writer: Writer::new(opening.stream, opening.method.clone()),
            context: Arc::new(Context::new(session.peer.clone(), session.carrier, None)),
            has_begun: false,
        }
    }

    pub(crate) async fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        let place = self.frames.reserve().await.map_err(|_| Error::cancelled())?;
        let mut bytes = Vec::with_capacity(message.len() + 64);
        if !self.has_begun {
            self.writer.header(self.context.take_reply_metadata(), &mut bytes)?;
        }
        self.writer.data(message, &mut bytes)?;
        self.has_begun = true;
        place.send(bytes);
        Ok(())
    }

    /// Ends the stream, with an error if `ended` cannot be encoded. Does nothing if the client is
    /// gone.
    async fn finish(&mut self, ended: Ended) {
        let Ok(place) = self.frames.reserve().await else { return };
        let texts = self.context.take_reply_metadata();
        place.send(self.writer.last(self.has_begun, ended, texts));
    }

    async fn reset(&mut self) {
        let Ok(place) = self.frames.reserve().await else { return };
        if let Ok(bytes) = self.writer.reset(TIMEOUT, "the stream's deadline passed") {
            place.send(bytes);
        }
    }
}
