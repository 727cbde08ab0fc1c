//! Streams of sessions on the opening side.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use breezeway::{CallError, ErrorCode};
use breezeway_tokio::{Client, ReceiveHalf, SendHalf, Session, Stream};
use tokio::time::timeout_at;

use super::{AsyncStreamChannel, OpenedAsync, ReceivingReplies, SendingRequests};
use crate::caller::CallOptions;
use crate::error::Error;
use crate::metadata::ReplyMetadata;
use crate::method::Method;
use crate::stream::{Body, Received, outcome};
use crate::tokio::channel::within_options;

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

impl AsyncStreamChannel for Session {
    async fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<OpenedAsync, Error> {
        let mut block = options.block()?;
        options.took(self.carrier());
        loop {
            let opening = within_options(self.request(method.tag), &block);
            match opening.open_with(request, request.is_some()).await {
                Ok(stream) => return OpenedAsync::new(stream, options),
                Err(error) => block.shorten(error.into())?,
            }
        }
    }
}

impl AsyncStreamChannel for Client {
    async fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<OpenedAsync, Error> {
        let mut block = options.block()?;
        loop {
            let opening = within_options(self.request(method.tag), &block);
            let opened = opening.open_with(request, request.is_some()).await;
            options.took(self.carrier());
            match opened {
                Ok(stream) => return OpenedAsync::new(stream, options),
                Err(error) => block.shorten(error.into())?,
            }
        }
    }
}

impl OpenedAsync {
    /// Returns the typed directions of a stream.
    fn new(stream: Stream, options: &CallOptions) -> Result<Self, Error> {
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
    pub(super) async fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        self.check()?;
        match until(self.deadline, self.half.send(message)).await {
            Some(sent) => Ok(sent?),
            None => Err(self.give_up()),
        }
    }

    pub(super) async fn finish(&mut self) -> Result<(), Error> {
        self.check()?;
        match until(self.deadline, self.half.finish()).await {
            Some(sent) => Ok(sent?),
            None => Err(self.give_up()),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let has_ended = self.has_ended.load(Ordering::Acquire);
        if has_ended { Err(Error::StreamEnded) } else { Ok(()) }
    }

    fn give_up(&mut self) -> Error {
        self.half.reset(ErrorCode::DeadlinePassed);
        CallError::DeadlinePassed.into()
    }
}

impl Replies {
    pub(super) async fn receive(&mut self) -> Result<Received, Error> {
        while !self.has_ended.load(Ordering::Acquire) {
            let Some(received) = until(self.deadline, self.half.receive()).await else {
                self.half.reset(ErrorCode::DeadlinePassed);
                return Err(CallError::DeadlinePassed.into());
            };
            let Some(message) = received? else {
                self.end();
                break;
            };
            if let Some(metadata) = &self.metadata {
                metadata.add_block(message.metadata())?;
            }
            if let Some(outcome) = outcome::read(message.bytes()) {
                self.end();
                return outcome;
            }
            if message.is_message() {
                return Ok(Received::Message(Body::Native(message)));
            }
        }
        Ok(Received::End)
    }

    fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }
}

/// Returns the result of `work`, if it ends before the deadline.
pub(crate) async fn until<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = T>,
) -> Option<T> {
    match deadline {
        None => Some(work.await),
        Some(deadline) => timeout_at(deadline.into(), work).await.ok(),
    }
}
