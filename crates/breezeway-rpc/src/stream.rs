//! Methods of which a side sends any number of messages.
//!
//! Natively each message is an entry of a stream: a bare struct. The client's end is the end of its
//! direction. The server's last entry has its last message, nothing, or an [`outcome`], which says
//! why the method failed.

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

/// What a method ended with.
pub(crate) enum Ended {
    /// All is well; for one that gives one value, that.
    Well(Option<Vec<u8>>),
    /// An exception that the IDL declares: the reply that says so, and its words.
    Thrown(Vec<u8>, String),
    /// An error that it does not declare.
    Failed(Error),
}

impl Ended {
    /// What a method ended with that gives no value at its end.
    pub(crate) fn of<R: Reply<Value = ()>>(result: Result<(), R::Error>) -> Result<Self, Error> {
        match result {
            Ok(()) => Ok(Self::Well(None)),
            Err(error) => Self::thrown::<R>(error),
        }
    }

    /// What a method ended with that gives one value.
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

/// What a client gets next of a stream.
pub(crate) enum Received {
    /// A message.
    Message(Body),
    /// The reply that says which exception the method ended with.
    Thrown(Body),
    /// Nothing more.
    End,
}

/// The bytes of a message.
pub(crate) enum Body {
    /// Of a session: maybe in memory that its peer may change.
    Native(Message),
    /// Of a socket, or a part of a message.
    Private(Vec<u8>),
}

impl Body {
    pub(crate) fn bytes(&self) -> ForeignBytes<'_> {
        match self {
            Self::Native(message) => message.bytes(),
            Self::Private(bytes) => ForeignBytes::stable(bytes),
        }
    }

    /// A request's message.
    pub(crate) fn request<M: Decode>(&self) -> Result<M, Error> {
        decode(self.bytes()).map_err(Error::Arguments)
    }

    /// A message that a server sent.
    pub(crate) fn reply<M: Decode>(&self) -> Result<M, Error> {
        decode(self.bytes()).map_err(Error::Reply)
    }
}

impl Received {
    /// The next of a stream of replies, nothing after the last, or why the method failed.
    pub(crate) fn next<M: Decode, R: Reply>(self) -> Result<Option<M>, R::Error> {
        match self {
            Self::Message(body) => Ok(Some(body.reply()?)),
            Self::Thrown(body) => Err(thrown::<R>(&body)),
            Self::End => Ok(None),
        }
    }

    /// The one value that the method gave, or why it failed.
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
        // An exception that this side does not know.
        Ok(Ok(_)) => Error::MissingResult.into(),
        Err(error) => error.into(),
    }
}

impl Call<'_> {
    /// Ends a stream of replies with what the method gave.
    pub fn end<A>(&mut self, result: Outcome<A>) -> Result<(), Error>
    where
        A: thrift::Call<Reply: Reply<Value = ()>>,
    {
        self.set_end(Ended::of::<A::Reply>(result)?)
    }

    /// Ends a stream of requests with what the method gave.
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
