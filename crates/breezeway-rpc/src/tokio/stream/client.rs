//! A client's end of a stream, typed.

use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::pin;
use std::task::Poll;

use super::SendingRequests;
use super::calling::{Directions, TracedReplies};
use crate::error::Error;
use crate::reply::Reply;
use crate::stream::Received;
use crate::thrift::{Decode, Encode, to_vec};

/// A stream of requests, with one reply of the server.
///
/// Dropping it before [`Self::finish`] has returned cancels the stream, which its handler sees.
pub struct AsyncRequestStream<Q, R> {
    sender: AsyncRequestSender<Q>,
    receiving: TracedReplies,
    /// Event of the server received before this side had finished.
    early: Option<Result<Received, Error>>,
    reply: PhantomData<fn() -> R>,
}

/// A stream of replies to one request.
///
/// Dropping it before its end was received cancels the stream, which its handler sees.
pub struct AsyncReplyStream<M, R> {
    receiving: TracedReplies,
    messages: PhantomData<fn() -> (M, R)>,
}

/// Direction in which a client sends.
pub struct AsyncRequestSender<Q> {
    sending: SendingRequests,
    messages: PhantomData<fn(Q)>,
}

/// A stream in both directions.
///
/// Dropping it before its end was received cancels the stream, which its handler sees.
pub struct AsyncDuplexStream<Q, M, R> {
    sender: AsyncRequestSender<Q>,
    replies: AsyncReplyStream<M, R>,
}

impl<Q> AsyncRequestSender<Q> {
    fn new(sending: SendingRequests) -> Self {
        Self { sending, messages: PhantomData }
    }
}

impl<M, R> AsyncReplyStream<M, R> {
    pub(super) fn new((_, receiving): Directions) -> Self {
        Self { receiving, messages: PhantomData }
    }
}

impl<M: Decode, R: Reply> AsyncReplyStream<M, R> {
    /// Waits for the server's next message; `None` after its last. The server sends at most the
    /// stream's window ahead.
    ///
    /// An error is the method's, and the last event. Dropping the future loses no message.
    pub async fn receive(&mut self) -> Result<Option<M>, R::Error> {
        self.receiving.receive().await?.next::<M, R>()
    }
}

impl<Q: Encode> AsyncRequestSender<Q> {
    /// Sends a message. Waits while the server's handler does not read.
    pub async fn send(&mut self, message: &Q) -> Result<(), Error> {
        self.sending.send(&to_vec(message)?).await
    }

    /// Ends this direction: the server's handler receives what was sent, and then the end.
    pub async fn finish(&mut self) -> Result<(), Error> {
        self.sending.finish().await
    }
}

impl<Q, M, R> AsyncDuplexStream<Q, M, R> {
    pub(super) fn new((sending, receiving): Directions) -> Self {
        let replies = AsyncReplyStream { receiving, messages: PhantomData };
        Self { sender: AsyncRequestSender::new(sending), replies }
    }

    /// Returns both directions, each for a task of its own. The stream ends when both are dropped.
    pub fn split(self) -> (AsyncRequestSender<Q>, AsyncReplyStream<M, R>) {
        (self.sender, self.replies)
    }
}

impl<Q: Encode, M: Decode, R: Reply> AsyncDuplexStream<Q, M, R> {
    /// Sends a message; see [`AsyncRequestSender::send`].
    pub async fn send(&mut self, message: &Q) -> Result<(), Error> {
        self.sender.send(message).await
    }

    /// Ends this direction; see [`AsyncRequestSender::finish`].
    pub async fn finish(&mut self) -> Result<(), Error> {
        self.sender.finish().await
    }

    /// Waits for a message; see [`AsyncReplyStream::receive`].
    pub async fn receive(&mut self) -> Result<Option<M>, R::Error> {
        self.replies.receive().await
    }
}

impl<Q, R> AsyncRequestStream<Q, R> {
    pub(super) fn new((sending, receiving): Directions) -> Self {
        let sender = AsyncRequestSender::new(sending);
        Self { sender, receiving, early: None, reply: PhantomData }
    }
}

impl<Q: Encode, R: Reply<Value: Decode>> AsyncRequestStream<Q, R> {
    /// Sends a message. Waits while the server's handler does not read.
    ///
    /// A server that has already replied, or has failed, accepts no more messages
    /// ([`Error::StreamEnded`]): [`Self::finish`] then returns its reply or error.
    pub async fn send(&mut self, message: &Q) -> Result<(), Error> {
        if self.early.is_none() {
            let mut receiving = pin!(self.receiving.receive());
            let came = poll_fn(|cx| Poll::Ready(receiving.as_mut().poll(cx))).await;
            self.early = match came {
                Poll::Ready(came) => Some(came),
                Poll::Pending => None,
            };
        }
        if self.early.is_some() {
            return Err(Error::StreamEnded);
        }
        self.sender.send(message).await
    }

    /// Ends this direction and waits for the server's reply.
    pub async fn finish(mut self) -> Result<R::Value, R::Error> {
        let first = match self.early {
            Some(early) => early?,
            None => {
                // The reason why it cannot be ended arrives next, too.
                let _ = self.sender.finish().await;
                self.receiving.receive().await?
            }
        };
        if let Received::Message(_) = first {
            match self.receiving.receive().await? {
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
