//! Metadata that comes back, as the case `custom_metadata` requires it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

/// Header that comes back as a header.
pub const ECHO_INITIAL: &str = "x-grpc-test-echo-initial";
/// Header that comes back as a trailer.
pub const ECHO_TRAILING: &str = "x-grpc-test-echo-trailing-bin";

/// A service whose responses have two of the request's headers.
#[derive(Clone, Debug)]
pub struct EchoMetadata<S>(pub(crate) S);

impl<S: NamedService> NamedService for EchoMetadata<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for EchoMetadata<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let initial = request.headers().get(ECHO_INITIAL).cloned();
        let trailing = request.headers().get(ECHO_TRAILING).cloned();
        let response = self.0.call(request);
        Box::pin(async move {
            let mut response = response.await?;
            if let Some(value) = initial {
                response.headers_mut().insert(ECHO_INITIAL, value);
            }
            let Some(value) = trailing else { return Ok(response) };
            Ok(response.map(|body| {
                let mut trailers = HeaderMap::new();
                trailers.insert(ECHO_TRAILING, value);
                Body::new(body.with_trailers(std::future::ready(Some(Ok(trailers)))))
            }))
        })
    }
}
