//! A client's end of a stream, typed.

use std::marker::PhantomData;

use super::calling::{Directions, TracedReplies};
use super::{Received, SendingRequests};
use crate::error::Error;
use crate::reply::Reply;
use crate::thrift::{Decode, Encode, to_vec};

/// A stream of requests, with one reply of the server.
///
/// Dropping it before [`Self::finish`] has returned cancels the stream, which its handler sees.
pub struct RequestStream<Q, R> {
    sender: RequestSender<Q>,
    receiving: TracedReplies,
    /// Event of the server received before this side had finished.
    early: Option<Result<Received, Error>>,
    reply: PhantomData<fn() -> R>,
}

/// A stream of replies to one request.
///
/// Dropping it before its end was received cancels the stream, which its handler sees.
pub struct ReplyStream<M, R> {
    receiving: TracedReplies,
    messages: PhantomData<fn() -> (M, R)>,
}

/// Direction in which a client sends.
pub struct RequestSender<Q> {
    sending: SendingRequests,
    messages: PhantomData<fn(Q)>,
}

/// A stream in both directions.
///
/// Dropping it before its end was received cancels the stream, which its handler sees.
pub struct DuplexStream<Q, M, R> {
    sender: RequestSender<Q>,
    replies: ReplyStream<M, R>,
}

impl<Q> RequestSender<Q> {
    fn new(sending: SendingRequests) -> Self {
        Self { sending, messages: PhantomData }
    }
}

impl<M, R> ReplyStream<M, R> {
    pub(super) fn new((_, receiving): Directions) -> Self {
        Self { receiving, messages: PhantomData }
    }
}

impl<M: Decode, R: Reply> ReplyStream<M, R> {
    /// Waits for the server's next message; `None` after its last. The server sends at most the
    /// stream's window ahead.
    ///
    /// An error is the method's, and the last event.
    pub fn receive(&mut self) -> Result<Option<M>, R::Error> {
        self.receiving.receive()?.next::<M, R>()
    }
}

impl<Q: Encode> RequestSender<Q> {
    /// Sends a message. Waits while the server's handler does not read.
    pub fn send(&mut self, message: &Q) -> Result<(), Error> {
        self.sending.send(&to_vec(message)?)
    }

    /// Ends this direction: the server's handler receives what was sent, and then the end.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.sending.finish()
    }
}

impl<Q, M, R> DuplexStream<Q, M, R> {
    pub(super) fn new((sending, receiving): Directions) -> Self {
        let replies = ReplyStream { receiving, messages: PhantomData };
        Self { sender: RequestSender::new(sending), replies }
    }

    /// Returns both directions, each for a thread of its own. The stream ends when both are
    /// dropped.
    pub fn split(self) -> (RequestSender<Q>, ReplyStream<M, R>) {
        (self.sender, self.replies)
    }
}

impl<Q: Encode, M: Decode, R: Reply> DuplexStream<Q, M, R> {
    /// Sends a message; see [`RequestSender::send`].
    pub fn send(&mut self, message: &Q) -> Result<(), Error> {
        self.sender.send(message)
    }

    /// Ends this direction; see [`RequestSender::finish`].
    pub fn finish(&mut self) -> Result<(), Error> {
        self.sender.finish()
    }

    /// Waits for a message; see [`ReplyStream::receive`].
    pub fn receive(&mut self) -> Result<Option<M>, R::Error> {
        self.replies.receive()
    }
}

impl<Q, R> RequestStream<Q, R> {
    pub(super) fn new((sending, receiving): Directions) -> Self {
        let sender = RequestSender::new(sending);
        Self { sender, receiving, early: None, reply: PhantomData }
    }
}

impl<Q: Encode, R: Reply<Value: Decode>> RequestStream<Q, R> {
    /// Sends a message. Waits while the server's handler does not read.
    ///
    /// A server that has already replied, or has failed, accepts no more messages
    /// ([`Error::StreamEnded`]): [`Self::finish`] then returns its reply or error.
    pub fn send(&mut self, message: &Q) -> Result<(), Error> {
        if self.early.is_none() {
            self.early = self.receiving.try_receive();
        }
        if self.early.is_some() {
            return Err(Error::StreamEnded);
        }
        self.sender.send(message)
    }

    /// Ends this direction and waits for the server's reply.
    pub fn finish(mut self) -> Result<R::Value, R::Error> {
        let first = match self.early {
            Some(early) => early?,
            None => {
                // The reason why it cannot be ended arrives next, too.
                let _ = self.sender.finish();
                self.receiving.receive()?
            }
        };
        if let Received::Message(_) = first {
            match self.receiving.receive()? {
                Received::End => {}
                // It failed after the value was sent.
                Received::Thrown(body) => return Received::Thrown(body).value::<R>(),
                Received::Message(_) => {
                    let words = "two values, where one was to come".to_owned();
                    return Err(Error::Protocol(words).into());
                }
            }
        }
        first.value::<R>()
    }
}
