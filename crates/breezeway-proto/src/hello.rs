//! The hello: terms that both sides state once and validate once (`docs/abi.md`, section 2). Bytes
//! in, values out; this module uses no sockets.

use std::ops::RangeInclusive;

use thiserror::Error;

use crate::connection::{StreamTerms, Window};
use crate::printable::printable;

/// Smallest and largest ring capacity, in entries (powers of two).
pub const RING_CAPACITY: RangeInclusive<u32> = 8..=65_536;
/// Smallest and largest number of lend numbers (multiples of 64).
pub const LEND_COUNT: RangeInclusive<u32> = 64..=1024;

/// Returns the size in bytes of a control segment with a ring of `capacity` entries (`docs/abi.md`,
/// section 3).
pub const fn control_size(capacity: u32) -> usize {
    (4096 + capacity as usize * 128).next_multiple_of(4096)
}

/// First eight bytes of a hello: `BRZWHELO`.
pub const MAGIC: [u8; 8] = *b"BRZWHELO";
/// Version of the protocol that this side speaks.
pub const VERSION: u16 = 2;
/// Size of a hello without fields behind its fixed part.
pub const FIXED_LEN: usize = 64;
/// Length of the longest hello in bytes.
pub const LONGEST: usize = 4096;
/// Length of the longest reason in a refusal in bytes.
pub const LONGEST_REASON: usize = 256;
/// Unit of payload caps, which are multiples of it.
pub const CAP_UNIT: u64 = 4096;

/// Returns the maximum bytes of payload segments per direction for messages of `cap` bytes at most.
/// Sessions with streams have a quarter more, a reserve for streams that hold nothing.
pub const fn segment_cap(cap: u64, has_streams: bool) -> u64 {
    let reserve = if has_streams { cap / 4 } else { 0 };
    cap.saturating_add(reserve) / CAP_UNIT * CAP_UNIT
}

const VERSION_AT: usize = 8;
const LENGTH_AT: usize = 10;
const FEATURES_AT: usize = 12;
const RING_CAPACITY_AT: usize = 16;
const LEND_COUNT_AT: usize = 20;
const CONTROL_SIZE_AT: usize = 24;
const PAYLOAD_CAP_AT: usize = 32;
const STATUS_AT: usize = 40;
const STREAM_MESSAGES_AT: usize = 44;
const STREAM_BYTES_AT: usize = 48;
const MAX_STREAMS_AT: usize = 56;
const SERVICE_AT: usize = 58;
const MAX_METADATA_AT: usize = 60;

/// Bytes in front of the value of a field: its type and its length.
const FIELD_HEAD: usize = 4;

/// Feature bit of a sender that takes go-away entries.
const GO_AWAY: u32 = 1;

/// Terms of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Number of entries in the sender's ring.
    pub ring_capacity: u32,
    /// Number of lend numbers that the sender keeps release bits for.
    pub lend_count: u32,
    /// Maximum bytes of payload segments per direction that the sender creates and maps.
    pub payload_cap: u64,
    /// True if messages travel by shared memory.
    pub memory: bool,
    /// Terms on which the sender takes streams.
    pub streams: StreamTerms,
    /// Service number, which defines the meaning of the messages.
    pub service: u16,
    /// Length in bytes of the longest metadata block that the sender takes.
    pub max_metadata: u32,
    /// True if the sender takes go-away entries even without streams.
    pub go_away: bool,
}

impl Hello {
    /// Returns the size of the sender's control segment in bytes.
    fn control_size(&self) -> u64 {
        if self.memory { control_size(self.ring_capacity) as u64 } else { 0 }
    }
}

/// Reason why a server refuses a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Refusal {
    /// The server does not speak the client's version of the protocol.
    Version = 1,
    /// The server's policy refuses the client's credentials.
    Denied = 2,
    /// The server serves as many sessions as its limit allows.
    Busy = 3,
    /// The server could not create its segments.
    NoMemory = 4,
    /// The client's hello, or the segment with it, broke a rule.
    Violation = 5,
    /// The server serves shared memory here and the client offers none, or the reverse.
    Carrier = 6,
}

/// Content of a hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Terms of the sender.
    Welcome(Hello),
    /// Refusal of a session by a server.
    Refused {
        /// Number of the [`Refusal`].
        status: u32,
        /// Reason given by the server, printable.
        reason: String,
    },
}

impl Greeting {
    /// Returns true for the hello of a side that takes neither streams nor metadata.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Welcome(hello) if hello.is_plain())
    }
}

/// Returns a remedy for the protocol that the first bytes belong to.
fn hint(bytes: &[u8]) -> &'static str {
    match bytes {
        // A record of a handshake or an alert (RFC 8446, section 5.1).
        [21 | 22, 3, ..] => "; it speaks TLS: use tls: on both sides",
        _ => "",
    }
}

/// Error of a received hello.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum HelloError {
    /// The first bytes are not those of a hello: the peer speaks another protocol.
    #[error(
        "the peer does not speak Breezeway: its first bytes are {0:02x?}{hint}",
        hint = hint(.0)
    )]
    Magic(Vec<u8>),
    /// A length outside 64..=4096.
    #[error("hello length {0} is not in {FIXED_LEN}..={LONGEST}")]
    Length(usize),
    /// A version that this side does not speak.
    #[error(
        "the peer speaks version {0} of the protocol, this side version {VERSION}; upgrade \
         the older one"
    )]
    Version(u16),
    /// A ring capacity that the ABI does not allow.
    #[error("ring capacity {0} is not a power of two in {RING_CAPACITY:?}")]
    RingCapacity(u32),
    /// A lend count that the ABI does not allow.
    #[error("lend count {0} is not a multiple of 64 in {LEND_COUNT:?}")]
    LendCount(u32),
    /// A control segment size that does not follow from the ring capacity.
    #[error("control size {found} is not {expected}, as ring capacity {capacity} requires")]
    ControlSize {
        /// Size in the hello.
        found: u64,
        /// Ring capacity in the hello.
        capacity: u32,
        /// Size that the capacity requires.
        expected: u64,
    },
    /// A payload cap that is not a positive multiple of the page size.
    #[error("payload cap {0} is not a non-zero multiple of {CAP_UNIT}")]
    PayloadCap(u64),
    /// Streams without a window: nothing could be sent on them.
    #[error("{streams} streams with a window of {messages} messages and {bytes} bytes")]
    StreamWindow {
        /// Number of streams that the sender takes.
        streams: u16,
        /// Number of messages of its window.
        messages: u32,
        /// Number of bytes of its window.
        bytes: u64,
    },
    /// A limit of metadata blocks that does not fit into the two bytes of their length.
    #[error("metadata limit {0} is past 65535")]
    MaxMetadata(u32),
    /// Bytes behind the last field that are too few for another one.
    #[error("hello field with a head of {0} bytes where {FIELD_HEAD} are needed")]
    FieldHead(usize),
    /// A field with a value that passes the end of the hello.
    #[error("hello field of type {kind:#06x} has {length} bytes where {left} are left")]
    FieldLength {
        /// Type of the field.
        kind: u16,
        /// Length of its value in bytes, as it announces.
        length: u16,
        /// Number of bytes up to the end of the hello.
        left: usize,
    },
    /// A field that comes twice, or before one of a smaller type.
    #[error("hello field of type {kind:#06x} lies behind one of type {before:#06x}: types ascend")]
    FieldOrder {
        /// Type of the field.
        kind: u16,
        /// Type of the field before it.
        before: u16,
    },
}

impl Hello {
    /// Returns true if this side takes neither streams nor metadata: it makes plain calls, or
    /// serves them.
    pub fn is_plain(&self) -> bool {
        self.streams.max_streams == 0 && self.max_metadata == 0
    }

    /// Returns the bytes of a hello with these terms.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = frame(FIXED_LEN);
        let features = if self.go_away { GO_AWAY } else { 0 };
        put(&mut bytes, FEATURES_AT, &features.to_le_bytes());
        put(&mut bytes, RING_CAPACITY_AT, &self.ring_capacity.to_le_bytes());
        put(&mut bytes, LEND_COUNT_AT, &self.lend_count.to_le_bytes());
        put(&mut bytes, CONTROL_SIZE_AT, &self.control_size().to_le_bytes());
        put(&mut bytes, PAYLOAD_CAP_AT, &self.payload_cap.to_le_bytes());
        let StreamTerms { window, max_streams } = self.streams;
        put(&mut bytes, STREAM_MESSAGES_AT, &window.messages.to_le_bytes());
        put(&mut bytes, STREAM_BYTES_AT, &window.bytes.to_le_bytes());
        put(&mut bytes, MAX_STREAMS_AT, &max_streams.to_le_bytes());
        put(&mut bytes, SERVICE_AT, &self.service.to_le_bytes());
        put(&mut bytes, MAX_METADATA_AT, &self.max_metadata.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, HelloError> {
        let found = u64::from_le_bytes(get(bytes, CONTROL_SIZE_AT));
        let hello = Self {
            ring_capacity: u32::from_le_bytes(get(bytes, RING_CAPACITY_AT)),
            lend_count: u32::from_le_bytes(get(bytes, LEND_COUNT_AT)),
            payload_cap: u64::from_le_bytes(get(bytes, PAYLOAD_CAP_AT)),
            memory: found != 0,
            streams: StreamTerms {
                window: Window {
                    messages: u32::from_le_bytes(get(bytes, STREAM_MESSAGES_AT)),
                    bytes: u64::from_le_bytes(get(bytes, STREAM_BYTES_AT)),
                },
                max_streams: u16::from_le_bytes(get(bytes, MAX_STREAMS_AT)),
            },
            service: u16::from_le_bytes(get(bytes, SERVICE_AT)),
            max_metadata: u32::from_le_bytes(get(bytes, MAX_METADATA_AT)),
            go_away: u32::from_le_bytes(get(bytes, FEATURES_AT)) & GO_AWAY != 0,
        };
        let capacity = hello.ring_capacity;
        if !capacity.is_power_of_two() || !RING_CAPACITY.contains(&capacity) {
            return Err(HelloError::RingCapacity(capacity));
        }
        if !hello.lend_count.is_multiple_of(64) || !LEND_COUNT.contains(&hello.lend_count) {
            return Err(HelloError::LendCount(hello.lend_count));
        }
        let expected = hello.control_size();
        if found != expected {
            return Err(HelloError::ControlSize { found, capacity, expected });
        }
        if hello.payload_cap == 0 || !hello.payload_cap.is_multiple_of(CAP_UNIT) {
            return Err(HelloError::PayloadCap(hello.payload_cap));
        }
        let StreamTerms { window: Window { messages, bytes }, max_streams } = hello.streams;
        if max_streams > 0 && (messages == 0 || bytes == 0) {
            return Err(HelloError::StreamWindow { streams: max_streams, messages, bytes });
        }
        if hello.max_metadata > u32::from(u16::MAX) {
            return Err(HelloError::MaxMetadata(hello.max_metadata));
        }
        Ok(hello)
    }
}

/// Validates the fields behind the fixed part. All types are unknown, so all values are ignored.
fn check_fields(mut bytes: &[u8]) -> Result<(), HelloError> {
    let mut before = None;
    while !bytes.is_empty() {
        let (head, rest) =
            bytes.split_first_chunk::<FIELD_HEAD>().ok_or(HelloError::FieldHead(bytes.len()))?;
        let [kind, length] = [0, 2].map(|at| u16::from_le_bytes(get(head, at)));
        let left = rest.len();
        bytes = rest.get(usize::from(length)..).ok_or(HelloError::FieldLength {
            kind,
            length,
            left,
        })?;
        if let Some(before) = before.filter(|before| kind <= *before) {
            return Err(HelloError::FieldOrder { kind, before });
        }
        before = Some(kind);
    }
    Ok(())
}

/// Returns the bytes of a refusal. A reason longer than [`LONGEST_REASON`] is cut.
pub fn encode_refusal(refusal: Refusal, reason: &str) -> Vec<u8> {
    let reason = &reason[..reason.floor_char_boundary(LONGEST_REASON)];
    let mut bytes = frame(FIXED_LEN + reason.len());
    put(&mut bytes, STATUS_AT, &(refusal as u32).to_le_bytes());
    put(&mut bytes, FIXED_LEN, reason.as_bytes());
    bytes
}

fn frame(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    put(&mut bytes, 0, &MAGIC);
    put(&mut bytes, VERSION_AT, &VERSION.to_le_bytes());
    put(&mut bytes, LENGTH_AT, &(len as u16).to_le_bytes());
    bytes
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn get<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("the range has N bytes")
}

/// Reader that collects a hello from a stream, and never asks for a byte behind it.
#[derive(Debug, Default)]
pub struct HelloReader {
    bytes: Vec<u8>,
}

impl HelloReader {
    /// Returns the number of bytes that may be read next.
    pub fn wanted(&self) -> usize {
        let len = if self.bytes.len() < FIXED_LEN { FIXED_LEN } else { self.announced_len() };
        len - self.bytes.len()
    }

    fn announced_len(&self) -> usize {
        usize::from(u16::from_le_bytes(get(&self.bytes, LENGTH_AT)))
    }

    /// Returns true if no byte was received.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns all bytes that were received.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Takes received bytes, at most [`Self::wanted`]. Returns the hello once it is complete, and
    /// an error as soon as the bytes cannot be one.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Option<Greeting>, HelloError> {
        self.bytes.extend_from_slice(bytes);
        let known = self.bytes.len().min(MAGIC.len());
        if self.bytes[..known] != MAGIC[..known] {
            return Err(HelloError::Magic(self.bytes[..known].to_vec()));
        }
        if self.bytes.len() < FIXED_LEN {
            return Ok(None);
        }
        let len = self.announced_len();
        if !(FIXED_LEN..=LONGEST).contains(&len) {
            return Err(HelloError::Length(len));
        }
        if self.bytes.len() < len {
            return Ok(None);
        }
        self.decode().map(Some)
    }

    fn decode(&self) -> Result<Greeting, HelloError> {
        let status = u32::from_le_bytes(get(&self.bytes, STATUS_AT));
        if status != 0 {
            let reason = &self.bytes[FIXED_LEN..];
            let reason = &reason[..reason.len().min(LONGEST_REASON)];
            let reason = printable(&String::from_utf8_lossy(reason));
            return Ok(Greeting::Refused { status, reason });
        }
        let version = u16::from_le_bytes(get(&self.bytes, VERSION_AT));
        if version != VERSION {
            return Err(HelloError::Version(version));
        }
        let hello = Hello::decode(&self.bytes)?;
        check_fields(&self.bytes[FIXED_LEN..])?;
        Ok(Greeting::Welcome(hello))
    }
}

#[cfg(test)]
mod tests;
