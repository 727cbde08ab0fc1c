//! A handler's halves of a stream.

use std::marker::PhantomData;

use super::native_server;
use crate::call::{Call, Kind, other_way};
use crate::error::Error;
use crate::kitex::tokio::stream as thrift;
use crate::stream::{Body, Ended};
use crate::thrift::{Decode, Encode, ExceptionKind, to_vec};

/// A stream that is being served.
pub(crate) struct Served {
    pub(crate) receiving: ReceivingRequests,
    pub(crate) sending: SendingReplies,
    /// End of the method.
    pub(crate) ended: Option<Ended>,
}

/// Source of requests.
pub(crate) enum ReceivingRequests {
    Native(native_server::Requests),
    Thrift(thrift::ServedRequests),
}

/// Destination of replies.
pub(crate) enum SendingReplies {
    Native(native_server::Replies),
    Thrift(thrift::ServedReplies),
}

impl ReceivingRequests {
    async fn receive(&mut self) -> Result<Option<Body>, Error> {
        match self {
            Self::Native(requests) => requests.receive().await,
            Self::Thrift(requests) => requests.receive().await,
        }
    }
}

impl SendingReplies {
    async fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        match self {
            Self::Native(replies) => replies.send(message).await,
            Self::Thrift(replies) => replies.send(message).await,
        }
    }
}

/// The messages that a client sends on a stream.
pub struct AsyncRequests<'s, M> {
    receiving: &'s mut ReceivingRequests,
    messages: PhantomData<fn() -> M>,
}

/// Destination of a handler's messages.
pub struct AsyncReplies<'s, M> {
    sending: &'s mut SendingReplies,
    messages: PhantomData<fn(M)>,
}

impl<M: Decode> AsyncRequests<'_, M> {
    /// Waits for the client's next message; `None` after its last. The client sends at most the
    /// stream's window ahead.
    ///
    /// It is an error if the client no longer wants the stream or is gone, or if a message cannot
    /// be read. Dropping the future loses no message.
    pub async fn receive(&mut self) -> Result<Option<M>, Error> {
        self.receiving.receive().await?.map(|body| body.request()).transpose()
    }
}

impl<M: Encode> AsyncReplies<'_, M> {
    /// Sends a message. Waits while the client does not read.
    ///
    /// Reply metadata that was set
    /// ([`Context::set_reply_metadata`](crate::Context::set_reply_metadata)) before the first
    /// message travels with it, later values with the stream's end.
    pub async fn send(&mut self, message: &M) -> Result<(), Error> {
        self.sending.send(&to_vec(message)?).await
    }
}

impl<'c> Call<'c> {
    pub(crate) fn of_async_stream(served: &'c mut Served) -> Self {
        Self { kind: Kind::AsyncStream(served) }
    }

    fn async_served(&mut self) -> Result<&mut Served, Error> {
        match &mut self.kind {
            Kind::AsyncStream(served) => Ok(served),
            _ => Err(other_way()),
        }
    }

    /// Returns the client's messages, for a handler that awaits.
    pub fn requests_async<M>(&mut self) -> Result<AsyncRequests<'_, M>, Error> {
        let receiving = &mut self.async_served()?.receiving;
        Ok(AsyncRequests { receiving, messages: PhantomData })
    }

    /// Returns the destination of messages, for a handler that awaits.
    pub fn replies_async<M>(&mut self) -> Result<AsyncReplies<'_, M>, Error> {
        let sending = &mut self.async_served()?.sending;
        Ok(AsyncReplies { sending, messages: PhantomData })
    }

    /// Returns both, for a handler that awaits.
    pub fn halves_async<Q, M>(
        &mut self,
    ) -> Result<(AsyncRequests<'_, Q>, AsyncReplies<'_, M>), Error> {
        let Served { receiving, sending, .. } = self.async_served()?;
        let requests = AsyncRequests { receiving, messages: PhantomData };
        Ok((requests, AsyncReplies { sending, messages: PhantomData }))
    }

    /// Returns the client's only message, for a handler that awaits.
    pub async fn request_async<M: Decode>(&mut self) -> Result<M, Error> {
        let request = self.requests_async()?.receive().await?;
        request.ok_or_else(|| Error::new(ExceptionKind::PROTOCOL_ERROR, "the request is missing"))
    }
}
