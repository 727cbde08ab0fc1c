//! A service with changed responses.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

/// Changes the response to a request.
pub type Change = Box<dyn FnOnce(Response<Body>) -> Response<Body> + Send>;

/// A service whose responses are changed.
#[derive(Clone, Debug)]
pub struct Changed<S> {
    service: S,
    begin: fn(&Request<Body>) -> Change,
}

impl<S> Changed<S> {
    /// Returns `service`, for which `begin` takes each request first and returns the change of its
    /// response.
    pub fn new(service: S, begin: fn(&Request<Body>) -> Change) -> Self {
        Self { service, begin }
    }
}

impl<S: NamedService> NamedService for Changed<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for Changed<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let change = (self.begin)(&request);
        let response = self.service.call(request);
        Box::pin(async move { Ok(change(response.await?)) })
    }
}
