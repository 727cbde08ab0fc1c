//! Splitting of a connection's bytes into messages.

use std::ops::Range;

use breezeway_os::memory;
use breezeway_os::segment::SegmentError;

use super::frame::Frame;
use super::message::{Framing, Message};
use super::protobuf;
use crate::error::Error;
use crate::thrift::{
    self, DecodeError, Envelope, Limits, MessageHeader, MessageScan, PayloadProtocol, Slice,
    StreamFrame, TtFrame, TtHeader,
};

/// Error for bytes that are not messages. It ends the connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("{0:02x?} begin no Thrift message: framed, unframed or in TTHeader")]
    Unknown([u8; 8]),
    #[error("{0:?} is not served here")]
    Unsupported(Envelope),
    /// Kitex-Protobuf; in a TTHeader with this number, if in one.
    #[error("KitexProtobuf is not served here")]
    Protobuf(Option<i32>),
    #[error("payload protocol {0:?} of TTHeader is not served here")]
    Payload(PayloadProtocol),
    #[error("the frame inside TTHeader is not as long as TTHeader's payload")]
    Frame,
    #[error("stream {0} is opened, and is open")]
    Reopened(i32),
    #[error("stream {0} goes on behind its client's last frame")]
    BehindTheEnd(i32),
    /// This process is short of memory, which is not the client's fault.
    #[error("a message finds no memory: {0}")]
    NoMemory(#[from] SegmentError),
}

impl WireError {
    /// Returns the message that reports this to a client, if the client can read one.
    pub(crate) fn refusal(&self) -> Option<Vec<u8>> {
        let Self::Protobuf(header) = self else { return None };
        protobuf::refusal(*header).ok()
    }
}

/// Assembles the messages of a connection.
///
/// Memory is allocated for received bytes, never for announced ones.
#[derive(Debug)]
pub(crate) struct Receiver {
    limits: Limits,
    bytes: Vec<u8>,
    /// Range of `bytes` that was received and not returned yet.
    came: Range<usize>,
    has_received: bool,
    /// Scan for the end of a message without a length.
    scan: MessageScan,
}

/// Maximum memory kept for received bytes when all of them were returned.
const KEPT: usize = 1 << 20;
/// Minimum room for received bytes.
const PIECE: usize = 64 << 10;

/// The next message, relative to the received bytes.
struct Found {
    framing: Framing,
    header: Option<TtHeader>,
    message: Range<usize>,
    /// End of its envelope.
    end: usize,
}

impl Receiver {
    pub(crate) fn new(limits: Limits) -> Self {
        let (bytes, scan) = (Vec::new(), MessageScan::new(limits));
        Self { limits, bytes, came: 0..0, has_received: false, scan }
    }

    /// Returns room for the next bytes; [`Self::take`] accepts the received ones. Call it when
    /// no message is left, which makes the room.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.bytes.len() == self.came.end {
            self.bytes.resize(self.came.end + PIECE, 0);
        }
        &mut self.bytes[self.came.end..]
    }

    /// Makes room for the next bytes. Only a part of one message is moved for that, once.
    fn make_room(&mut self) -> Result<(), WireError> {
        if self.came.start > 0 {
            self.bytes.copy_within(self.came.clone(), 0);
            self.came = 0..self.came.len();
        }
        let wanted = self.came.end + PIECE;
        if self.bytes.len() < wanted {
            // As much again as was received, so that a long message is moved only a few times.
            let more = wanted - self.bytes.len();
            memory::reserve(&mut self.bytes, more.max(self.came.end))
                .or_else(|_| memory::reserve(&mut self.bytes, more))?;
            self.bytes.resize(wanted, 0);
        }
        Ok(())
    }

    /// Accepts `count` bytes received into the room.
    pub(crate) fn take(&mut self, count: usize) {
        self.came.end += count;
        self.has_received = true;
    }

    /// Returns the error of the connection, for a client's side of it.
    pub(crate) fn failure(&self, error: impl Into<Error>) -> Error {
        if self.has_received { error.into() } else { error.into().unanswered() }
    }

    /// Returns the allocated memory in bytes.
    #[cfg(feature = "fuzzing")]
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns true if no part of a message is there.
    pub(crate) fn is_empty(&self) -> bool {
        self.came.is_empty()
    }

    /// Returns the next message; `None` if more bytes are needed.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, WireError> {
        let Some(Found { framing, header, message, end }) = self.find()? else {
            self.make_room()?;
            return Ok(None);
        };
        let came = &self.bytes[self.came.clone()];
        let head = MessageHeader::decode(&mut Slice::within(self.limits, &came[message.clone()])?)?;
        let body = message.start + head.size()..message.end;
        let bytes = self.give(end)?;
        Ok(Some(Message { framing, header, head, bytes, body }))
    }

    /// Returns true if frames of streams arrive; `None` before eight bytes have.
    pub(crate) fn begins_with_stream(&self) -> Option<bool> {
        let first = self.bytes[self.came.clone()].first_chunk()?;
        Some(Envelope::detect(first) == Some(Envelope::TtHeaderStreaming))
    }

    /// Returns the next frame of a stream; `None` if more bytes are needed.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Frame>, WireError> {
        let came = &self.bytes[self.came.clone()];
        let Some(frame) = StreamFrame::split(came, self.limits)? else {
            self.make_room()?;
            return Ok(None);
        };
        let StreamFrame { kind, header, payload, rest } = frame;
        let (payload, end) = (memory::copy_of(payload)?, came.len() - rest.len());
        self.came.start += end;
        if self.came.is_empty() {
            self.came = 0..0;
            if self.bytes.len() > KEPT {
                self.bytes = Vec::new();
            }
        }
        Ok(Some(Frame { kind, header, payload }))
    }

    /// Returns the first received bytes. A long message that is alone is returned with its memory.
    fn give(&mut self, count: usize) -> Result<Vec<u8>, WireError> {
        let first = self.came.start..self.came.start + count;
        let is_last = first.end == self.came.end;
        let given = if is_last && first.start == 0 && count > KEPT {
            self.bytes.truncate(count);
            std::mem::take(&mut self.bytes)
        } else {
            memory::copy_of(&self.bytes[first.clone()])?
        };
        self.came.start = first.end;
        if is_last {
            self.came = 0..0;
            if self.bytes.len() > KEPT {
                self.bytes = Vec::new();
            }
        }
        Ok(given)
    }

    fn find(&mut self) -> Result<Option<Found>, WireError> {
        let came = &self.bytes[self.came.clone()];
        let Some(first) = came.first_chunk() else { return Ok(None) };
        match Envelope::detect(first) {
            Some(Envelope::TtHeader) => in_ttheader(came, self.limits),
            Some(Envelope::Framed) => {
                let Some(frame) = thrift::Frame::split(came, self.limits)? else {
                    return Ok(None);
                };
                let end = came.len() - frame.rest.len();
                let message = end - frame.message.len()..end;
                Ok(Some(Found { framing: Framing::Framed, header: None, message, end }))
            }
            Some(Envelope::Unframed) => {
                let Some(end) = self.scan.end(came)? else { return Ok(None) };
                self.scan = MessageScan::new(self.limits);
                Ok(Some(Found { framing: Framing::Unframed, header: None, message: 0..end, end }))
            }
            Some(Envelope::KitexProtobuf) => Err(WireError::Protobuf(None)),
            Some(other) => Err(WireError::Unsupported(other)),
            None => Err(WireError::Unknown(*first)),
        }
    }
}

/// Finds the message in the TTHeader at the start of `came`.
fn in_ttheader(came: &[u8], limits: Limits) -> Result<Option<Found>, WireError> {
    let Some(frame) = TtFrame::split(came, limits)? else { return Ok(None) };
    if frame.header.protocol != PayloadProtocol::Binary {
        return Err(WireError::Payload(frame.header.protocol));
    }
    let end = came.len() - frame.rest.len();
    let mut message = end - frame.payload.len()..end;
    // It has the same protocol number, and no form without a frame.
    if frame.payload.get(4..6) == Some(&[0x90, 0x01]) {
        return Err(WireError::Protobuf(Some(frame.header.sequence)));
    }
    let is_framed = frame.payload.get(4..6) == Some(&[0x80, 0x01]);
    if is_framed {
        let inner =
            thrift::Frame::split(frame.payload, limits)?.filter(|inner| inner.rest.is_empty());
        message.start = end - inner.ok_or(WireError::Frame)?.message.len();
    }
    let framing = Framing::TtHeader { is_framed };
    Ok(Some(Found { framing, header: Some(frame.header), message, end }))
}

#[cfg(test)]
mod tests;
