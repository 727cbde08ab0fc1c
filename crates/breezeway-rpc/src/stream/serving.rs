//! A handler's halves of a stream.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::{Body, Ended, native_server as native};
use crate::call::{Call, Kind, other_way};
use crate::context::Context;
use crate::error::Error;
use crate::kitex::stream as thrift;
use crate::registry::Found;
use crate::server::Services;
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
    Native(native::Requests),
    Thrift(thrift::ServedRequests),
}

/// Destination of replies.
pub(crate) enum SendingReplies {
    Native(native::Replies),
    Thrift(thrift::ServedReplies),
}

impl Served {
    /// Runs the handler, and ends the stream with its outcome.
    pub(crate) fn serve(mut self, services: &Services, found: Found, context: &Context) {
        // A handler's panic fails its stream, and leaves no state of this crate inconsistent.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            services.dispatch(found, context, &mut Call::of_stream(&mut self))
        }));
        let panicked = |_| Err(Error::new(ExceptionKind::INTERNAL_ERROR, "the handler panicked"));
        self.finish(outcome.unwrap_or_else(panicked));
    }

    /// Ends the stream.
    pub(crate) fn finish(mut self, outcome: Result<(), Error>) {
        let ended = match outcome {
            Ok(()) => self.ended.unwrap_or(Ended::Well(None)),
            Err(error) => Ended::Failed(error),
        };
        match &mut self.sending {
            SendingReplies::Native(replies) => replies.end(ended),
            SendingReplies::Thrift(replies) => replies.end(ended),
        }
        if let ReceivingRequests::Native(requests) = &mut self.receiving {
            requests.drain();
        }
    }
}

impl ReceivingRequests {
    fn receive(&mut self) -> Result<Option<Body>, Error> {
        match self {
            Self::Native(requests) => requests.receive(),
            Self::Thrift(requests) => requests.receive(),
        }
    }
}

impl SendingReplies {
    fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        match self {
            Self::Native(replies) => replies.send(message),
            Self::Thrift(replies) => replies.send(message),
        }
    }

    fn is_cancelled(&self) -> bool {
        match self {
            Self::Native(replies) => replies.is_cancelled(),
            Self::Thrift(replies) => replies.is_cancelled(),
        }
    }

    fn wait_cancelled(&mut self, deadline: Instant) -> bool {
        match self {
            Self::Native(replies) => replies.wait_cancelled(deadline),
            Self::Thrift(replies) => replies.wait_cancelled(deadline),
        }
    }
}

/// The messages that a client sends on a stream.
pub struct Requests<'s, M> {
    receiving: &'s mut ReceivingRequests,
    messages: PhantomData<fn() -> M>,
}

/// Destination of a handler's messages.
pub struct Replies<'s, M> {
    sending: &'s mut SendingReplies,
    messages: PhantomData<fn(M)>,
}

impl<M: Decode> Requests<'_, M> {
    /// Waits for the client's next message; `None` after its last. The client sends at most the
    /// stream's window ahead.
    ///
    /// It is an error if the client no longer wants the stream or is gone, or if a message cannot
    /// be read.
    pub fn receive(&mut self) -> Result<Option<M>, Error> {
        self.receiving.receive()?.map(|body| body.request()).transpose()
    }
}

impl<M: Encode> Replies<'_, M> {
    /// Sends a message. Waits while the client does not read.
    ///
    /// Reply metadata that was set
    /// ([`Context::set_reply_metadata`](crate::Context::set_reply_metadata)) before the first
    /// message travels with it, later values with the stream's end.
    pub fn send(&mut self, message: &M) -> Result<(), Error> {
        self.sending.send(&to_vec(message)?)
    }
}

impl<M> Replies<'_, M> {
    /// Returns true once the client no longer wants the stream, or is gone. A handler that waits
    /// for something other than the client should check this at intervals and return: until then it
    /// keeps its thread, and its client's session.
    pub fn is_cancelled(&self) -> bool {
        self.sending.is_cancelled()
    }

    /// Waits until [`Self::is_cancelled`] returns true, at most for `time`; returns that. For the
    /// time between two messages, in place of a sleep.
    pub fn wait_cancelled(&mut self, time: Duration) -> bool {
        // A time beyond the clock's range is as good as for ever.
        let far = || Instant::now() + Duration::from_secs(1 << 30);
        self.sending.wait_cancelled(Instant::now().checked_add(time).unwrap_or_else(far))
    }
}

impl<'c> Call<'c> {
    pub(crate) fn of_stream(served: &'c mut Served) -> Self {
        Self { kind: Kind::Stream(served) }
    }

    fn served(&mut self) -> Result<&mut Served, Error> {
        match &mut self.kind {
            Kind::Stream(served) => Ok(served),
            _ => Err(other_way()),
        }
    }

    /// Returns the client's messages.
    pub fn requests<M>(&mut self) -> Result<Requests<'_, M>, Error> {
        let receiving = &mut self.served()?.receiving;
        Ok(Requests { receiving, messages: PhantomData })
    }

    /// Returns the destination of a handler's messages.
    pub fn replies<M>(&mut self) -> Result<Replies<'_, M>, Error> {
        let sending = &mut self.served()?.sending;
        Ok(Replies { sending, messages: PhantomData })
    }

    /// Returns both.
    pub fn halves<Q, M>(&mut self) -> Result<(Requests<'_, Q>, Replies<'_, M>), Error> {
        let Served { receiving, sending, .. } = self.served()?;
        let requests = Requests { receiving, messages: PhantomData };
        Ok((requests, Replies { sending, messages: PhantomData }))
    }

    /// Returns the client's only message.
    pub fn request<M: Decode>(&mut self) -> Result<M, Error> {
        let request = self.requests()?.receive()?;
        request.ok_or_else(|| Error::new(ExceptionKind::PROTOCOL_ERROR, "the request is missing"))
    }
}
