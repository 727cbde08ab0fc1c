//! Client side of a call.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use breezeway_tokio::{CallError, ErrorCode, Message, ReceiveHalf, Session, Stream, StreamError};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use tonic::Status;
use tonic::body::Body;

use super::block::{self, BlockError};
use super::inbound::{data, status_of};
use super::outbound::{Outbound, Piece};
use crate::listening::CALL;
use crate::timeout::Timeout;

/// Maximum size of a first message that is sent in the entry that opens the call.
const LONGEST_WITH_HEAD: usize = 16 << 10;

/// Failure of a call without a response.
pub(crate) enum Failure {
    /// The session accepted no part of it, because it is over or about to end: another one may, in
    /// the remaining time.
    NotSent(Box<Request<Body>>, Timeout),
    /// The call has failed.
    Status(Status),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// Makes a call, up to the headers of its response.
pub(crate) async fn exchange(
    channel: &Session,
    request: Request<Body>,
    mut timeout: Timeout,
) -> Result<Response<Body>, Failure> {
    if channel.is_ended() {
        return Err(Failure::NotSent(Box::new(request), timeout));
    }
    let (head, body) = request.into_parts();
    let block =
        block::request(&head).map_err(|error| Status::resource_exhausted(error.to_string()))?;
    let mut outbound = Outbound::new(body);
    let opened = poll_fn(|cx| match poll_open(channel, cx, &block, &mut outbound) {
        Poll::Pending => timeout.poll(cx).map(Opened::Over),
        Poll::Ready(outcome) => Poll::Ready(outcome),
    });
    let (stream, is_sent) = match opened.await {
        Opened::Stream(stream, is_sent) => (stream, is_sent),
        Opened::Over(status) => return Err(status.into()),
        Opened::Failed(StreamError::Session(error)) if is_over(&error) => {
            let request = Request::from_parts(head, Body::new(outbound));
            return Err(Failure::NotSent(Box::new(request), timeout));
        }
        Opened::Failed(error) => return Err(status_of(&error).into()),
    };
    let (send, receive) = stream.split();
    let broken = Arc::new(OnceLock::new());
    if !is_sent {
        tokio::spawn(outbound.send(send, Arc::clone(&broken)));
    }
    let receiving = Receiving { receive, is_sent, is_done: false, timeout, broken };
    receiving.response().await.map_err(Failure::Status)
}

/// Returns true if another session may accept the rejected call.
fn is_over(error: &CallError) -> bool {
    !error.session_goes_on() || matches!(error, CallError::GoingAway)
}

enum Opened {
    /// The stream, and true if all of the request was sent with its opening.
    Stream(Stream, bool),
    /// The deadline passed, or the request broke off.
    Over(Status),
    Failed(StreamError),
}

/// Opens the stream of a call, with the available part of its body if that is short.
fn poll_open(
    channel: &Session,
    cx: &mut Context<'_>,
    block: &[u8],
    outbound: &mut Outbound<Body>,
) -> Poll<Opened> {
    const NOTHING: Piece = Piece { len: 0, is_last: false };
    let piece = match outbound.poll_piece(cx) {
        Poll::Ready(piece) if piece.len <= LONGEST_WITH_HEAD => piece,
        _ => NOTHING,
    };
    if let Some(status) = outbound.error() {
        return Poll::Ready(Opened::Over(status.clone()));
    }
    let data = outbound.data(&piece);
    match ready!(channel.poll_open_with(cx, CALL, Some(block), data, piece.is_last, None)) {
        Ok(stream) => {
            outbound.sent(&piece);
            Poll::Ready(Opened::Stream(stream, piece.is_last))
        }
        Err(error) => Poll::Ready(Opened::Failed(error)),
    }
}

/// Direction of the response. Dropping it before its end cancels the call.
struct Receiving {
    receive: ReceiveHalf,
    /// True once the whole request was sent.
    is_sent: bool,
    is_done: bool,
    timeout: Timeout,
    /// Error of sending the request.
    broken: Arc<OnceLock<Status>>,
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.end();
        if !self.is_done {
            self.receive.reset(ErrorCode::Cancelled);
        }
    }
}

impl Receiving {
    /// Returns the next message; `None` behind the last.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Message>, Status>> {
        match self.receive.poll_receive(cx) {
            Poll::Ready(Ok(None)) => {
                self.is_done = true;
                // The server wants no more of the request.
                self.end();
                Poll::Ready(Ok(None))
            }
            Poll::Ready(Err(error)) => {
                let status = self.broken.get().cloned();
                Poll::Ready(Err(status.unwrap_or_else(|| status_of(&error))))
            }
            Poll::Ready(Ok(message)) => Poll::Ready(Ok(message)),
            Poll::Pending => self.timeout.poll(cx).map(Err),
        }
    }

    /// Ends the rest of a request that the server has answered.
    fn end(&mut self) {
        if self.is_done && !self.is_sent {
            self.is_sent = true;
            self.receive.reset(ErrorCode::Cancelled);
        }
    }

    /// Waits for the headers, and returns them with the body.
    async fn response(mut self) -> Result<Response<Body>, Status> {
        let first = poll_fn(|cx| self.poll_next(cx)).await?;
        let first = first
            .ok_or_else(|| Status::internal("the server ended the call without a response"))?;
        let block = first.metadata().unwrap_or_default();
        let (response, trailers) = block::read_response(block).map_err(of_block)?;
        let has_status = response.headers().contains_key(Status::GRPC_STATUS);
        let data = data(&first)?;
        let body = ResponseBody { receiving: self, data, trailers, has_status };
        Ok(response.map(|()| Body::new(body)))
    }
}

fn of_block(error: BlockError) -> Status {
    Status::internal(error.to_string())
}

/// The messages and the trailers of a response.
struct ResponseBody {
    receiving: Receiving,
    /// Data received with the headers.
    data: Option<Bytes>,
    trailers: Option<HeaderMap>,
    /// True once the status was received.
    has_status: bool,
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        self.get_mut().poll_next_frame(cx).map(Result::transpose)
    }
}

impl ResponseBody {
    fn poll_next_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Frame<Bytes>>, Status>> {
        loop {
            if let Some(data) = self.data.take() {
                return Poll::Ready(Ok(Some(Frame::data(data))));
            }
            if let Some(trailers) = self.trailers.take() {
                self.has_status = true;
                // Reads to the end, so that it is noted: no message follows trailers.
                let _ = self.receiving.poll_next(cx)?;
                return Poll::Ready(Ok(Some(Frame::trailers(trailers))));
            }
            if self.receiving.is_done {
                return Poll::Ready(Ok(None));
            }
            match ready!(self.receiving.poll_next(cx))? {
                Some(message) => {
                    self.data = data(&message)?;
                    let block = message.metadata();
                    self.trailers =
                        block.map(block::read_trailers).transpose().map_err(of_block)?;
                }
                None if self.has_status => return Poll::Ready(Ok(None)),
                None => {
                    let status = Status::internal("the server ended the call without a status");
                    return Poll::Ready(Err(status));
                }
            }
        }
    }
}
