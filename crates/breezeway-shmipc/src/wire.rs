//! Messages on the socket. Each starts with eight bytes, big-endian:
//!
//! ```text
//! 0        4       6         7
//! length   | magic | version | type      the length includes these eight bytes
//! ```

use crate::violation::Violation;

/// Size of a message's header.
pub(crate) const HEADER: usize = 8;
/// Size of the header of fallback data.
pub(crate) const FALLBACK_HEADER: usize = 16;

const MAGIC: u16 = 0x7758;

/// Version 2, which supports files only and needs no answer.
pub(crate) const V2: u8 = 2;
/// Version 3, which supports memfds, and acknowledges.
pub(crate) const V3: u8 = 3;

/// Type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MessageType {
    /// Names of two files.
    Files = 0,
    /// There are elements in the queue.
    Polling = 1,
    /// The end of a stream, when the queue was full.
    StreamClose = 2,
    /// Bytes of a stream, when the shared memory was exhausted.
    Fallback = 3,
    /// The highest version of the sender.
    Version = 4,
    /// Labels of two memfds.
    Memfds = 5,
    /// The regions are mapped.
    Mapped = 6,
    /// Ready for the descriptors.
    ReadyForDescriptors = 7,
    /// A new server has taken over the address.
    HotRestart = 8,
    /// A session with the new server exists.
    HotRestartAck = 9,
}

impl MessageType {
    fn from_byte(byte: u8) -> Option<Self> {
        use MessageType::*;
        [
            Files,
            Polling,
            StreamClose,
            Fallback,
            Version,
            Memfds,
            Mapped,
            ReadyForDescriptors,
            HotRestart,
            HotRestartAck,
        ]
        .get(usize::from(byte))
        .copied()
    }
}

/// A message's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Length of the whole message in bytes. Upstream reads it for fallback data and names only,
    /// and so does this crate.
    pub(crate) length: u32,
    /// Version, only compared during the handshake.
    pub(crate) version: u8,
    /// Type of the message.
    pub(crate) kind: MessageType,
}

impl Header {
    /// Validates eight bytes.
    pub(crate) fn decode(bytes: [u8; HEADER]) -> Result<Self, Violation> {
        let [l0, l1, l2, l3, m0, m1, version, kind] = bytes;
        let magic = u16::from_be_bytes([m0, m1]);
        if magic != MAGIC {
            return Err(Violation::Magic(magic));
        }
        if version == 0 {
            return Err(Violation::VersionZero);
        }
        let kind = MessageType::from_byte(kind).ok_or(Violation::MessageType(kind))?;
        Ok(Self { length: u32::from_be_bytes([l0, l1, l2, l3]), version, kind })
    }

    fn encode(kind: MessageType, version: u8, length: usize) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&(length as u32).to_be_bytes());
        bytes[4..6].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[6..].copy_from_slice(&[version, kind as u8]);
        bytes
    }
}

/// Returns a message that consists of its header only.
pub(crate) fn bare(kind: MessageType, version: u8) -> [u8; HEADER] {
    Header::encode(kind, version, HEADER)
}

/// Returns the message for the end of stream `id`.
pub(crate) fn stream_close(version: u8, id: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..HEADER].copy_from_slice(&Header::encode(MessageType::StreamClose, version, 12));
    bytes[HEADER..].copy_from_slice(&id.to_be_bytes());
    bytes
}

/// Returns the header of `len` bytes of stream `id`. Its status is that of an open stream, 0.
pub(crate) fn fallback_header(version: u8, id: u32, len: usize) -> [u8; FALLBACK_HEADER] {
    let mut bytes = [0; FALLBACK_HEADER];
    let header = Header::encode(MessageType::Fallback, version, FALLBACK_HEADER + len);
    bytes[..HEADER].copy_from_slice(&header);
    bytes[HEADER..12].copy_from_slice(&id.to_be_bytes());
    bytes
}

/// Returns the message of a hot restart, or of its acknowledgement.
pub(crate) fn hot_restart(kind: MessageType, version: u8, epoch: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..HEADER].copy_from_slice(&Header::encode(kind, version, 16));
    bytes[HEADER..].copy_from_slice(&epoch.to_be_bytes());
    bytes
}

/// Returns the message with the names of both regions.
pub(crate) fn names(kind: MessageType, version: u8, queue: &str, buffer: &str) -> Vec<u8> {
    let length = HEADER + 4 + queue.len() + buffer.len();
    let mut bytes = Header::encode(kind, version, length).to_vec();
    for name in [queue, buffer] {
        bytes.extend_from_slice(&(name.len() as u16).to_be_bytes());
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes
}

/// The longest message with names: two of 65535 bytes.
const LONGEST_NAMES: u32 = HEADER as u32 + 2 * (2 + 0xffff);

/// Returns the number of bytes behind the header of a message with names.
pub(crate) fn names_len(header: &Header) -> Result<usize, Violation> {
    if header.length < HEADER as u32 + 4 || header.length > LONGEST_NAMES {
        let Header { length, kind, .. } = *header;
        return Err(Violation::MessageLength { kind: kind as u8, length });
    }
    Ok(header.length as usize - HEADER)
}

/// Returns the names of queue and buffer region, in this order.
pub(crate) fn decode_names(body: &[u8]) -> Result<(String, String), Violation> {
    let (queue, rest) = decode_name(body)?;
    let (buffer, rest) = decode_name(rest)?;
    if rest.is_empty() { Ok((queue, buffer)) } else { Err(Violation::NameLength) }
}

fn decode_name(body: &[u8]) -> Result<(String, &[u8]), Violation> {
    let (len, rest) = body.split_first_chunk::<2>().ok_or(Violation::NameLength)?;
    let len = usize::from(u16::from_be_bytes(*len));
    let (name, rest) = rest.split_at_checked(len).ok_or(Violation::NameLength)?;
    let name = str::from_utf8(name).map_err(|_| Violation::NameText)?;
    if name.contains('\0') { Err(Violation::NameText) } else { Ok((name.to_owned(), rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_2_names_are_the_recorded_67_bytes() {
        let bytes = names(
            MessageType::Files,
            V2,
            "/dev/shm/probe_15515_queue_0",
            "/dev/shm/probe_15515_buffer",
        );
        assert_eq!(bytes.len(), 67);
        assert_eq!(bytes[..10], [0, 0, 0, 0x43, 0x77, 0x58, 2, 0, 0, 0x1c]);
        assert_eq!(&bytes[10..38], b"/dev/shm/probe_15515_queue_0");
        assert_eq!(bytes[38..40], [0, 0x1b]);
        assert_eq!(&bytes[40..], b"/dev/shm/probe_15515_buffer");
        let (queue, buffer) = decode_names(&bytes[HEADER..]).unwrap();
        assert_eq!((queue.len(), buffer.len()), (28, 27));
    }

    #[test]
    fn version_3_names_are_the_recorded_69_bytes() {
        let queue = "/dev/shm/probem_18963_queue_0";
        let bytes = names(MessageType::Memfds, V3, queue, "/dev/shm/probem_18963_buffer");
        assert_eq!(bytes[..10], [0, 0, 0, 0x45, 0x77, 0x58, 3, 5, 0, 0x1d]);
        assert_eq!(bytes.len(), 69);
    }

    #[test]
    fn bare_messages_are_as_recorded() {
        assert_eq!(bare(MessageType::Version, V3), [0, 0, 0, 8, 0x77, 0x58, 3, 4]);
        assert_eq!(bare(MessageType::ReadyForDescriptors, V3), [0, 0, 0, 8, 0x77, 0x58, 3, 7]);
        assert_eq!(bare(MessageType::Mapped, V3), [0, 0, 0, 8, 0x77, 0x58, 3, 6]);
        assert_eq!(bare(MessageType::Polling, V2), [0, 0, 0, 8, 0x77, 0x58, 2, 1]);
    }

    #[test]
    fn messages_about_a_stream_are_as_recorded() {
        assert_eq!(stream_close(V3, 9), [0, 0, 0, 12, 0x77, 0x58, 3, 2, 0, 0, 0, 9]);
        assert_eq!(
            fallback_header(V3, 4, 1_200_000),
            [0, 0x12, 0x4f, 0x90, 0x77, 0x58, 3, 3, 0, 0, 0, 4, 0, 0, 0, 0]
        );
        assert_eq!(fallback_header(V3, 9, 7)[..12], [0, 0, 0, 0x17, 0x77, 0x58, 3, 3, 0, 0, 0, 9]);
    }

    #[test]
    fn hot_restart_messages_are_as_recorded() {
        let epoch = 0x1122_3344_5566_7788;
        let expected =
            [0, 0, 0, 16, 0x77, 0x58, 2, 8, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
        assert_eq!(hot_restart(MessageType::HotRestart, V2, epoch), expected);
        assert_eq!(hot_restart(MessageType::HotRestartAck, V2, epoch)[7], 9);
    }

    #[test]
    fn headers_read_back() {
        let header = Header::decode(bare(MessageType::Polling, 99)).unwrap();
        assert_eq!(header, Header { length: 8, version: 99, kind: MessageType::Polling });
    }

    #[test]
    fn headers_that_break_a_rule_are_refused() {
        let broken = |at: usize, value: u8| {
            let mut bytes = bare(MessageType::Polling, V3);
            bytes[at] = value;
            Header::decode(bytes).unwrap_err()
        };
        assert_eq!(broken(4, 0), Violation::Magic(0x0058));
        assert_eq!(broken(6, 0), Violation::VersionZero);
        assert_eq!(broken(7, 10), Violation::MessageType(10));
    }

    #[test]
    fn names_that_do_not_fill_their_message_are_refused() {
        for body in [
            &[][..],
            &[0],
            &[0, 1],
            &[0, 1, b'q', 0],
            &[0, 9, b'q', 0, 1, b'b'],
            &[0, 1, b'q', 0, 1, b'b', b'x'],
        ] {
            assert_eq!(decode_names(body), Err(Violation::NameLength), "{body:?}");
        }
        assert_eq!(decode_names(&[0, 1, 0xff, 0, 0]), Err(Violation::NameText));
        assert_eq!(decode_names(&[0, 1, 0, 0, 0]), Err(Violation::NameText));
    }

    #[test]
    fn a_declared_length_that_no_names_can_have_is_refused() {
        for length in [0, 7, 8, 11, LONGEST_NAMES + 1, u32::MAX] {
            let header = Header { length, version: V3, kind: MessageType::Memfds };
            assert_eq!(names_len(&header), Err(Violation::MessageLength { kind: 5, length }));
        }
    }
}
