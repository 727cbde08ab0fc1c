//! A server's handlers as a service, below layers.

use std::sync::Arc;
use std::task::{self, Poll};

use breezeway::ForeignBytes;
use breezeway_os::memory::zeroed;
use bytes::Bytes;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::BoxFuture;
use crate::bytes::copy_of;
use crate::call::{Call, Exchange, Kind};
use crate::context::Context;
use crate::error::Error;
use crate::metadata::Pairs;
use crate::method::Method;
use crate::tokio::AsyncServices;

/// A call received by a server.
#[derive(Debug)]
pub struct ServedRequest {
    /// Method that is called.
    pub method: Method,
    /// Arguments, a bare Thrift Binary struct that is not validated yet.
    pub arguments: Bytes,
    /// Values beside the arguments.
    pub context: Context,
    /// Indexes of the service and of its method.
    found: (usize, usize),
}

/// Reply of a handler: a result, or an exception that the IDL declares.
#[derive(Debug, Default)]
pub struct ServedReply {
    /// Body, a bare Thrift Binary struct; empty after a oneway call.
    pub body: Bytes,
    metadata: Pairs,
}

/// The handlers of a server, as a [`tower::Service`]: the innermost of its layers. It is always
/// ready.
pub struct Handlers<S>(Arc<S>);

impl<S> Clone for Handlers<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: AsyncServices> Service<ServedRequest> for Handlers<S> {
    type Response = ServedReply;
    type Error = Error;
    type Future = BoxFuture<Result<ServedReply, Error>>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ServedRequest) -> Self::Future {
        let services = Arc::clone(&self.0);
        Box::pin(async move {
            let ServedRequest { arguments, context, found: (service, method), .. } = request;
            let mut held = Held { arguments, reply: None };
            let mut call = Call::new(&mut held);
            services.dispatch(service, method, &context, &mut call).await?;
            let body = held.reply.unwrap_or_default().into();
            Ok(ServedReply { body, metadata: context.take_reply_metadata() })
        })
    }
}

/// A call that owns its bytes.
struct Held {
    arguments: Bytes,
    reply: Option<Vec<u8>>,
}

impl Exchange for Held {
    fn request(&self) -> ForeignBytes<'_> {
        ForeignBytes::stable(&self.arguments)
    }

    fn reply_with(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.reply = Some(copy_of(ForeignBytes::stable(bytes))?);
        Ok(())
    }

    fn reserve(&mut self, size: usize) -> Result<&mut [u8], Error> {
        Ok(self.reply.insert(zeroed(size).map_err(Error::memory)?))
    }

    fn commit(&mut self, len: usize) -> Result<(), Error> {
        self.reply.get_or_insert_default().truncate(len);
        Ok(())
    }

    fn abandon(&mut self) {
        self.reply = None;
    }
}

/// Services behind layers, which their calls pass first.
pub struct Layered<S, T> {
    services: Arc<S>,
    layered: T,
    methods: Vec<Vec<Method>>,
}

impl<S: AsyncServices, T> Layered<S, T> {
    /// Wraps services. `methods` holds those of each service, by their indexes.
    pub(crate) fn new<L>(services: S, methods: Vec<Vec<Method>>, layer: &L) -> Self
    where
        L: Layer<Handlers<S>, Service = T>,
    {
        let services = Arc::new(services);
        let layered = layer.layer(Handlers(Arc::clone(&services)));
        Self { services, layered, methods }
    }
}

impl<S, T> AsyncServices for Layered<S, T>
where
    S: AsyncServices,
    T: Service<ServedRequest, Response = ServedReply, Error: Into<BoxError>, Future: Send>,
    T: Clone + Send + Sync + 'static,
{
    const COUNT: usize = S::COUNT;

    async fn dispatch(
        &self,
        service: usize,
        method: usize,
        cx: &Context,
        call: &mut Call<'_>,
    ) -> Result<(), Error> {
        let Kind::Call(exchange) = &mut call.kind else {
            return self.services.dispatch(service, method, cx, call).await;
        };
        let request = ServedRequest {
            method: self.methods[service][method],
            arguments: copy_of(exchange.request())?.into(),
            context: cx.for_layers(),
            found: (service, method),
        };
        let reply = self.layered.clone().oneshot(request).await;
        let reply = reply.map_err(|error| Error::from_layer(error.into()))?;
        cx.add_reply_metadata(reply.metadata);
        exchange.reply_with(&reply.body)
    }
}
