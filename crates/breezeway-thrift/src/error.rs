//! Why bytes are no message, and why a message could not be written.

use thiserror::Error;

use crate::WireType;

/// `main` and `unwrap` print errors in their debug form: for these it is the message, which says
/// more to a reader than the fields.
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

/// Why bytes are not the expected message, and where.
#[derive(Clone, Error, PartialEq, Eq)]
#[error("at byte {offset}: {fault}")]
pub struct DecodeError {
    /// The offset of the byte at fault, from where reading began.
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
    /// The message goes on after its end.
    #[error("{0} bytes follow the end of the message")]
    Trailing(usize),
    /// A type byte that Thrift does not have.
    #[error("{0} is no Thrift type")]
    UnknownType(u8),
    /// A list, set or map of something else.
    #[error("elements of type {found} where the IDL says {expected:?}")]
    ElementType {
        /// What the IDL says.
        expected: WireType,
        /// What the message says.
        found: u8,
    },
    /// A negative length or count.
    #[error("the negative length {0}")]
    NegativeLength(i32),
    /// A string longer than what is left of the message.
    #[error("a length of {length} bytes, but only {left} are left")]
    Length {
        /// What the message says.
        length: u32,
        /// How many bytes are left.
        left: usize,
    },
    /// More elements than what is left of the message can hold.
    #[error("{count} elements cannot lie in the {left} bytes that are left")]
    Count {
        /// What the message says.
        count: u32,
        /// How many bytes are left.
        left: usize,
    },
    /// Another bool than 0 and 1, which implementations read differently.
    #[error("{0} is no bool")]
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
        /// How long the message is.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// An owned value that takes more memory than [`Limits::memory`](crate::Limits::memory).
    #[error(
        "this takes {needed} bytes of memory, {left} are left of the limit; raise Limits::memory"
    )]
    Memory {
        /// What this string, list, map or box takes.
        needed: usize,
        /// What is left of the limit.
        left: usize,
    },
    /// A required field is absent.
    #[error("the required field {id} ({name}) is missing")]
    Missing {
        /// Its number in the IDL.
        id: i16,
        /// Its name in the IDL.
        name: &'static str,
    },
    /// The first four bytes are not those of a strict message of version 1.
    #[error("{0:02x?} begin no message of strict Thrift Binary")]
    Version([u8; 4]),
    /// A kind of message that Thrift does not have.
    #[error("{0} is no kind of message")]
    MessageKind(u8),
    /// Another magic than that of TTHeader.
    #[error("{0:#06x} is not the magic of TTHeader")]
    HeaderMagic(u16),
    /// Sizes in TTHeader that contradict each other.
    #[error("{info} bytes of header information in an envelope of length {length}")]
    HeaderSize {
        /// The size of the header information.
        info: usize,
        /// The length of all after the first four bytes.
        length: usize,
    },
    /// A payload protocol that TTHeader does not have.
    #[error("{0:#04x} is no payload protocol of TTHeader")]
    PayloadProtocol(u8),
    /// TTHeader announces a compressed payload, which nothing supports.
    #[error("{0} transforms of the payload, which are not supported")]
    Transforms(u8),
    /// A frame in a stream that has no stream's flag.
    #[error("flags {0:#06x} are not those of a stream")]
    NoStream(u16),
    /// A payload that streams of structs do not carry.
    #[error("streams carry Thrift structs, not {0:?}")]
    StreamProtocol(crate::PayloadProtocol),
    /// A kind of frame that streams do not have.
    #[error("{:?} is no kind of frame", .0.escape_ascii().to_string())]
    FrameKind(Vec<u8>),
    /// A block of header information that TTHeader does not have.
    #[error("{0:#04x} is no block of TTHeader")]
    HeaderBlock(u8),
    /// The source of the bytes failed, or ended before the announced length.
    #[error("the bytes cannot be read: {0:?}")]
    Read(std::io::ErrorKind),
}

impl Fault {
    /// The error that says where.
    #[cold]
    pub(crate) fn at(self, offset: usize) -> DecodeError {
        DecodeError { offset, fault: self }
    }
}

/// Why a message could not be written. What was written of it is worthless.
#[derive(Clone, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer is too small.
    #[error("the message takes {needed} bytes, the buffer has {capacity}")]
    Full {
        /// How many bytes the whole message takes.
        needed: usize,
        /// How many the buffer has.
        capacity: usize,
    },
    /// An iterator gave fewer elements than it had announced.
    #[error("an iterator announced {announced} elements and gave {given}")]
    Count {
        /// What its `len` said.
        announced: usize,
        /// How many came.
        given: usize,
    },
    /// More elements or bytes than the signed 32-bit count of Thrift can say.
    #[error("{0} elements or bytes are more than Thrift can count")]
    TooLong(usize),
    /// A union without a value where one must be written: in a required field, a container, or
    /// alone.
    #[error("a value of union {0} has no field set; set one")]
    EmptyUnion(&'static str),
    /// More metadata than TTHeader can carry.
    #[error("{size} bytes or pairs in TTHeader, where at most {limit} can be")]
    HeaderTooLong {
        /// How many there are.
        size: usize,
        /// How many there can be.
        limit: usize,
    },
}
