//! Methods with any number of messages from the client, from the server, or from both.
//!
//! Natively each message is an entry of a stream: a bare struct. The client's end is the end of its
//! direction. The server's last entry has its last message, nothing, or an [`outcome`], the error
//! of the method.

mod calling;
mod client;
mod native;
mod native_server;
pub(crate) mod outcome;
mod serving;

use breezeway::{ForeignBytes, Message};

use crate::bytes::decode;
use crate::call::{Call, Kind, other_way};
use crate::caller::Outcome;
use crate::error::Error;
use crate::reply::Reply;
use crate::thrift::{self, Decode, Encode, to_vec};

pub use calling::{Opened, StreamChannel};
pub(crate) use calling::{ReceivingReplies, SendingRequests};
pub use client::{DuplexStream, ReplyStream, RequestSender, RequestStream};
pub(crate) use native_server::serve;
pub(crate) use serving::{ReceivingRequests, SendingReplies, Served};
pub use serving::{Replies, Requests};

/// End of a method.
pub(crate) enum Ended {
    /// Success, with the value of a method that returns one.
    Well(Option<Vec<u8>>),
    /// An exception that the IDL declares: the reply with it, and its message.
    Thrown(Vec<u8>, String),
    /// An error that the IDL does not declare.
    Failed(Error),
}

impl Ended {
    /// Converts the result of a method without a value.
    pub(crate) fn of<R: Reply<Value = ()>>(result: Result<(), R::Error>) -> Result<Self, Error> {
        match result {
            Ok(()) => Ok(Self::Well(None)),
            Err(error) => Self::thrown::<R>(error),
        }
    }

    /// Converts the result of a method with one value.
    pub(crate) fn with<R: Reply<Value: Encode>>(
        result: Result<R::Value, R::Error>,
    ) -> Result<Self, Error> {
        match result {
            Ok(value) => Ok(Self::Well(Some(to_vec(&value)?))),
            Err(error) => Self::thrown::<R>(error),
        }
    }

    fn thrown<R: Reply>(error: R::Error) -> Result<Self, Error> {
        let words = error.to_string();
        let reply = R::from_result(Err(error))?;
        Ok(Self::Thrown(to_vec(&reply)?, words))
    }
}

/// Next event of a stream at its client.
pub(crate) enum Received {
    /// A message.
    Message(Body),
    /// The reply with the exception that ended the method.
    Thrown(Body),
    /// The end.
    End,
}

/// The bytes of a message.
pub(crate) enum Body {
    /// A session's message, possibly in memory that its peer may change.
    Native(Message),
    /// A socket's message, or a part of a message.
    Private(Vec<u8>),
}

impl Body {
    pub(crate) fn bytes(&self) -> ForeignBytes<'_> {
        match self {
            Self::Native(message) => message.bytes(),
            Self::Private(bytes) => ForeignBytes::stable(bytes),
        }
    }

    /// Decodes a request.
    pub(crate) fn request<M: Decode>(&self) -> Result<M, Error> {
        decode(self.bytes()).map_err(Error::Arguments)
    }

    /// Decodes a server's message.
    pub(crate) fn reply<M: Decode>(&self) -> Result<M, Error> {
        decode(self.bytes()).map_err(Error::Reply)
    }
}

impl Received {
    /// Returns the next of a stream of replies, `None` after the last, or the method's error.
    pub(crate) fn next<M: Decode, R: Reply>(self) -> Result<Option<M>, R::Error> {
        match self {
            Self::Message(body) => Ok(Some(body.reply()?)),
            Self::Thrown(body) => Err(thrown::<R>(&body)),
            Self::End => Ok(None),
        }
    }

    /// Returns the only value of the method, or its error.
    pub(crate) fn value<R: Reply<Value: Decode>>(self) -> Result<R::Value, R::Error> {
        match self {
            Self::Message(body) => Ok(body.reply()?),
            Self::Thrown(body) => Err(thrown::<R>(&body)),
            Self::End => Err(Error::MissingResult.into()),
        }
    }
}

fn thrown<R: Reply>(body: &Body) -> R::Error {
    match body.reply::<R>().map(R::into_result) {
        Ok(Err(error)) => error,
        // An exception unknown to this side.
        Ok(Ok(_)) => Error::MissingResult.into(),
        Err(error) => error.into(),
    }
}

impl Call<'_> {
    /// Ends a stream of replies with the result of the method.
    pub fn end<A>(&mut self, result: Outcome<A>) -> Result<(), Error>
    where
        A: thrift::Call<Reply: Reply<Value = ()>>,
    {
        self.set_end(Ended::of::<A::Reply>(result)?)
    }

    /// Ends a stream of requests with the result of the method.
    pub fn end_with<A>(&mut self, result: Outcome<A>) -> Result<(), Error>
    where
        A: thrift::Call<Reply: Reply<Value: Encode>>,
    {
        self.set_end(Ended::with::<A::Reply>(result)?)
    }

    fn set_end(&mut self, ended: Ended) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Call(_) => return Err(other_way()),
            Kind::Stream(served) => served.ended = Some(ended),
            #[cfg(feature = "tokio")]
            Kind::AsyncStream(served) => served.ended = Some(ended),
        }
        Ok(())
    }
}
