//! Opening of streams by clients that await, and the bytes of both directions.

use std::future::Future;

use super::native_client;
use crate::caller::{CallOptions, Caller};
use crate::error::Error;
use crate::kitex::tokio::stream as thrift;
use crate::method::Method;
use crate::spans::CallSpan;
use crate::stream::Received;
use crate::thrift::{Encode, to_vec};
use crate::tokio::AsyncChannel;
use crate::tokio::stream::{AsyncDuplexStream, AsyncReplyStream, AsyncRequestStream};

/// Carries streams to a server for tasks: a [`breezeway_tokio::Client`], a
/// [`breezeway_tokio::Session`], or for servers of Kitex an
/// [`AsyncThriftClient`](crate::AsyncThriftClient).
pub trait AsyncStreamChannel: AsyncChannel {
    /// Opens a stream, with the client's only message if there is only one.
    fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> impl Future<Output = Result<OpenedAsync, Error>> + Send;
}

impl<C: AsyncStreamChannel> AsyncStreamChannel for &C {
    async fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<OpenedAsync, Error> {
        (**self).open(method, request, options).await
    }
}

/// A stream of bytes, the base of a client's typed one.
pub struct OpenedAsync {
    pub(crate) sending: SendingRequests,
    pub(crate) receiving: ReceivingReplies,
}

/// Destination of requests.
pub(crate) enum SendingRequests {
    Native(native_client::Requests),
    Thrift(thrift::Requests),
}

/// Source of replies.
pub(crate) enum ReceivingReplies {
    Native(native_client::Replies),
    Thrift(thrift::Replies),
}

impl SendingRequests {
    pub(crate) async fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        match self {
            Self::Native(requests) => requests.send(message).await,
            Self::Thrift(requests) => requests.send(message).await,
        }
    }

    pub(crate) async fn finish(&mut self) -> Result<(), Error> {
        match self {
            Self::Native(requests) => requests.finish().await,
            Self::Thrift(requests) => requests.finish().await,
        }
    }
}

impl ReceivingReplies {
    /// Waits for the next event. Dropping the future loses none.
    pub(crate) async fn receive(&mut self) -> Result<Received, Error> {
        match self {
            Self::Native(replies) => replies.receive().await,
            Self::Thrift(replies) => replies.receive().await,
        }
    }
}

/// Source of replies, and the span of the stream, which their end ends.
pub(crate) struct TracedReplies {
    receiving: ReceivingReplies,
    span: CallSpan,
}

impl TracedReplies {
    /// Waits for the next event. Dropping the future loses none.
    pub(super) async fn receive(&mut self) -> Result<Received, Error> {
        let received = self.receiving.receive().await;
        if !matches!(received, Ok(Received::Message(_))) {
            self.span.end(&received);
        }
        received
    }
}

/// The directions of an opened stream.
pub(super) type Directions = (SendingRequests, TracedReplies);

impl<C: AsyncStreamChannel> Caller<C> {
    /// Opens a stream of requests.
    pub async fn request_stream_async<Q, R>(
        &self,
        method: &Method,
    ) -> Result<AsyncRequestStream<Q, R>, Error> {
        Ok(AsyncRequestStream::new(self.open_async(method, None).await?))
    }

    /// Opens a stream of replies.
    pub async fn reply_stream_async<Q: Encode + Sync, M, R>(
        &self,
        method: &Method,
        request: &Q,
    ) -> Result<AsyncReplyStream<M, R>, Error> {
        let request = to_vec(request)?;
        Ok(AsyncReplyStream::new(self.open_async(method, Some(&request)).await?))
    }

    /// Opens a stream of both.
    pub async fn duplex_stream_async<Q, M, R>(
        &self,
        method: &Method,
    ) -> Result<AsyncDuplexStream<Q, M, R>, Error> {
        Ok(AsyncDuplexStream::new(self.open_async(method, None).await?))
    }

    /// Opens a stream within its span.
    async fn open_async(
        &self,
        method: &Method,
        request: Option<&[u8]>,
    ) -> Result<Directions, Error> {
        let mut span = CallSpan::of_client(method);
        let opened = span.within(self.channel.open(method, request, &self.options)).await;
        if opened.is_err() {
            span.end(&opened);
        }
        let OpenedAsync { sending, receiving } = opened?;
        Ok((sending, TracedReplies { receiving, span }))
    }
}
