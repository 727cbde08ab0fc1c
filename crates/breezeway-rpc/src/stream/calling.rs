//! Opening of streams by blocking clients, and the bytes of both directions.

use super::{DuplexStream, Received, ReplyStream, RequestStream, native};
use crate::caller::{CallOptions, Caller};
use crate::channel::Channel;
use crate::error::Error;
use crate::kitex::stream as thrift;
use crate::method::Method;
use crate::spans::CallSpan;
use crate::thrift::{Encode, to_vec};

/// Carries streams to a server: a [`breezeway::Client`], a [`breezeway::Session`], or for servers
/// of Kitex a [`ThriftClient`](crate::ThriftClient). A session of one caller, and a pool of such,
/// carry none.
pub trait StreamChannel: Channel {
    /// Opens a stream, with the client's only message if there is only one.
    fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<Opened, Error>;
}

impl<C: StreamChannel> StreamChannel for &C {
    fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<Opened, Error> {
        (**self).open(method, request, options)
    }
}

/// A stream of bytes, the base of a client's typed one.
pub struct Opened {
    pub(crate) sending: SendingRequests,
    pub(crate) receiving: ReceivingReplies,
}

/// Destination of requests.
pub(crate) enum SendingRequests {
    Native(native::Requests),
    Thrift(thrift::Requests),
}

/// Source of replies.
pub(crate) enum ReceivingReplies {
    Native(native::Replies),
    Thrift(thrift::Replies),
}

impl SendingRequests {
    pub(crate) fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        match self {
            Self::Native(requests) => requests.send(message),
            Self::Thrift(requests) => requests.send(message),
        }
    }

    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        match self {
            Self::Native(requests) => requests.finish(),
            Self::Thrift(requests) => requests.finish(),
        }
    }
}

impl ReceivingReplies {
    /// Waits for the next event.
    pub(crate) fn receive(&mut self) -> Result<Received, Error> {
        match self {
            Self::Native(replies) => replies.receive(),
            Self::Thrift(replies) => replies.receive(),
        }
    }

    /// Returns the next event, if it has arrived.
    pub(crate) fn try_receive(&mut self) -> Option<Result<Received, Error>> {
        match self {
            Self::Native(replies) => replies.try_receive(),
            Self::Thrift(replies) => replies.try_receive(),
        }
    }
}

/// Source of replies, and the span of the stream, which their end ends.
pub(crate) struct TracedReplies {
    receiving: ReceivingReplies,
    span: CallSpan,
}

impl TracedReplies {
    /// Waits for the next event.
    pub(super) fn receive(&mut self) -> Result<Received, Error> {
        let received = self.receiving.receive();
        self.notice(&received);
        received
    }

    /// Returns the next event, if it has arrived.
    pub(super) fn try_receive(&mut self) -> Option<Result<Received, Error>> {
        let received = self.receiving.try_receive()?;
        self.notice(&received);
        Some(received)
    }

    fn notice(&mut self, received: &Result<Received, Error>) {
        if !matches!(received, Ok(Received::Message(_))) {
            self.span.end(received);
        }
    }
}

/// The directions of an opened stream.
pub(super) type Directions = (SendingRequests, TracedReplies);

impl<C: StreamChannel> Caller<C> {
    /// Opens a stream of requests.
    pub fn request_stream<Q, R>(&self, method: &Method) -> Result<RequestStream<Q, R>, Error> {
        Ok(RequestStream::new(self.open(method, None)?))
    }

    /// Opens a stream of replies.
    pub fn reply_stream<Q: Encode, M, R>(
        &self,
        method: &Method,
        request: &Q,
    ) -> Result<ReplyStream<M, R>, Error> {
        let request = to_vec(request)?;
        Ok(ReplyStream::new(self.open(method, Some(&request))?))
    }

    /// Opens a stream of both.
    pub fn duplex_stream<Q, M, R>(&self, method: &Method) -> Result<DuplexStream<Q, M, R>, Error> {
        Ok(DuplexStream::new(self.open(method, None)?))
    }

    /// Opens a stream within its span.
    fn open(&self, method: &Method, request: Option<&[u8]>) -> Result<Directions, Error> {
        let mut span = CallSpan::of_client(method);
        let opened = span.enter(|| self.channel.open(method, request, &self.options));
        if opened.is_err() {
            span.end(&opened);
        }
        let Opened { sending, receiving } = opened?;
        Ok((sending, TracedReplies { receiving, span }))
    }
}
