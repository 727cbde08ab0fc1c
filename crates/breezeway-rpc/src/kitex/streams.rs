//! Meaning of frames, on either side.

use std::collections::HashMap;

use breezeway::{Carrier, Peer};

use super::WireError;
use super::frame::Frame;
use super::message::pairs_memory;
use super::serving::{SERVICE, timeout};
use crate::context::Context;
use crate::error::Error;
use crate::metadata::{ReplyMetadata, RequestMetadata};
use crate::registry::{Found, Registry};
use crate::stream::{Body, Received};
use crate::thrift::{FrameKind, TtHeader};

/// Maximum size of the metadata that opens a stream: it is kept for as long as the stream.
const MAX_METADATA: usize = 64 << 10;

/// The streams of a connection on its server, until their handlers have ended.
#[derive(Debug)]
pub(crate) struct Streams {
    open: HashMap<i32, State>,
    max_open: usize,
}

/// State of a stream's client.
#[derive(Clone, Copy, Debug)]
enum State {
    /// The client may send messages.
    Open,
    /// The client has sent its last message.
    Ended,
    /// The client no longer wants the stream. It counts until its handler ends.
    /// ends.
    Cancelled,
}

/// Event of a frame at the server.
#[derive(Debug)]
pub(crate) enum Came {
    /// A new stream.
    Opened(Opening),
    /// A new stream that must be refused, and the reason.
    Refused(Opening, &'static str),
    /// The next message of a stream.
    Message(i32, Vec<u8>),
    /// The client has sent its last message.
    End(i32),
    /// The client no longer wants the stream.
    Reset(i32),
    /// No event.
    Nothing,
}

/// Opening of a stream by a client.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) stream: i32,
    pub(crate) method: String,
    pub(crate) header: TtHeader,
}

impl Opening {
    /// Returns the method of the stream.
    pub(crate) fn find(&self, registry: &Registry) -> Result<Found, Error> {
        let (found, method) = registry.find_by_name(self.header.text(SERVICE), &self.method)?;
        method.check_stream()?;
        Ok(found)
    }

    /// Returns the approximate memory of its metadata.
    fn memory(&self) -> usize {
        let texts = self.header.texts.iter().map(|(name, value)| name.len() + value.len());
        let numbered = self.header.numbered.iter().map(|(_, value)| value.len());
        pairs_memory(&self.header) + texts.chain(numbered).sum::<usize>()
    }

    /// Returns the context of its handler.
    pub(crate) fn context(&mut self, carrier: Carrier, peer: Peer) -> Context {
        let context = Context::new(peer, carrier, timeout(&self.header));
        context.with_metadata(RequestMetadata(std::mem::take(&mut self.header.texts)))
    }
}

impl Streams {
    /// Creates an empty set that allows `max_open` concurrent streams.
    pub(crate) fn new(max_open: usize) -> Self {
        Self { open: HashMap::new(), max_open }
    }

    /// Validates the next frame. An error ends the connection.
    pub(crate) fn take(&mut self, frame: Frame) -> Result<Came, WireError> {
        let (stream, kind) = (frame.stream(), frame.kind);
        if kind == FrameKind::Header {
            return self.open(frame);
        }
        // Further frames of a stream that has ended may be in flight.
        let Some(state) = self.open.get_mut(&stream) else { return Ok(Came::Nothing) };
        match (kind, *state) {
            (FrameKind::Header | FrameKind::Meta, _) | (_, State::Cancelled) => Ok(Came::Nothing),
            (FrameKind::Data | FrameKind::Trailer, State::Ended) => {
                Err(WireError::BehindTheEnd(stream))
            }
            (FrameKind::Data, State::Open) => Ok(Came::Message(stream, frame.payload)),
            (FrameKind::Trailer, State::Open) if frame.payload.is_empty() => {
                *state = State::Ended;
                Ok(Came::End(stream))
            }
            (FrameKind::Trailer | FrameKind::Reset, _) => {
                *state = State::Cancelled;
                Ok(Came::Reset(stream))
            }
        }
    }

    fn open(&mut self, frame: Frame) -> Result<Came, WireError> {
        let (stream, method) = (frame.stream(), frame.method());
        let opening = Opening { stream, method, header: frame.header };
        if self.open.contains_key(&stream) {
            return Err(WireError::Reopened(stream));
        }
        if self.open.len() == self.max_open {
            return Ok(Came::Refused(opening, "the connection has too many streams"));
        }
        if opening.memory() > MAX_METADATA {
            return Ok(Came::Refused(opening, "the stream's metadata takes more than 64 KiB"));
        }
        self.open.insert(stream, State::Open);
        Ok(Came::Opened(opening))
    }

    /// Notes that the handler of the stream has ended. Its number may be used again.
    pub(crate) fn close(&mut self, stream: i32) {
        self.open.remove(&stream);
    }
}

/// The only stream of a connection, on its client.
#[derive(Debug)]
pub(crate) struct ClientStream {
    stream: i32,
    has_begun: bool,
    metadata: Option<ReplyMetadata>,
}

impl ClientStream {
    pub(crate) fn new(stream: i32, metadata: Option<ReplyMetadata>) -> Self {
        Self { stream, has_begun: false, metadata }
    }

    /// Returns the event of the next frame; `None` if it is for another stream. An error is the
    /// stream's end.
    pub(crate) fn take(&mut self, frame: Frame) -> Result<Option<Received>, Error> {
        if frame.stream() != self.stream {
            return Ok(None);
        }
        match frame.kind {
            FrameKind::Meta => Ok(None),
            FrameKind::Header if self.has_begun => {
                Err(Error::Protocol("the server began its stream twice".to_owned()))
            }
            FrameKind::Header => {
                self.has_begun = true;
                self.keep(frame.header);
                Ok(None)
            }
            FrameKind::Data => Ok(Some(Received::Message(Body::Private(frame.payload)))),
            FrameKind::Trailer | FrameKind::Reset => {
                let outcome = frame.outcome();
                self.keep(frame.header);
                outcome.map(|()| Some(Received::End))
            }
        }
    }

    fn keep(&self, header: TtHeader) {
        if let Some(metadata) = &self.metadata {
            metadata.add(header.texts);
        }
    }
}

#[cfg(test)]
mod tests;
