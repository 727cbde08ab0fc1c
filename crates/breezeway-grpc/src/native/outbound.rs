//! A body sent on a stream, as messages.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use breezeway_tokio::{ErrorCode, SendHalf, StreamError};
use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::Body;
use tonic::Status;

use super::inbound::status_of;
use crate::error::BoxError;

/// Size of the longest message: a larger one is sent as several, so that the peer copies one
/// while this side writes the next.
pub(crate) const LONGEST_MESSAGE: usize = 256 << 10;

/// A body, with the polled data that was not sent. It is polled one frame ahead, so that a body
/// that ends at once is sent in one entry.
pub(crate) struct Outbound<B> {
    body: B,
    data: Bytes,
    next: Option<Bytes>,
    trailers: Option<HeaderMap>,
    is_ended: bool,
    /// Error that broke off the body, if any.
    error: Option<Status>,
}

/// Next piece to send.
pub(crate) struct Piece {
    /// Bytes of the data, 0 if there is none.
    pub(crate) len: usize,
    /// True if nothing follows it.
    pub(crate) is_last: bool,
}

impl<B> Outbound<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    pub(crate) fn new(body: B) -> Self {
        Self { body, data: Bytes::new(), next: None, trailers: None, is_ended: false, error: None }
    }

    /// Returns the next piece, as far as it is available.
    pub(crate) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        if self.data.is_empty()
            && let Some(next) = self.next.take()
        {
            self.data = next;
        }
        while !self.is_ended && self.next.is_none() {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(frame) => self.take(frame),
                Poll::Pending if self.data.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        let len = self.data.len().min(LONGEST_MESSAGE);
        let is_last = self.is_ended && self.next.is_none() && len == self.data.len();
        Poll::Ready(Piece { len, is_last })
    }

    fn take(&mut self, frame: Option<Result<http_body::Frame<Bytes>, B::Error>>) {
        match frame {
            None => self.is_ended = true,
            Some(Err(error)) => {
                self.is_ended = true;
                self.error = Some(Status::from_error(error.into()));
            }
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) if data.is_empty() => {}
                Ok(data) if self.data.is_empty() => self.data = data,
                Ok(data) => self.next = Some(data),
                Err(frame) => {
                    self.trailers = frame.into_trailers().ok();
                    self.is_ended = true;
                }
            },
        }
    }

    /// Returns the data of a piece, if it has some.
    pub(crate) fn data(&self, piece: &Piece) -> Option<&[u8]> {
        (piece.len > 0).then(|| &self.data[..piece.len])
    }

    /// Notes that the piece was sent.
    pub(crate) fn sent(&mut self, piece: &Piece) {
        self.data.advance(piece.len);
    }

    /// Returns the trailers, once the last piece is there: of a body that broke off, its status.
    pub(crate) fn trailers(&self) -> Option<HeaderMap> {
        match &self.error {
            Some(status) => Some(status_trailers(status)),
            None => self.trailers.clone(),
        }
    }

    /// Drops the unsent data, and ends with this status.
    pub(crate) fn break_off(&mut self, status: Status) {
        self.data = Bytes::new();
        self.next = None;
        self.is_ended = true;
        self.error = Some(status);
    }

    /// Returns the error that broke off the body, if any.
    pub(crate) fn error(&self) -> Option<&Status> {
        self.error.as_ref()
    }

    /// Sends the rest of a request, without headers. If that fails for lack of a resource, the call
    /// fails with the status in `broken`: the server would wait for the rest.
    pub(crate) async fn send(mut self, mut send: SendHalf, broken: Arc<OnceLock<Status>>) {
        let outcome = std::future::poll_fn(|cx| self.poll_send(cx, &mut send)).await;
        if let Err(error) = outcome {
            let reason = breezeway::describe(&error);
            tracing::debug!(error = reason, "the rest of a request is not sent");
            if matches!(&error, StreamError::Session(cause) if cause.session_goes_on()) {
                let _ = broken.set(status_of(&error));
                send.reset(ErrorCode::Cancelled);
            }
        }
    }

    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        send: &mut SendHalf,
    ) -> Poll<Result<(), StreamError>> {
        loop {
            let piece = match self.poll_piece(cx) {
                Poll::Ready(piece) => piece,
                // The server may want no more.
                Poll::Pending => return send.poll_reset(cx).map(Err),
            };
            if self.error.is_some() {
                send.reset(ErrorCode::Cancelled);
                return Poll::Ready(Ok(()));
            }
            ready!(send.poll_entry(cx, self.data(&piece), None, piece.is_last))?;
            self.sent(&piece);
            if piece.is_last {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// The unsent data as a body again: of a request for another session.
impl<B> Body for Outbound<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        let piece = ready!(this.poll_piece(cx));
        if piece.len > 0 {
            return Poll::Ready(Some(Ok(http_body::Frame::data(this.data.split_to(piece.len)))));
        }
        Poll::Ready(this.error.take().map(Err))
    }
}

/// Returns the trailers with a status.
pub(crate) fn status_trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    if let Err(error) = status.add_header(&mut trailers) {
        tracing::warn!(%error, "a status does not fit a header");
    }
    trailers
}
