//! Client side of generated code.

use std::time::{Duration, Instant};

use breezeway::CallError;

use crate::channel::Channel;
use crate::context::Context;
use crate::error::Error;
use crate::metadata::{self, Pairs, ReplyMetadata, RequestMetadata};
use crate::method::Method;
use crate::reply::Reply;
#[cfg(feature = "tower")]
use crate::route::Route;
use crate::spans::{self, CallSpan};
use crate::thrift::{self, EncodeError};

/// Options of a call.
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
    /// Creates options without any change to those of the channel.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time after which the call fails. The server receives it, and its handler may stop
    /// then.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Adds a value for the handler beside the arguments: only the called service receives it.
    pub fn metadata(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.metadata.add(name, value);
        self
    }

    /// Adds a value like [`metadata`](Self::metadata), for the whole chain of calls, as far as each
    /// service [forwards](Self::forward) it.
    pub fn persistent_metadata(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.metadata.add_persistent(name, value);
        self
    }

    /// Forwards the remaining time and the persistent metadata of the call `cx` to the calls that
    /// its handler makes.
    pub fn forward(mut self, cx: &Context) -> Self {
        self.timeout = cx.time_left().into_iter().chain(self.timeout).min();
        self.metadata.0.extend(cx.request_metadata().persistent().cloned());
        self
    }

    /// Declares that these calls may run twice without harm: a
    /// [`RetryPolicy`](crate::governance::RetryPolicy) may then repeat a call even if it may
    /// already have run.
    #[cfg(feature = "tower")]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Records the route of the last attempt of the last call, if the caller awaits it: its
    /// carrier, and with [`Instances`](crate::instances::Instances) the instance.
    #[cfg(feature = "tower")]
    pub fn receive_route(mut self, route: &Route) -> Self {
        self.route = Some(route.clone());
        self
    }

    /// Records the reply metadata of the last call's handler.
    pub fn receive_metadata(mut self, reply: &ReplyMetadata) -> Self {
        self.reply = Some(reply.clone());
        self
    }
}

impl CallOptions {
    /// Returns the deadline of a call that begins now; `None` also if the clock cannot represent
    /// it.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }

    /// Records the carrier of the call.
    #[cfg(feature = "tokio")]
    pub(crate) fn took(&self, _carrier: breezeway::Carrier) {
        #[cfg(feature = "tower")]
        if let Some(route) = &self.route {
            route.set_carrier(_carrier);
        }
    }

    /// Writes the metadata of a request: the caller's behind that of the trace, so that it counts
    /// if both have a name. Without the trace if it is too long with it. Returns true if the trace
    /// was written.
    pub(crate) fn write_metadata<T>(
        &self,
        write: impl Fn(&Pairs) -> Result<T, Error>,
    ) -> Result<(T, bool), Error> {
        let mut pairs = spans::trace();
        if !pairs.is_empty() {
            pairs.extend_from_slice(&self.metadata.0);
            match written(write(&pairs)) {
                Err(Error::MetadataTooLong { .. }) => {}
                written => return Ok((written?, true)),
            }
        }
        Ok((written(write(&self.metadata.0))?, false))
    }

    /// Returns the metadata in its format on a shared session.
    pub(crate) fn block(&self) -> Result<Block<'_>, Error> {
        let (bytes, has_trace) = self.write_metadata(metadata::encode)?;
        Ok(Block { options: self, bytes, has_trace })
    }

    /// Returns the block of a message without metadata.
    pub(crate) fn no_block(&self) -> Block<'_> {
        Block { options: self, bytes: None, has_trace: false }
    }

    /// Records the reply metadata of a result on a shared session.
    pub(crate) fn received(&self, block: Option<&[u8]>) -> Result<(), Error> {
        let Some(reply) = &self.reply else { return Ok(()) };
        reply.replace(Vec::new());
        reply.add_block(block)
    }
}

/// Returns the result of writing metadata, with the error of a session for one of TTHeader.
fn written<T>(written: Result<T, Error>) -> Result<T, Error> {
    written.map_err(|error| match error {
        Error::Encode(EncodeError::HeaderTooLong { size, limit }) => {
            Error::MetadataTooLong { size, limit }
        }
        error => error,
    })
}

/// The metadata of a request on a shared session, with the call's other options.
pub(crate) struct Block<'o> {
    pub(crate) options: &'o CallOptions,
    bytes: Option<Vec<u8>>,
    has_trace: bool,
}

impl Block<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    /// Drops the trace if the request may be too long by it. Returns any other error of a request.
    pub(crate) fn shorten(&mut self, error: Error) -> Result<(), Error> {
        let is_too_long = matches!(
            error,
            Error::Call(CallError::TooMuchMetadata { .. } | CallError::TooLarge { .. })
        );
        if !self.has_trace || !is_too_long {
            return Err(error);
        }
        self.has_trace = false;
        self.bytes = metadata::encode(&self.options.metadata.0)?;
        Ok(())
    }
}

/// A channel and the options of its calls: the base of generated clients.
#[derive(Clone, Debug)]
pub struct Caller<C> {
    pub(crate) channel: C,
    pub(crate) options: CallOptions,
}

/// Result of a method.
pub(crate) type Outcome<A> = Result<
    <<A as thrift::Call>::Reply as Reply>::Value,
    <<A as thrift::Call>::Reply as Reply>::Error,
>;

impl<C> Caller<C> {
    /// Calls over this channel.
    pub fn new(channel: C) -> Self {
        Self { channel, options: CallOptions::new() }
    }

    /// Returns a caller on the same channel, with these options for each call.
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
        let work = || self.channel.call(method, arguments, &self.options);
        CallSpan::of_client(method).run(work)?.into_result()
    }

    /// Sends a oneway call. `Ok` means that it was published.
    #[inline]
    pub fn post<A: thrift::Call>(&self, method: &Method, arguments: &A) -> Result<(), Error> {
        let work = || self.channel.post(method, arguments, &self.options);
        CallSpan::of_client(method).run(work)
    }
}

#[cfg(feature = "tokio")]
impl<C: crate::tokio::AsyncChannel> Caller<C> {
    /// Calls a method and returns its reply. Dropping the future cancels the call.
    pub async fn call_async<A>(&self, method: &Method, arguments: &A) -> Outcome<A>
    where
        A: thrift::Call + Sync,
        A::Reply: Reply,
    {
        let work = self.channel.call(method, arguments, &self.options);
        CallSpan::of_client(method).run_async(work).await?.into_result()
    }

    /// Sends a oneway call. `Ok` means that it was published.
    pub async fn post_async<A>(&self, method: &Method, arguments: &A) -> Result<(), Error>
    where
        A: thrift::Call + Sync,
    {
        let work = self.channel.post(method, arguments, &self.options);
        CallSpan::of_client(method).run_async(work).await
    }
}
