//! Streams of sessions, served by a thread for each.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use breezeway::{CallError, ErrorCode, Message, ReceiveHalf, SendHalf, Stream};

use super::{Body, Ended, ReceivingRequests, SendingReplies, Served, outcome};
use crate::context::Context;
use crate::error::Error;
use crate::metadata;
use crate::method::Method;
use crate::server::Services;

/// Time for a client to end its direction of a stream after the handler has ended, before it is
/// reset: a client that never does would keep a thread.
const FAREWELL: Duration = Duration::from_secs(1);

/// The client's direction.
pub(crate) struct Requests {
    half: ReceiveHalf,
    /// The message that came with the stream's first entry.
    first: Option<Message>,
    deadline: Option<Instant>,
}

/// The server's direction.
pub(crate) struct Replies {
    half: SendHalf,
    context: Arc<Context>,
    /// Metadata for the first message.
    block: Option<Vec<u8>>,
    has_begun: bool,
}

impl Requests {
    pub(super) fn receive(&mut self) -> Result<Option<Body>, Error> {
        if let Some(first) = self.first.take() {
            return Ok(Some(Body::Native(first)));
        }
        loop {
            match self.next()? {
                Some(message) if !message.is_message() => {}
                message => return Ok(message.map(Body::Native)),
            }
        }
    }

    fn next(&mut self) -> Result<Option<Message>, Error> {
        Ok(match self.deadline {
            None => self.half.receive()?,
            Some(deadline) => self.half.receive_until(deadline)?,
        })
    }

    /// Reads for a while, so that a client which is about to end is not reset. A reset behind the
    /// end does not affect sent messages.
    pub(super) fn drain(&mut self) {
        let farewell = Instant::now() + FAREWELL;
        self.deadline = Some(self.deadline.map_or(farewell, |deadline| deadline.min(farewell)));
        while let Ok(Some(_)) = self.next() {}
    }
}

impl Replies {
    pub(super) fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        if !self.has_begun && self.block.is_none() {
            self.block = metadata::encode(&self.context.take_reply_metadata())?;
        }
        let (block, deadline) = (self.block.as_deref(), self.context.deadline());
        self.half.send_entry(Some(message), block, false, deadline)?;
        (self.has_begun, self.block) = (true, None);
        Ok(())
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.half.is_reset()
    }

    pub(super) fn wait_cancelled(&mut self, deadline: Instant) -> bool {
        self.half.wait_reset_until(deadline)
    }

    /// Ends the stream, or fails it with the error if a value or metadata is too long.
    pub(super) fn end(&mut self, ended: Ended) {
        let is_late = self.context.time_left().is_some_and(|left| left.is_zero());
        if let (true, Ended::Failed(Error::Call(CallError::DeadlinePassed))) = (is_late, &ended) {
            return self.half.reset(ErrorCode::DeadlinePassed);
        }
        if let Err(error) = self.finish(ended) {
            let words = breezeway::describe(&error);
            if self.finish(Ended::Failed(error)).is_err() {
                tracing::debug!(error = words, "a stream's client is gone before its end");
            }
        }
    }

    fn finish(&mut self, ended: Ended) -> Result<(), Error> {
        let block = metadata::encode(&self.context.take_reply_metadata())?;
        let (message, deadline) = (outcome::encode(ended)?, self.context.deadline());
        Ok(self.half.send_entry(message.as_deref(), block.as_deref(), true, deadline)?)
    }
}

/// Serves one stream to its end.
pub(crate) fn serve(services: &Services, tag: u32, mut stream: Stream) {
    let Some((found, method)) = services.registry.find(tag) else {
        return stream.reset(ErrorCode::NoSuchMethod);
    };
    let (context, first) = match opened(&mut stream, method) {
        Ok(opened) => opened,
        Err(error) => return refuse(stream, error),
    };
    let (deadline, context) = (context.deadline(), Arc::new(context));
    let (send, receive) = stream.split();
    let sent = Arc::clone(&context);
    let replies = Replies { half: send, context: sent, block: None, has_begun: false };
    let served = Served {
        receiving: ReceivingRequests::Native(Requests { half: receive, first, deadline }),
        sending: SendingReplies::Native(replies),
        ended: None,
    };
    served.serve(services, found, &context);
}

/// Refuses a stream, with the reason.
fn refuse(mut stream: Stream, error: Error) {
    let deadline = stream.time_left().and_then(|left| Instant::now().checked_add(left));
    // A client that is gone needs no reason.
    let Ok(reason) = outcome::encode(Ended::Failed(error)) else { return };
    let _ = stream.sender().send_entry(reason.as_deref(), None, true, deadline);
    Requests { half: stream.split().1, first: None, deadline }.drain();
}

/// Returns the contents of the stream's first entry, which has already arrived: metadata, a
/// message, or neither.
fn opened(stream: &mut Stream, method: &Method) -> Result<(Context, Option<Message>), Error> {
    let context = Context::new(stream.peer().clone(), stream.carrier(), stream.time_left());
    let mut cx = std::task::Context::from_waker(Waker::noop());
    let first = match stream.receiver().poll_receive(&mut cx) {
        Poll::Ready(first) => first?,
        Poll::Pending => None,
    };
    method.check_stream()?;
    let context = context.with_block(first.as_ref().and_then(Message::metadata))?;
    Ok((context, first.filter(Message::is_message)))
}
