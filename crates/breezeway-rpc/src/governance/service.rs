//! A channel as a service.

use std::sync::Arc;
use std::task::{Context, Poll};

use tower::Service;

use super::bare::Bare;
use super::{BoxFuture, CallReply, CallRequest};
use crate::error::Error;
use crate::tokio::AsyncStreamChannel;

/// An awaited channel, native or to a Thrift server, as a [`tower::Service`]. Clones share the
/// channel.
///
/// It is always ready. Dropping a future cancels its call.
#[derive(Debug)]
pub struct ChannelService<C> {
    channel: Arc<C>,
}

impl<C> ChannelService<C> {
    /// Calls over this channel.
    pub fn new(channel: C) -> Self {
        Self { channel: Arc::new(channel) }
    }
}

impl<C> Clone for ChannelService<C> {
    fn clone(&self) -> Self {
        Self { channel: Arc::clone(&self.channel) }
    }
}

impl<C: AsyncStreamChannel + Send + 'static> Service<CallRequest> for ChannelService<C> {
    type Response = CallReply;
    type Error = Error;
    type Future = BoxFuture<Result<CallReply, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        let channel = Arc::clone(&self.channel);
        Box::pin(async move { call(&*channel, request).await })
    }
}

/// Makes a call with encoded arguments, or opens a stream.
pub(crate) async fn call<C: AsyncStreamChannel>(
    channel: &C,
    request: CallRequest,
) -> Result<CallReply, Error> {
    let CallRequest { method, arguments, options } = request;
    if method.is_stream() {
        let request = (!arguments.is_empty()).then_some(&*arguments);
        let opened = Some(channel.open(&method, request, &options).await?);
        return Ok(CallReply { opened, ..CallReply::default() });
    }
    if method.oneway {
        channel.post(&method, &Bare(arguments), &options).await?;
        return Ok(CallReply::default());
    }
    let Bare(body) = channel.call(&method, &Bare(arguments), &options).await?;
    Ok(CallReply::new(body))
}
