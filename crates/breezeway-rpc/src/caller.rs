//! The client's side of generated code.

use std::time::{Duration, Instant};

use crate::channel::Channel;
use crate::context::Context;
use crate::error::Error;
use crate::metadata::{self, ReplyMetadata, RequestMetadata};
use crate::method::Method;
use crate::reply::Reply;
#[cfg(feature = "tower")]
use crate::route::Route;
use crate::thrift;

/// What a call may be told beside its arguments.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) metadata: RequestMetadata,
    pub(crate) reply: Option<ReplyMetadata>,
    #[cfg(feature = "tower")]
    pub(crate) idempotent: bool,
    #[cfg(feature = "tower")]
    pub(crate) route: Option<Route>,
}

impl CallOptions {
    /// The channel's own.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives up after this time. The server learns it, and its handler may stop then.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Gives the handler a value beside the arguments: it goes to the called service only.
    pub fn metadata(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.metadata.add(name, value);
        self
    }

    /// As [`Self::metadata`], of a value that goes on along the whole chain of calls, as far as
    /// each service [forwards](Self::forward) it.
    pub fn persistent_metadata(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.metadata.add_persistent(name, value);
        self
    }

    /// For a call that a handler makes: what is left of its own call's time, and the metadata that
    /// goes on along the chain.
    pub fn forward(mut self, cx: &Context) -> Self {
        self.timeout = cx.time_left().into_iter().chain(self.timeout).min();
        self.metadata.0.extend(cx.request_metadata().persistent().cloned());
        self
    }

    /// These calls do no harm when they run twice: a
    /// [`RetryPolicy`](crate::governance::RetryPolicy) may make them again where it is not known
    /// whether they have run.
    #[cfg(feature = "tower")]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Keeps where these calls went, the last attempt of the last call each time: a
    /// [`breezeway_tokio::Channel`] says so.
    #[cfg(feature = "tower")]
    pub fn receive_route(mut self, route: &Route) -> Self {
        self.route = Some(route.clone());
        self
    }

    /// Keeps what the handlers of these calls give beside their results, the last call's each time.
    pub fn receive_metadata(mut self, reply: &ReplyMetadata) -> Self {
        self.reply = Some(reply.clone());
        self
    }
}

impl CallOptions {
    /// When a call that begins now is given up; nothing also for a time that no clock can say.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }

    /// Says by what the call goes.
    #[cfg(feature = "tokio")]
    pub(crate) fn took(&self, _carrier: breezeway::Carrier) {
        #[cfg(feature = "tower")]
        if let Some(route) = &self.route {
            route.set_carrier(_carrier);
        }
    }

    /// The metadata as it travels over a shared session; nothing if there is none.
    pub(crate) fn block(&self) -> Result<Option<Vec<u8>>, Error> {
        metadata::encode(&self.metadata.0)
    }

    /// Keeps what came beside a result over a shared session.
    pub(crate) fn received(&self, block: Option<&[u8]>) -> Result<(), Error> {
        let Some(reply) = &self.reply else { return Ok(()) };
        reply.replace(Vec::new());
        reply.add_block(block)
    }
}

/// A channel, and with which options to call over it: what generated clients are made of.
#[derive(Clone, Debug)]
pub struct Caller<C> {
    pub(crate) channel: C,
    pub(crate) options: CallOptions,
}

/// What a method gives.
pub(crate) type Outcome<A> = Result<
    <<A as thrift::Call>::Reply as Reply>::Value,
    <<A as thrift::Call>::Reply as Reply>::Error,
>;

impl<C> Caller<C> {
    /// Calls over this channel.
    pub fn new(channel: C) -> Self {
        Self { channel, options: CallOptions::new() }
    }

    /// The same channel, with these options for each call.
    pub fn with(&self, options: CallOptions) -> Caller<&C> {
        Caller { channel: &self.channel, options }
    }
}

impl<C: Channel> Caller<C> {
    /// Calls a method and waits for its reply.
    #[inline]
    pub fn call<A>(&self, method: &Method, arguments: &A) -> Outcome<A>
    where
        A: thrift::Call,
        A::Reply: Reply,
    {
        self.channel.call(method, arguments, &self.options)?.into_result()
    }

    /// Sends a oneway call: `Ok` says that it was published.
    #[inline]
    pub fn post<A: thrift::Call>(&self, method: &Method, arguments: &A) -> Result<(), Error> {
        self.channel.post(method, arguments, &self.options)
    }
}

#[cfg(feature = "tokio")]
impl<C: crate::tokio::AsyncChannel> Caller<C> {
    /// Calls a method and gives its reply. Dropped before, the call is cancelled.
    pub async fn call_async<A>(&self, method: &Method, arguments: &A) -> Outcome<A>
    where
        A: thrift::Call + Sync,
        A::Reply: Reply,
    {
        self.channel.call(method, arguments, &self.options).await?.into_result()
    }

    /// Sends a oneway call: `Ok` says that it was published.
    pub async fn post_async<A>(&self, method: &Method, arguments: &A) -> Result<(), Error>
    where
        A: thrift::Call + Sync,
    {
        self.channel.post(method, arguments, &self.options).await
    }
}
