//! Errors of decoding and of encoding.

use thiserror::Error;

use crate::WireType;

/// Implements `Debug` as the message. `main` and `unwrap` print errors in their debug form, and the
/// message is more useful to a reader than the fields.
macro_rules! debug_is_message {
    ($($error:ty),+ $(,)?) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, formatter)
            }
        }
    )+};
}

debug_is_message!(DecodeError, EncodeError);

/// Error for bytes that are not the expected message.
#[derive(Clone, Error, PartialEq, Eq)]
#[error("at byte {offset}: {fault}")]
pub struct DecodeError {
    /// Offset of the byte at fault, from the start of reading.
    pub offset: usize,
    /// The broken rule.
    pub fault: Fault,
}

/// The rule that bytes break.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The message ends inside a value.
    #[error("the message ends here, {0} bytes too early")]
    Truncated(usize),
    /// Bytes follow the end of the message.
    #[error("{0} bytes follow the end of the message")]
    Trailing(usize),
    /// A type byte that Thrift does not define.
    #[error("{0} is not a Thrift type")]
    UnknownType(u8),
    /// A list, set or map with the wrong element type.
    #[error("elements of type {found} where the IDL has {expected:?}")]
    ElementType {
        /// Type in the IDL.
        expected: WireType,
        /// Type in the message.
        found: u8,
    },
    /// A negative length or count.
    #[error("the negative length {0}")]
    NegativeLength(i32),
    /// A string longer than the rest of the message.
    #[error("a length of {length} bytes, but only {left} are left")]
    Length {
        /// Length in the message.
        length: u32,
        /// Bytes left.
        left: usize,
    },
    /// More elements than fit into the rest of the message.
    #[error("{count} elements cannot lie in the {left} bytes that are left")]
    Count {
        /// Count in the message.
        count: u32,
        /// Bytes left.
        left: usize,
    },
    /// A bool other than 0 and 1, which implementations read differently.
    #[error("{0} is not a bool")]
    Bool(u8),
    /// A string that is not UTF-8.
    #[error("a string that is not UTF-8")]
    Utf8,
    /// Nested deeper than [`Limits::depth`](crate::Limits::depth).
    #[error("nested deeper than the limit; raise Limits::depth")]
    Depth,
    /// Longer than [`Limits::size`](crate::Limits::size).
    #[error("{size} bytes are more than the limit of {limit}; raise Limits::size")]
    Size {
        /// Size of the message.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// An owned value that takes more memory than [`Limits::memory`](crate::Limits::memory).
    #[error(
        "this takes {needed} bytes of memory, {left} are left of the limit; raise Limits::memory"
    )]
    Memory {
        /// Memory needed for this string, list, map or box.
        needed: usize,
        /// Memory left of the limit.
        left: usize,
    },
    /// A required field is absent.
    #[error("the required field {id} ({name}) is missing")]
    Missing {
        /// Field number in the IDL.
        id: i16,
        /// Field name in the IDL.
        name: &'static str,
    },
    /// The first four bytes are not those of a strict message of version 1.
    #[error("{0:02x?} begin no message of strict Thrift Binary")]
    Version([u8; 4]),
    /// A kind of message that Thrift does not define.
    #[error("{0} is not a kind of message")]
    MessageKind(u8),
    /// A magic other than TTHeader's.
    #[error("{0:#06x} is not the magic of TTHeader")]
    HeaderMagic(u16),
    /// Sizes in TTHeader that contradict each other.
    #[error("{info} bytes of header information in an envelope of length {length}")]
    HeaderSize {
        /// Size of the header information.
        info: usize,
        /// Length of all after the first four bytes.
        length: usize,
    },
    /// A payload protocol that TTHeader does not define.
    #[error("{0:#04x} is not a payload protocol of TTHeader")]
    PayloadProtocol(u8),
    /// TTHeader announces a compressed payload, which is not supported.
    #[error("{0} transforms of the payload, which are not supported")]
    Transforms(u8),
    /// A frame in a stream without the stream flag.
    #[error("flags {0:#06x} are not those of a stream")]
    NoStream(u16),
    /// A payload protocol that streams of structs do not carry.
    #[error("streams carry Thrift structs, not {0:?}")]
    StreamProtocol(crate::PayloadProtocol),
    /// A kind of frame that streams do not define.
    #[error("{:?} is not a kind of frame", .0.escape_ascii().to_string())]
    FrameKind(Vec<u8>),
    /// A block of header information that TTHeader does not define.
    #[error("{0:#04x} is not a block of TTHeader")]
    HeaderBlock(u8),
    /// The source of the bytes failed, or ended before the announced length.
    #[error("the bytes cannot be read: {0:?}")]
    Read(std::io::ErrorKind),
}

impl Fault {
    /// Returns the error with this offset.
    #[cold]
    pub(crate) fn at(self, offset: usize) -> DecodeError {
        DecodeError { offset, fault: self }
    }
}

/// Error of writing a message. The part written so far is not usable.
#[derive(Clone, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer is too small.
    #[error("the message takes {needed} bytes, the buffer has {capacity}")]
    Full {
        /// Size of the whole message.
        needed: usize,
        /// Size of the buffer.
        capacity: usize,
    },
    /// An iterator returned fewer elements than it had announced.
    #[error("an iterator announced {announced} elements and gave {given}")]
    Count {
        /// Result of its `len`.
        announced: usize,
        /// Number of elements returned.
        given: usize,
    },
    /// More elements or bytes than the signed 32-bit count of Thrift can represent.
    #[error("{0} elements or bytes are more than Thrift can count")]
    TooLong(usize),
    /// A union without a value where one must be written: in a required field, a container, or
    /// alone.
    #[error("a value of union {0} has no field set; set one")]
    EmptyUnion(&'static str),
    /// More metadata than TTHeader can carry.
    #[error("{size} bytes or pairs in TTHeader, where at most {limit} can be")]
    HeaderTooLong {
        /// Bytes or pairs to write.
        size: usize,
        /// The limit.
        limit: usize,
    },
}
