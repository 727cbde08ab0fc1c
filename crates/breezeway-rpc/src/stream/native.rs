//! Streams of sessions on the opening side.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use breezeway::{Client, ErrorCode, Message, ReceiveHalf, SendHalf, Session, Stream, StreamError};

use super::{Body, Opened, Received, ReceivingReplies, SendingRequests, StreamChannel, outcome};
use crate::caller::{Block, CallOptions};
use crate::channel::{with_block, within_options};
use crate::error::Error;
use crate::metadata::ReplyMetadata;
use crate::method::Method;

/// The client's direction.
pub(crate) struct Requests {
    half: SendHalf,
    deadline: Option<Instant>,
    has_ended: Arc<AtomicBool>,
}

/// The server's direction.
pub(crate) struct Replies {
    half: ReceiveHalf,
    deadline: Option<Instant>,
    /// True once the server's last entry was received.
    has_ended: Arc<AtomicBool>,
    /// Destination of received metadata.
    metadata: Option<ReplyMetadata>,
}

impl StreamChannel for Session {
    fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<Opened, Error> {
        let open = |block: &Block<'_>| Ok(within_options(self.request(method.tag), block).open()?);
        Opened::new(with_block(options, open)?, request, options)
    }
}

impl StreamChannel for Client {
    fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<Opened, Error> {
        let open = |block: &Block<'_>| Ok(within_options(self.request(method.tag), block).open()?);
        Opened::new(with_block(options, open)?, request, options)
    }
}

impl Opened {
    /// Returns the typed directions of a stream, on which the client's only message is sent.
    fn new(
        mut stream: Stream,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<Self, Error> {
        if let Some(request) = request {
            stream.sender().finish_with(Some(request), None)?;
        }
        options.received(None)?;
        let deadline = options.deadline();
        let (send, receive) = stream.split();
        let has_ended = Arc::new(AtomicBool::new(false));
        let metadata = options.reply.clone();
        let requests = Requests { half: send, deadline, has_ended: Arc::clone(&has_ended) };
        let replies = Replies { half: receive, deadline, has_ended, metadata };
        Ok(Self {
            sending: SendingRequests::Native(requests),
            receiving: ReceivingReplies::Native(replies),
        })
    }
}

impl Requests {
    pub(super) fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        self.check()?;
        let sent = match self.deadline {
            None => self.half.send(message),
            Some(deadline) => self.half.send_until(message, deadline),
        };
        sent.map_err(|error| self.failed(error))
    }

    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.check()?;
        Ok(self.half.finish()?)
    }

    fn check(&self) -> Result<(), Error> {
        let has_ended = self.has_ended.load(Ordering::Acquire);
        if has_ended { Err(Error::StreamEnded) } else { Ok(()) }
    }

    fn failed(&mut self, error: StreamError) -> Error {
        if matches!(error, StreamError::DeadlinePassed(_)) {
            self.half.reset(ErrorCode::DeadlinePassed);
        }
        error.into()
    }
}

impl Replies {
    pub(super) fn receive(&mut self) -> Result<Received, Error> {
        while !self.has_ended.load(Ordering::Acquire) {
            let received = match self.deadline {
                None => self.half.receive(),
                Some(deadline) => self.half.receive_until(deadline),
            };
            if let Err(StreamError::DeadlinePassed(_)) = received {
                self.half.reset(ErrorCode::DeadlinePassed);
            }
            if let Some(received) = self.take(received).transpose() {
                return received;
            }
        }
        Ok(Received::End)
    }

    /// Returns the next event, if it has arrived.
    pub(super) fn try_receive(&mut self) -> Option<Result<Received, Error>> {
        let mut cx = Context::from_waker(Waker::noop());
        while !self.has_ended.load(Ordering::Acquire) {
            let Poll::Ready(received) = self.half.poll_receive(&mut cx) else { return None };
            if let Some(received) = self.take(received).transpose() {
                return Some(received);
            }
        }
        Some(Ok(Received::End))
    }

    /// Returns the event of an entry; `None` if it had only metadata.
    fn take(
        &mut self,
        received: Result<Option<Message>, StreamError>,
    ) -> Result<Option<Received>, Error> {
        let Some(message) = received? else {
            self.end();
            return Ok(Some(Received::End));
        };
        if let Some(metadata) = &self.metadata {
            metadata.add_block(message.metadata())?;
        }
        if let Some(outcome) = outcome::read(message.bytes()) {
            self.end();
            return outcome.map(Some);
        }
        Ok(message.is_message().then(|| Received::Message(Body::Native(message))))
    }

    fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }
}
