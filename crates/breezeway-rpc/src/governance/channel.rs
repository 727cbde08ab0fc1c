//! A service as a channel.

use bytes::Bytes;
use tower::{BoxError, Service, ServiceExt};

use super::{CallReply, CallRequest};
use crate::caller::CallOptions;
use crate::error::Error;
use crate::method::Method;
use crate::thrift::{self, decode_slice, to_vec};
use crate::tokio::{AsyncChannel, AsyncStreamChannel, OpenedAsync};

/// A [`tower::Service`] as a channel, for generated clients. Each call takes a clone of it.
///
/// Errors of layers become [`Error`]: a time-out is a deadline that passed, a call that was shed is
/// [`Error::Overloaded`], others are [`Error::Layer`].
#[derive(Clone, Debug)]
pub struct ServiceChannel<S> {
    service: S,
}

impl<S> ServiceChannel<S> {
    /// Calls through this service.
    pub fn new(service: S) -> Self {
        Self { service }
    }
}

impl<S> ServiceChannel<S>
where
    S: Service<CallRequest, Response = CallReply, Error: Into<BoxError>, Future: Send>,
    S: Clone + Send + Sync,
{
    async fn send(
        &self,
        method: &Method,
        arguments: Bytes,
        options: &CallOptions,
    ) -> Result<CallReply, Error> {
        let request = CallRequest { method: *method, arguments, options: options.clone() };
        let reply = self.service.clone().oneshot(request).await;
        reply.map_err(|error| Error::from_layer(error.into()))
    }
}

impl<S> AsyncChannel for ServiceChannel<S>
where
    S: Service<CallRequest, Response = CallReply, Error: Into<BoxError>, Future: Send>,
    S: Clone + Send + Sync,
{
    async fn call<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        let reply = self.send(method, to_vec(arguments)?.into(), options).await?;
        decode_slice(&reply.body).map_err(Error::Reply)
    }

    async fn post<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        self.send(method, to_vec(arguments)?.into(), options).await?;
        Ok(())
    }
}

impl<S> AsyncStreamChannel for ServiceChannel<S>
where
    S: Service<CallRequest, Response = CallReply, Error: Into<BoxError>, Future: Send>,
    S: Clone + Send + Sync,
{
    /// Opens a stream: the opening passes the layers, and the messages do not.
    async fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<OpenedAsync, Error> {
        let request = request.map(Bytes::copy_from_slice).unwrap_or_default();
        let reply = self.send(method, request, options).await?;
        reply.opened.ok_or_else(|| Error::Layer("a layer answered, and opened no stream".into()))
    }
}
