//! Metadata that comes back, as the case `custom_metadata` requires it.

use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use tonic::body::Body;

use crate::changed::Change;

/// Header that comes back as a header.
pub const ECHO_INITIAL: &str = "x-grpc-test-echo-initial";
/// Header that comes back as a trailer.
pub const ECHO_TRAILING: &str = "x-grpc-test-echo-trailing-bin";

/// Returns the change that adds two of the request's headers to its response.
pub(crate) fn echo_metadata(request: &Request<Body>) -> Change {
    let initial = request.headers().get(ECHO_INITIAL).cloned();
    let trailing = request.headers().get(ECHO_TRAILING).cloned();
    Box::new(move |mut response: Response<Body>| {
        if let Some(value) = initial {
            response.headers_mut().insert(ECHO_INITIAL, value);
        }
        let Some(value) = trailing else { return response };
        response.map(|body| {
            let mut trailers = HeaderMap::new();
            trailers.insert(ECHO_TRAILING, value);
            Body::new(body.with_trailers(std::future::ready(Some(Ok(trailers)))))
        })
    })
}
