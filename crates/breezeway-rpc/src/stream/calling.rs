//! Opening of streams by blocking clients, and the bytes of both directions.

use super::{DuplexStream, Received, ReplyStream, RequestStream, native};
use crate::caller::{CallOptions, Caller};
use crate::channel::Channel;
use crate::error::Error;
use crate::kitex::stream as thrift;
use crate::method::Method;
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

impl<C: StreamChannel> Caller<C> {
    /// Opens a stream of requests.
    pub fn request_stream<Q, R>(&self, method: &Method) -> Result<RequestStream<Q, R>, Error> {
        Ok(RequestStream::new(self.channel.open(method, None, &self.options)?))
    }

    /// Opens a stream of replies.
    pub fn reply_stream<Q: Encode, M, R>(
        &self,
        method: &Method,
        request: &Q,
    ) -> Result<ReplyStream<M, R>, Error> {
        let request = to_vec(request)?;
        Ok(ReplyStream::new(self.channel.open(method, Some(&request), &self.options)?))
    }

    /// Opens a stream of both.
    pub fn duplex_stream<Q, M, R>(&self, method: &Method) -> Result<DuplexStream<Q, M, R>, Error> {
        Ok(DuplexStream::new(self.channel.open(method, None, &self.options)?))
    }
}
