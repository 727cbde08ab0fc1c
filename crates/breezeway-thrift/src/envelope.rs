//! What a connection speaks, seen from its first bytes.

/// How messages are wrapped on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Envelope {
    /// [`TtHeader`](crate::TtHeader), its payload again in one of the other forms.
    TtHeader,
    /// TTHeader with the flag of streams: payloads are bare structs.
    TtHeaderStreaming,
    /// A mesh header: `ffaf`, a size, and pairs of text.
    Mesh,
    /// Messages one behind the other.
    Unframed,
    /// Each message behind its length: [`Frame`](crate::Frame).
    Framed,
    /// Kitex-Protobuf, framed.
    KitexProtobuf,
    /// HTTP/2, as gRPC speaks it.
    Http2,
}

impl Envelope {
    /// What `first`, the first eight bytes of a connection, begin; nothing if none of these. The
    /// smallest message has 13 bytes, so waiting for eight is safe.
    ///
    /// Apache's THeader (magic `0fff`) and the old form without a version are none.
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
