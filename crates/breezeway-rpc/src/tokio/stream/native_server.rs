//! Streams of sessions on the serving side.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;

use breezeway::{ErrorCode, Message};
use breezeway_tokio::{ReceiveHalf, SendHalf, Stream};
use tokio::time::timeout_at;

use super::{ReceivingRequests, SendingReplies, Served};
use crate::call::Call;
use crate::context::Context;
use crate::error::Error;
use crate::metadata;
use crate::method::Method;
use crate::registry::Found;
use crate::stream::{Body, Ended, outcome};
use crate::thrift::ExceptionKind;
use crate::tokio::{AsyncServices, Shared, caught};

/// The client's direction.
pub(crate) struct Requests {
    half: ReceiveHalf,
    /// The message that came with the stream's first entry.
    first: Option<Message>,
}

/// The server's direction.
pub(crate) struct Replies {
    half: Arc<Mutex<SendHalf>>,
    context: Arc<Context>,
    /// Metadata for the first message.
    block: Option<Vec<u8>>,
    has_begun: bool,
}

impl Requests {
    pub(super) async fn receive(&mut self) -> Result<Option<Body>, Error> {
        if let Some(first) = self.first.take() {
            return Ok(Some(Body::Native(first)));
        }
        loop {
            match self.half.receive().await? {
                Some(message) if !message.is_message() => {}
                message => return Ok(message.map(Body::Native)),
            }
        }
    }

    /// Reads until the client ends, so that a client that has not yet read the stream's end is not
    /// reset.
    async fn drain(&mut self) {
        while let Ok(Some(_)) = self.half.receive().await {}
    }
}

fn lock(half: &Mutex<SendHalf>) -> MutexGuard<'_, SendHalf> {
    half.lock().expect("no panic under the lock")
}

impl Replies {
    pub(super) async fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        if !self.has_begun && self.block.is_none() {
            self.block = metadata::encode(&self.context.take_reply_metadata())?;
        }
        let block = self.block.as_deref();
        poll_fn(|cx| lock(&self.half).poll_entry(cx, Some(message), block, false)).await?;
        (self.has_begun, self.block) = (true, None);
        Ok(())
    }

    /// Ends the stream, or fails it with the error if a value or metadata is too long.
    async fn finish_or_fail(&mut self, ended: Ended) {
        if let Err(error) = self.finish(ended).await {
            let words = breezeway::describe(&error);
            let failed = self.finish(Ended::Failed(error)).await;
            if failed.is_err() {
                tracing::debug!(error = words, "a stream's client is gone before its end");
            }
        }
    }

    async fn finish(&mut self, ended: Ended) -> Result<(), Error> {
        let block = metadata::encode(&self.context.take_reply_metadata())?;
        let message = outcome::encode(ended)?;
        let (message, block) = (message.as_deref(), block.as_deref());
        Ok(poll_fn(|cx| lock(&self.half).poll_entry(cx, message, block, true)).await?)
    }
}

/// Serves one stream, for as long as its client wants it.
pub(crate) async fn serve_stream<S: AsyncServices>(
    shared: Arc<Shared<S>>,
    tag: u32,
    mut stream: Stream,
) {
    let Some((found, method)) = shared.registry.find(tag) else {
        return stream.reset(ErrorCode::NoSuchMethod);
    };
    match opened(&mut stream, method).await {
        Ok((context, first)) => serve(&shared, found, stream, context, first).await,
        Err(error) => {
            // A client that is gone needs no reason.
            let Ok(reason) = outcome::encode(Ended::Failed(error)) else { return };
            let _ = stream.sender().finish_with(reason.as_deref(), None).await;
            Requests { half: stream.split().1, first: None }.drain().await;
        }
    }
}

/// Returns the contents of the stream's first entry, which has already arrived: metadata, a
/// message, or neither.
async fn opened(stream: &mut Stream, method: &Method) -> Result<(Context, Option<Message>), Error> {
    let context = Context::new(stream.peer().clone(), stream.carrier(), stream.time_left());
    let receiver = stream.receiver();
    let first = match poll_fn(|cx| Poll::Ready(receiver.poll_receive(cx))).await {
        Poll::Ready(first) => first?,
        Poll::Pending => None,
    };
    method.check_stream()?;
    let context = context.with_block(first.as_ref().and_then(Message::metadata))?;
    Ok((context, first.filter(Message::is_message)))
}

async fn serve<S: AsyncServices>(
    shared: &Shared<S>,
    found: Found,
    stream: Stream,
    context: Context,
    first: Option<Message>,
) {
    let (send, receive) = stream.split();
    let (half, context) = (Arc::new(Mutex::new(send)), Arc::new(context));
    let replies = Replies {
        half: Arc::clone(&half),
        context: Arc::clone(&context),
        block: None,
        has_begun: false,
    };
    let mut served = Served {
        receiving: ReceivingRequests::Native(Requests { half: receive, first }),
        sending: SendingReplies::Native(replies),
        ended: None,
    };
    let Some(outcome) = run(shared, found, &context, &half, &mut served).await else { return };
    let Served { receiving, sending, ended } = served;
    let ended = match outcome {
        Ok(()) => ended.unwrap_or(Ended::Well(None)),
        Err(error) => Ended::Failed(error),
    };
    let (ReceivingRequests::Native(mut requests), SendingReplies::Native(mut replies)) =
        (receiving, sending)
    else {
        return;
    };
    replies.finish_or_fail(ended).await;
    let draining = requests.drain();
    match context.deadline() {
        Some(deadline) => drop(timeout_at(deadline.into(), draining).await),
        None => draining.await,
    }
}

/// Runs the handler; `None` if its client no longer wants the stream.
async fn run<S: AsyncServices>(
    shared: &Shared<S>,
    found: Found,
    context: &Context,
    half: &Mutex<SendHalf>,
    served: &mut Served,
) -> Option<Result<(), Error>> {
    let mut call = Call::of_async_stream(served);
    let mut running = pin!(caught(shared.dispatch(found, context, &mut call)));
    let watched = poll_fn(|cx| match running.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        // The handler was polled first, so it has seen the stream's events.
        Poll::Pending => lock(half).poll_reset(cx).map(|_| None),
    });
    let outcome = match context.deadline() {
        None => watched.await,
        Some(deadline) => timeout_at(deadline.into(), watched).await.unwrap_or_else(|_| {
            lock(half).reset(ErrorCode::DeadlinePassed);
            None
        }),
    };
    let panicked = |()| Err(Error::new(ExceptionKind::INTERNAL_ERROR, "the handler panicked"));
    outcome.map(|outcome| outcome.unwrap_or_else(panicked))
}
