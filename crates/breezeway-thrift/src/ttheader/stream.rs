//! Frames of streams: TTHeader with a different meaning (Kitex's TTHeader streaming).

use super::{HeaderKey, PayloadProtocol, TtFrame, TtHeader};
use crate::{DecodeError, Fault, Limits};

/// Kind of a stream's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameKind {
    /// About the connection, for proxies between both sides.
    Meta = b'1',
    /// First frame of a side: metadata. The client's opens the stream.
    Header = b'2',
    /// A message.
    Data = b'3',
    /// Last frame of a side: metadata, and the error if the method failed.
    Trailer = b'4',
    /// End of both directions, at once.
    Reset = b'5',
}

/// A frame of a stream, and the bytes behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamFrame<'a> {
    /// Kind of the frame.
    pub kind: FrameKind,
    /// Header: the sequence number is the stream's, [`HeaderKey::TO_METHOD`] its method.
    pub header: TtHeader,
    /// One struct without a message header; in trailers and resets a whole message, or nothing.
    pub payload: &'a [u8],
    /// Bytes behind the frame.
    pub rest: &'a [u8],
}

impl<'a> StreamFrame<'a> {
    /// Splits the first frame off `bytes`. Returns `None` if more bytes are needed.
    pub fn split(bytes: &'a [u8], limits: Limits) -> Result<Option<Self>, DecodeError> {
        let Some(frame) = TtFrame::split(bytes, limits)? else { return Ok(None) };
        let TtFrame { header, payload, rest } = frame;
        let kind = header.frame_kind()?;
        Ok(Some(Self { kind, header, payload, rest }))
    }
}

impl TtHeader {
    /// Returns the header of a frame of a stream.
    pub fn of_stream(stream: i32, kind: FrameKind, method: &str) -> Self {
        Self {
            flags: Self::STREAMING,
            sequence: stream,
            protocol: PayloadProtocol::Struct,
            numbered: vec![
                (HeaderKey::FRAME_TYPE, vec![kind as u8]),
                (HeaderKey::TO_METHOD, method.into()),
            ],
            ..Self::default()
        }
    }

    fn frame_kind(&self) -> Result<FrameKind, DecodeError> {
        if self.flags & Self::STREAMING == 0 {
            return Err(Fault::NoStream(self.flags).at(6));
        }
        if self.protocol != PayloadProtocol::Struct {
            return Err(Fault::StreamProtocol(self.protocol).at(14));
        }
        Ok(match self.numbered(HeaderKey::FRAME_TYPE).unwrap_or_default() {
            b"1" => FrameKind::Meta,
            b"2" => FrameKind::Header,
            b"3" => FrameKind::Data,
            b"4" => FrameKind::Trailer,
            b"5" => FrameKind::Reset,
            other => return Err(Fault::FrameKind(other.to_vec()).at(14)),
        })
    }
}
