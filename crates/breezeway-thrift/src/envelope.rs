//! Detection of a connection's protocol from its first bytes.

/// Envelope of messages on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Envelope {
    /// [`TtHeader`](crate::TtHeader), with a payload in one of the other forms.
    TtHeader,
    /// TTHeader with the flag of streams: payloads are bare structs.
    TtHeaderStreaming,
    /// A mesh header: `ffaf`, a size, and pairs of text.
    Mesh,
    /// Consecutive messages without an envelope.
    Unframed,
    /// Each message preceded by its length: [`Frame`](crate::Frame).
    Framed,
    /// Kitex-Protobuf, framed.
    KitexProtobuf,
    /// HTTP/2, for gRPC.
    Http2,
}

impl Envelope {
    /// Returns the envelope that begins with `first`, the first eight bytes of a connection, if it
    /// is one of these. The smallest message has 13 bytes, so waiting for eight is safe.
    ///
    /// Apache's THeader (magic `0fff`) and the old form without a version are not supported.
    pub fn detect(first: &[u8; 8]) -> Option<Self> {
        Some(match first {
            [_, _, _, _, 0x10, 0x00, _, flags] if flags & 0x02 != 0 => Self::TtHeaderStreaming,
            [_, _, _, _, 0x10, 0x00, ..] => Self::TtHeader,
            [0xff, 0xaf, ..] => Self::Mesh,
            [0x80, 0x01, ..] => Self::Unframed,
            [_, _, _, _, 0x80, 0x01, ..] => Self::Framed,
            [_, _, _, _, 0x90, 0x01, ..] => Self::KitexProtobuf,
            b"PRI * HT" => Self::Http2,
            _ => return None,
        })
    }
}
