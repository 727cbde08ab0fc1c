//! Server side of a call.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::error::BoxError;
use breezeway_tokio::{ErrorCode, ReceiveHalf, SendHalf, Stream, StreamError};
use bytes::Bytes;
use http::response::Parts;
use http::{Request, Response};
use http_body::Frame;
use tokio::task::coop;
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use super::block::{self, TooLong};
use super::inbound::{data, drain, status_of};
use super::outbound::{Outbound, Piece};
use crate::connect_info::{ConnectInfo, Gear};
use crate::timeout::Timeout;

/// The service and the settings that calls are served with.
#[derive(Clone)]
pub(crate) struct Serving<S> {
    pub(crate) service: S,
    pub(crate) timeout: Option<Duration>,
}

impl<S, B> Serving<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    /// Returns a call's response; an error of the service becomes a status.
    pub(crate) async fn answer(&mut self, request: Request<Body>) -> Response<Body> {
        let outcome = match poll_fn(|cx| self.service.poll_ready(cx)).await {
            Ok(()) => self.service.call(request).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(response) => response.map(Body::new),
            Err(error) => Status::from_error(error.into()).into_http(),
        }
    }

    /// Serves the call of a stream that a client has opened.
    pub(crate) async fn serve(mut self, stream: Stream) {
        let info = ConnectInfo::of_stream(&stream, Gear::Native);
        let (send, mut receive) = stream.split();
        let mut sending = Sending(send);
        let Ok(Some(first)) = receive.receive().await else { return };
        let request = match block::read_request(first.metadata().unwrap_or_default()) {
            Ok(request) => request,
            Err(error) => {
                tracing::warn!(%error, "a call is refused");
                return sending.0.reset(ErrorCode::Failed);
            }
        };
        let data = match data(&first) {
            Ok(data) => data,
            Err(error) => {
                tracing::warn!(%error, "a call is refused");
                return sending.0.reset(ErrorCode::NoMemory);
            }
        };
        let mut timeout = Timeout::of(request.headers(), self.timeout);
        let body = RequestBody { receive: Some(receive), data };
        let mut request = request.map(|()| Body::new(body));
        request.extensions_mut().insert(info);
        let answer = self.answer(request);
        let Some(response) = unless_over(answer, &mut sending.0, &mut timeout).await else {
            return;
        };
        let mut responding = Responding::new(response);
        poll_fn(|cx| responding.poll(cx, &mut sending.0, &mut timeout)).await;
    }
}

/// Returns the response, or that of a deadline that has passed; `None` if the client no longer
/// wants it.
async fn unless_over(
    answer: impl Future<Output = Response<Body>>,
    send: &mut SendHalf,
    timeout: &mut Timeout,
) -> Option<Response<Body>> {
    let mut answer = pin!(answer);
    poll_fn(|cx| {
        if let Poll::Ready(response) = answer.as_mut().poll(cx) {
            return Poll::Ready(Some(response));
        }
        if send.poll_reset(cx).is_ready() {
            return Poll::Ready(None);
        }
        timeout.poll(cx).map(|status| Some(status.into_http()))
    })
    .await
}

/// Direction of the response. If the handler panics, dropping it reports that to the client.
struct Sending(SendHalf);

impl Drop for Sending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.reset(ErrorCode::Panicked);
        }
    }
}

/// A response that is being sent.
struct Responding {
    /// Status and headers, until they are sent.
    head: Option<Parts>,
    outbound: Outbound<Body>,
}

impl Responding {
    fn new(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        Self { head: Some(head), outbound: Outbound::new(body) }
    }

    /// Returns ready when all is sent, or the client no longer wants it.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        send: &mut SendHalf,
        timeout: &mut Timeout,
    ) -> Poll<()> {
        // Checked first, because a body may always have a piece.
        let Poll::Ready(status) = timeout.poll(cx) else { return self.poll_rest(cx, send) };
        self.outbound.break_off(status);
        if self.poll_rest(cx, send).is_pending() {
            // The client leaves no room for the status either.
            send.reset(ErrorCode::DeadlinePassed);
        }
        Poll::Ready(())
    }

    fn poll_rest(&mut self, cx: &mut Context<'_>, send: &mut SendHalf) -> Poll<()> {
        self.poll_pieces(cx, send).map(|sent| {
            if let Err(error) = sent {
                let reason = breezeway::describe(&error);
                tracing::debug!(error = reason, "the rest of a response is not sent");
            }
        })
    }

    fn poll_pieces(
        &mut self,
        cx: &mut Context<'_>,
        send: &mut SendHalf,
    ) -> Poll<Result<(), StreamError>> {
        loop {
            let turn = ready!(coop::poll_proceed(cx));
            let piece = match self.outbound.poll_piece(cx) {
                Poll::Ready(piece) => piece,
                // The headers do not wait for the first message.
                Poll::Pending if self.head.is_some() => NOTHING,
                Poll::Pending => return send.poll_reset(cx).map(Err),
            };
            let block = match self.block(piece.is_last) {
                Ok(block) => block,
                Err(error) => {
                    self.fail(&Status::resource_exhausted(error.to_string()));
                    continue;
                }
            };
            let data = self.outbound.data(&piece);
            ready!(send.poll_entry(cx, data, block.as_deref(), piece.is_last))?;
            turn.made_progress();
            self.head = None;
            self.outbound.sent(&piece);
            if piece.is_last {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Returns the metadata of the next entry, if it has some.
    fn block(&self, is_last: bool) -> Result<Option<Vec<u8>>, TooLong> {
        let trailers = if is_last { self.outbound.trailers() } else { None };
        match (&self.head, trailers) {
            (Some(Parts { status, headers, .. }), trailers) => {
                block::response(*status, headers, trailers.as_ref()).map(Some)
            }
            (None, Some(trailers)) => block::trailers(&trailers).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Ends a response that cannot be sent unchanged.
    fn fail(&mut self, status: &Status) {
        if let Some(head) = &mut self.head {
            *head = status.clone().into_http::<()>().into_parts().0;
        }
        self.outbound.break_off(status.clone());
    }
}

const NOTHING: Piece = Piece { len: 0, is_last: false };

/// The messages of a request.
struct RequestBody {
    /// Present until the end was received.
    receive: Option<ReceiveHalf>,
    /// Data received with the headers.
    data: Option<Bytes>,
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            if let Some(data) = self.data.take() {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            let Some(receive) = &mut self.receive else { return Poll::Ready(None) };
            match ready!(receive.poll_receive(cx)) {
                // Trailers of a request have no meaning.
                Ok(Some(message)) => match data(&message) {
                    Ok(data) => self.data = data,
                    Err(error) => return Poll::Ready(Some(Err(error))),
                },
                Ok(None) => self.receive = None,
                Err(error) => return Poll::Ready(Some(Err(status_of(&error)))),
            }
        }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(receive) = self.receive.take() {
            drain(receive);
        }
    }
}
