//! A body that goes out on a stream, as messages.

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

/// The longest message: what is larger goes out as several, so that the other side copies one while
/// this side writes the next.
pub(crate) const LONGEST_MESSAGE: usize = 256 << 10;

/// A body, with what of it was polled and not sent. It is polled one frame ahead, so that what ends
/// at once goes out in one entry.
pub(crate) struct Outbound<B> {
    body: B,
    data: Bytes,
    next: Option<Bytes>,
    trailers: Option<HeaderMap>,
    is_ended: bool,
    /// Why the body has broken off, if it has.
    error: Option<Status>,
}

/// What is to be sent next.
pub(crate) struct Piece {
    /// Bytes of the data, 0 if there is none.
    pub(crate) len: usize,
    /// Whether nothing comes behind it.
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

    /// The next piece, as far as it is there.
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

    /// The data of a piece, if it has some.
    pub(crate) fn data(&self, piece: &Piece) -> Option<&[u8]> {
        (piece.len > 0).then(|| &self.data[..piece.len])
    }

    /// The piece was sent.
    pub(crate) fn sent(&mut self, piece: &Piece) {
        self.data.advance(piece.len);
    }

    /// The trailers, once the last piece is there: of a body that broke off, its status.
    pub(crate) fn trailers(&self) -> Option<HeaderMap> {
        match &self.error {
            Some(status) => Some(status_trailers(status)),
            None => self.trailers.clone(),
        }
    }

    /// Drops what was not sent, and ends with this status.
    pub(crate) fn break_off(&mut self, status: Status) {
        self.data = Bytes::new();
        self.next = None;
        self.is_ended = true;
        self.error = Some(status);
    }

    /// Why the body has broken off, if it has.
    pub(crate) fn error(&self) -> Option<&Status> {
        self.error.as_ref()
    }

    /// Sends what is left of a request, without headers. Where that fails for want of something,
    /// the call does, of which `broken` says why: the server would wait for what does not come.
    pub(crate) async fn send(mut self, mut send: SendHalf, broken: Arc<OnceLock<Status>>) {
        let outcome = std::future::poll_fn(|cx| self.poll_send(cx, &mut send)).await;
        if let Err(error) = outcome {
            tracing::debug!(%error, "the rest of a request is not sent");
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

/// What was not sent, as a body again: of a request that another session is to take.
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

/// The trailers that say a status.
pub(crate) fn status_trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    if let Err(error) = status.add_header(&mut trailers) {
        tracing::warn!(%error, "a status that is no header");
    }
    trailers
}
