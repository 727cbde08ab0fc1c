//! A client's end of a stream, typed.

use std::marker::PhantomData;

use super::{Opened, Received, ReceivingReplies, SendingRequests};
use crate::error::Error;
use crate::reply::Reply;
use crate::thrift::{Decode, Encode, to_vec};

/// A stream of requests, to which the server gives one value.
///
/// Dropped before [`Self::finish`] is over, the stream is cancelled, as its handler learns.
pub struct RequestStream<Q, R> {
    sender: RequestSender<Q>,
    receiving: ReceivingReplies,
    /// What the server said before this side had finished.
    early: Option<Result<Received, Error>>,
    reply: PhantomData<fn() -> R>,
}

/// A stream of replies to one request.
///
/// Dropped before its end has come, the stream is cancelled, as its handler learns.
pub struct ReplyStream<M, R> {
    receiving: ReceivingReplies,
    messages: PhantomData<fn() -> (M, R)>,
}

/// The direction in which a client sends.
pub struct RequestSender<Q> {
    sending: SendingRequests,
    messages: PhantomData<fn(Q)>,
}

/// A stream in both directions.
///
/// Dropped before its end has come, the stream is cancelled, as its handler learns.
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
    pub(super) fn new(opened: Opened) -> Self {
        Self { receiving: opened.receiving, messages: PhantomData }
    }
}

impl<M: Decode, R: Reply> ReplyStream<M, R> {
    /// Waits for the server's next message; nothing after its last. The server sends no more than
    /// the stream's window ahead.
    ///
    /// An error says why the method failed, and is its last word.
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
    pub(super) fn new(opened: Opened) -> Self {
        let Opened { sending, receiving } = opened;
        let replies = ReplyStream { receiving, messages: PhantomData };
        Self { sender: RequestSender::new(sending), replies }
    }

    /// Both directions, each for a thread of its own. The stream ends when both are dropped.
    pub fn split(self) -> (RequestSender<Q>, ReplyStream<M, R>) {
        (self.sender, self.replies)
    }
}

impl<Q: Encode, M: Decode, R: Reply> DuplexStream<Q, M, R> {
    /// As [`RequestSender::send`].
    pub fn send(&mut self, message: &Q) -> Result<(), Error> {
        self.sender.send(message)
    }

    /// As [`RequestSender::finish`].
    pub fn finish(&mut self) -> Result<(), Error> {
        self.sender.finish()
    }

    /// As [`ReplyStream::receive`].
    pub fn receive(&mut self) -> Result<Option<M>, R::Error> {
        self.replies.receive()
    }
}

impl<Q, R> RequestStream<Q, R> {
    pub(super) fn new(opened: Opened) -> Self {
        let Opened { sending, receiving } = opened;
        let sender = RequestSender::new(sending);
        Self { sender, receiving, early: None, reply: PhantomData }
    }
}

impl<Q: Encode, R: Reply<Value: Decode>> RequestStream<Q, R> {
    /// Sends a message. Waits while the server's handler does not read.
    ///
    /// A server that has given its value already, or has failed, takes no more
    /// ([`Error::StreamEnded`]): [`Self::finish`] then gives what it said.
    pub fn send(&mut self, message: &Q) -> Result<(), Error> {
        if self.early.is_none() {
            self.early = self.receiving.try_receive();
        }
        if self.early.is_some() {
            return Err(Error::StreamEnded);
        }
        self.sender.send(message)
    }

    /// Ends this direction and waits for the server's value.
    pub fn finish(mut self) -> Result<R::Value, R::Error> {
        let first = match self.early {
            Some(early) => early?,
            None => {
                // Why it cannot be ended comes next, too.
                let _ = self.sender.finish();
                self.receiving.receive()?
            }
        };
        if let Received::Message(_) = first {
            match self.receiving.receive()? {
                Received::End => {}
                // It failed after all.
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
