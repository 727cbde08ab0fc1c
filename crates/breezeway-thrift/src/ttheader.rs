//! TTHeader: an envelope for sockets, with metadata before the message (CloudWeGo's "Transport
//! protocol TTHeader").
//!
//! ```text
//!  0  length of all that follows: u32
//!  4  magic: 0x1000
//!  6  flags: u16
//!  8  sequence: i32
//! 12  size of the header information, in words of four bytes: u16
//! 14  protocol: u8, number of transforms: u8, transforms, blocks of information, padding
//!     payload
//! ```

mod decode;
mod encode;
mod key;
mod stream;

pub use decode::TtFrame;
pub use key::HeaderKey;
pub use stream::{FrameKind, StreamFrame};

use crate::Fault;

/// The magic, the two bytes after the length.
const MAGIC: u16 = 0x1000;

/// Size of the part before the header information.
const FIXED_SIZE: usize = 14;

/// Maximum size of the header information that is written, in bytes; more is accepted when read.
/// Implementations up to gopkg 0.1.5 refuse more.
const MAX_INFO: usize = 65536;

/// First byte of each block of header information.
mod block {
    pub(super) const PADDING: u8 = 0x00;
    pub(super) const TEXTS: u8 = 0x01;
    pub(super) const NUMBERED: u8 = 0x10;
    pub(super) const ACL_TOKEN: u8 = 0x11;
}

/// Encoding of the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PayloadProtocol {
    /// Thrift Binary, with or without a frame (also Kitex-Protobuf).
    #[default]
    Binary = 0x00,
    /// Thrift Compact as in Apache Thrift.
    Compact = 0x02,
    /// Thrift Compact as in fbthrift.
    CompactV2 = 0x03,
    /// Kitex-Protobuf.
    KitexProtobuf = 0x04,
    /// One Thrift struct without a message header, in a stream.
    Struct = 0x10,
    /// One Protobuf message without a header, in a stream.
    ProtobufStruct = 0x11,
}

impl TryFrom<u8> for PayloadProtocol {
    type Error = Fault;

    fn try_from(byte: u8) -> Result<Self, Fault> {
        Ok(match byte {
            0x00 => Self::Binary,
            0x02 => Self::Compact,
            0x03 => Self::CompactV2,
            0x04 => Self::KitexProtobuf,
            0x10 => Self::Struct,
            0x11 => Self::ProtobufStruct,
            unknown => return Err(Fault::PayloadProtocol(unknown)),
        })
    }
}

/// Description of the payload in TTHeader. Keys and values are bytes, mostly text, which Go does
/// not check; each has at most 65,535 bytes, and all together 64 KiB when written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TtHeader {
    /// [`Self::STREAMING`] and others; 0 for a plain call.
    pub flags: u16,
    /// The sequence number of the message, or the number of its stream.
    pub sequence: i32,
    /// Encoding of the payload.
    pub protocol: PayloadProtocol,
    /// An access token.
    pub acl_token: Option<Vec<u8>>,
    /// Metadata by name, in the writer's order, which has no meaning.
    pub texts: Vec<(Vec<u8>, Vec<u8>)>,
    /// Metadata by number, in the writer's order, which has no meaning.
    pub numbered: Vec<(HeaderKey, Vec<u8>)>,
}

impl TtHeader {
    /// Flag of a message of a stream.
    pub const STREAMING: u16 = 0x0002;

    /// Returns the value of the last pair with this name.
    pub fn text(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        let name = name.as_ref();
        self.texts.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_slice())
    }

    /// Returns the value of the last pair with this number.
    pub fn numbered(&self, key: HeaderKey) -> Option<&[u8]> {
        let mut pairs = self.numbered.iter().rev();
        pairs.find(|(found, _)| *found == key).map(|(_, value)| value.as_slice())
    }
}
