//! Messages of a connection: received ones, and writing the next.

use std::ops::Range;

use breezeway_os::memory::zeroed;

use crate::error::Error;
use crate::thrift::{
    Encode, EncodeError, FRAME_HEADER_SIZE, MessageHeader, Output, TtHeader, frame_header,
};

/// Framing of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Unframed,
    Framed,
    TtHeader { is_framed: bool },
}

impl Framing {
    fn frame(self) -> usize {
        match self {
            Self::Framed | Self::TtHeader { is_framed: true } => FRAME_HEADER_SIZE,
            Self::Unframed | Self::TtHeader { is_framed: false } => 0,
        }
    }
}

/// A received message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) framing: Framing,
    pub(crate) header: Option<TtHeader>,
    pub(crate) head: MessageHeader,
    /// All bytes, framing included.
    pub(crate) bytes: Vec<u8>,
    /// Range of the struct.
    pub(crate) body: Range<usize>,
}

/// Memory of a pair of metadata beside its bytes: two vectors, with the allocator's overhead.
const PAIR: usize = 128;

/// Returns the approximate memory of a header's pairs beside their bytes.
pub(super) fn pairs_memory(header: &TtHeader) -> usize {
    (header.texts.len() + header.numbered.len()) * PAIR
}

impl Message {
    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[self.body.clone()]
    }

    /// Returns the approximate memory of the message.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.len() + self.header.as_ref().map_or(0, pairs_memory)
    }
}

/// Writes a message: its struct has `size` bytes, written by `fill`.
pub(crate) fn write(
    framing: Framing,
    header: &TtHeader,
    head: &MessageHeader<&str>,
    size: usize,
    fill: &mut dyn FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<Vec<u8>, Error> {
    let message = head.size() + size;
    let payload = framing.frame() + message;
    let outside = match framing {
        Framing::TtHeader { .. } => header.size(),
        Framing::Framed | Framing::Unframed => 0,
    };
    let mut bytes = zeroed(outside + payload).map_err(Error::memory)?;
    if outside > 0 {
        let mut output = Output::new(&mut bytes[..outside]);
        header.encode(payload, &mut output);
        output.finish()?;
    }
    let (frame, rest) = bytes[outside..].split_at_mut(framing.frame());
    if !frame.is_empty() {
        frame.copy_from_slice(&frame_header(message).ok_or(EncodeError::TooLong(message))?);
    }
    let (start, body) = rest.split_at_mut(head.size());
    let mut output = Output::new(start);
    head.encode(&mut output);
    output.finish()?;
    fill(body)?;
    Ok(bytes)
}

/// Writes a message like [`write`], from a value.
pub(crate) fn write_value<T: Encode>(
    framing: Framing,
    header: &TtHeader,
    head: &MessageHeader<&str>,
    value: &T,
) -> Result<Vec<u8>, Error> {
    write(framing, header, head, value.size(), &mut |bytes| {
        crate::thrift::encode_slice(value, bytes)
    })
}
