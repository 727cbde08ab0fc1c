//! What frames mean, on either side.

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

/// What the metadata may take that opens a stream: it is kept for as long as the stream.
const MAX_METADATA: usize = 64 << 10;

/// The streams of a connection, as its server sees them, until what serves them has ended.
#[derive(Debug)]
pub(crate) struct Streams {
    open: HashMap<i32, State>,
    max_open: usize,
}

/// How far a stream's client is.
#[derive(Clone, Copy, Debug)]
enum State {
    /// It may send messages.
    Open,
    /// It has sent its last message.
    Ended,
    /// It no longer wants the stream, whose handler may still run: till it ends, it counts.
    Cancelled,
}

/// What a frame means to the server.
#[derive(Debug)]
pub(crate) enum Came {
    /// A new stream.
    Opened(Opening),
    /// A new stream, which is not to be served, and why.
    Refused(Opening, &'static str),
    /// A stream's next message.
    Message(i32, Vec<u8>),
    /// The client has sent its last message.
    End(i32),
    /// The client no longer wants the stream.
    Reset(i32),
    /// Nothing.
    Nothing,
}

/// What a client opens a stream with.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) stream: i32,
    pub(crate) method: String,
    pub(crate) header: TtHeader,
}

impl Opening {
    /// Whose stream it is.
    pub(crate) fn find(&self, registry: &Registry) -> Result<Found, Error> {
        let (found, method) = registry.find_by_name(self.header.text(SERVICE), &self.method)?;
        method.check_stream()?;
        Ok(found)
    }

    /// About how much memory its metadata takes.
    fn memory(&self) -> usize {
        let texts = self.header.texts.iter().map(|(name, value)| name.len() + value.len());
        let numbered = self.header.numbered.iter().map(|(_, value)| value.len());
        pairs_memory(&self.header) + texts.chain(numbered).sum::<usize>()
    }

    /// What its handler knows of it.
    pub(crate) fn context(&mut self, carrier: Carrier, peer: Peer) -> Context {
        let context = Context::new(peer, carrier, timeout(&self.header));
        context.with_metadata(RequestMetadata(std::mem::take(&mut self.header.texts)))
    }
}

impl Streams {
    /// None, and never more than so many at one time.
    pub(crate) fn new(max_open: usize) -> Self {
        Self { open: HashMap::new(), max_open }
    }

    /// Judges the next frame. An error ends the connection.
    pub(crate) fn take(&mut self, frame: Frame) -> Result<Came, WireError> {
        let (stream, kind) = (frame.stream(), frame.kind);
        if kind == FrameKind::Header {
            return self.open(frame);
        }
        // Of a stream that has ended meanwhile more may be under way.
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

    /// What served the stream has ended. Its number may be used again.
    pub(crate) fn close(&mut self, stream: i32) {
        self.open.remove(&stream);
    }
}

/// The only stream of a connection, as its client sees it.
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

    /// What the next frame means; nothing if it is for nobody. An error is the stream's end.
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
