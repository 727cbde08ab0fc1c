//! Envelopes of messages: a length, a TTHeader, or none.

use std::io::Write;

use breezeway_thrift::{
    DecodeError, Envelope, FRAME_HEADER_SIZE, Frame, Limits, TtFrame, WireType,
};

use super::printer::Problem;

/// Range of the message in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wrapped {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Wrapped {
    /// An error in the message, at its place in the file.
    pub(crate) fn shifted(self, error: DecodeError) -> Problem {
        Problem::Message(error).shifted(self.start)
    }
}

/// Finds the message, and prints its envelope.
pub(crate) fn open(bytes: &[u8], out: &mut impl Write) -> Result<Wrapped, Problem> {
    match bytes.first_chunk().and_then(Envelope::detect) {
        _ if looks_bare(bytes) => Ok(Wrapped { start: 0, end: bytes.len() }),
        Some(Envelope::TtHeader | Envelope::TtHeaderStreaming) => tt_header(bytes, out),
        Some(Envelope::Framed) => framed(bytes, 0, bytes.len(), out),
        _ => Ok(Wrapped { start: 0, end: bytes.len() }),
    }
}

/// Returns true if the first byte is more likely a field's type than that of a length, which would
/// be 32 MiB or more and beyond the file's end: a bare struct can have any bytes behind its first
/// field's header, also those of an envelope.
fn looks_bare(bytes: &[u8]) -> bool {
    let Some((&[first, second, third, fourth], rest)) = bytes.split_first_chunk() else {
        return false;
    };
    let length = u32::from_be_bytes([first, second, third, fourth]) as usize;
    WireType::try_from(first).is_ok() && length > rest.len()
}

fn limits() -> Limits {
    Limits { size: usize::MAX, ..Limits::default() }
}

fn framed(
    bytes: &[u8],
    start: usize,
    end: usize,
    out: &mut impl Write,
) -> Result<Wrapped, Problem> {
    let here = Wrapped { start, end };
    let frame = Frame::split(&bytes[start..end], limits()).map_err(|error| here.shifted(error))?;
    let Some(frame) = frame else { return Err(Problem::CutOff { what: "frame", at: end }) };
    writeln!(out, "frame of {} bytes", frame.message.len())?;
    let start = start + FRAME_HEADER_SIZE;
    refuse_more(frame.rest, end)?;
    Ok(Wrapped { start, end: start + frame.message.len() })
}

fn tt_header(bytes: &[u8], out: &mut impl Write) -> Result<Wrapped, Problem> {
    let frame = TtFrame::split(bytes, limits()).map_err(Problem::Message)?;
    let Some(frame) = frame else {
        return Err(Problem::CutOff { what: "TTHeader frame", at: bytes.len() });
    };
    let header = &frame.header;
    writeln!(out, "TTHeader, sequence {}, flags {:#06x}", header.sequence, header.flags)?;
    for (key, value) in &header.numbered {
        writeln!(out, "  {}: {}", key.0, quoted(value))?;
    }
    for (key, value) in &header.texts {
        writeln!(out, "  {}: {}", quoted(key), quoted(value))?;
    }
    refuse_more(frame.rest, bytes.len())?;
    let start = bytes.len() - frame.payload.len();
    let payload = Wrapped { start, end: bytes.len() };
    match frame.payload.first_chunk().and_then(Envelope::detect) {
        Some(Envelope::Framed) => framed(bytes, payload.start, payload.end, out),
        _ => Ok(payload),
    }
}

/// Metadata is text by custom only: other bytes are escaped.
fn quoted(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("\"{}\"", bytes.escape_ascii()),
    }
}

fn refuse_more(rest: &[u8], end: usize) -> Result<(), Problem> {
    match rest.len() {
        0 => Ok(()),
        more => Err(Problem::More { more, at: end - more }),
    }
}
