//! A call through tonic's own channel, with the deadlines of the native gear.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use tonic::body::Body;
use tonic::{Status, TimeoutExpired, transport};
use tower_service::Service;

use crate::timeout::Timeout;

/// Makes a call, up to the headers of its response.
pub(crate) async fn exchange(
    mut channel: transport::Channel,
    request: Request<Body>,
    mut timeout: Timeout,
) -> Result<Response<Body>, Status> {
    let mut outcome = pin!(async {
        poll_fn(|cx| channel.poll_ready(cx)).await?;
        channel.call(request).await
    });
    // tonic's own deadline does not count while its channel reconnects.
    let response = poll_fn(|cx| match outcome.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(outcome.map_err(status_of)),
        Poll::Pending => timeout.poll(cx).map(Err),
    });
    let response = response.await?;
    if timeout.is_never() {
        return Ok(response);
    }
    Ok(response.map(|body| Body::new(TimedBody { body, timeout })))
}

/// Converts an error: tonic reports its own deadline as a cancelled call.
fn status_of(error: transport::Error) -> Status {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = source {
        if error.is::<TimeoutExpired>() {
            return Timeout::status();
        }
        source = error.source();
    }
    Status::from_error(error.into())
}

/// A response's body that breaks off at the deadline, unlike tonic's own.
struct TimedBody {
    body: Body,
    timeout: Timeout,
}

impl http_body::Body for TimedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(frame),
            Poll::Pending => this.timeout.poll(cx).map(|status| Some(Err(status))),
        }
    }
}
