//! The frame: the header that precedes each message on a socket (`docs/abi.md`, section 8). Bytes
//! in, values out.

use crate::entry::{Flags, Head, Kind, RawHead};
use crate::validate::WINDOW_LEN;
use crate::violation::CallViolation;

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 16;
/// Length in bytes of the largest body that a header can announce, in whole pages.
pub const LONGEST_BODY: u64 = (u32::MAX as u64 + 1) - 4096;

const KIND_AT: usize = 4;
const FLAGS_AT: usize = 5;
const TIME_AT: usize = 6;
const STREAM_AT: usize = 8;
const TAG_AT: usize = 12;

/// Returns the header of a frame with this head and `len` bytes of body.
#[inline]
pub fn encode(head: Head, len: usize) -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    let len = u32::try_from(len).expect("a message's length was checked against the cap");
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    bytes[KIND_AT] = head.kind as u8;
    bytes[FLAGS_AT] = head.flags.bits();
    bytes[TIME_AT..][..2].copy_from_slice(&head.time.to_le_bytes());
    bytes[STREAM_AT..][..4].copy_from_slice(&head.stream.to_le_bytes());
    bytes[TAG_AT..][..4].copy_from_slice(&head.tag.to_le_bytes());
    bytes
}

/// Validates a header. Returns the head as the peer sent it and the length of the body.
#[inline]
pub fn decode(bytes: &[u8; HEADER_LEN], cap: usize) -> Result<(RawHead, usize), CallViolation> {
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
    let head = RawHead {
        kind: bytes[KIND_AT],
        flags: bytes[FLAGS_AT],
        stream: word(STREAM_AT),
        tag: word(TAG_AT),
        time: u16::from_le_bytes([bytes[TIME_AT], bytes[TIME_AT + 1]]),
    };
    let len = word(0) as usize;
    match Kind::from_number(head.kind) {
        Some(Kind::Message) if head.flags & Flags::LENT.bits() != 0 => {
            Err(CallViolation::Flags(head.flags))
        }
        Some(Kind::Message) if len <= cap => Ok((head, len)),
        Some(Kind::Reset | Kind::Cancel | Kind::GoAway | Kind::Shutdown) if len == 0 => {
            Ok((head, len))
        }
        Some(Kind::Window) if len == WINDOW_LEN => Ok((head, len)),
        Some(kind) if !matches!(kind, Kind::SegmentAdd | Kind::SegmentRetire | Kind::Deadline) => {
            Err(CallViolation::FrameLength { kind: head.kind, len, cap })
        }
        Some(kind) => Err(CallViolation::Unexpected(kind)),
        None => Err(CallViolation::Kind(head.kind)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: Head = Head {
        kind: Kind::Message,
        flags: Flags::FIN,
        stream: 0xdead_beef,
        tag: 0x1234_5678,
        time: 0x0807,
    };

    #[test]
    fn header_layout_equals_the_abi_page() {
        let expected = [5, 0, 0, 0, 1, 2, 7, 8, 0xef, 0xbe, 0xad, 0xde, 0x78, 0x56, 0x34, 0x12];
        assert_eq!(encode(HEAD, 5), expected);
        let head = RawHead { kind: 1, flags: 2, stream: HEAD.stream, tag: HEAD.tag, time: 0x0807 };
        assert_eq!(decode(&expected, 5), Ok((head, 5)));
    }

    #[test]
    fn invalid_frame_header_is_a_violation() {
        let with = |at: usize, byte: u8| {
            let mut bytes = encode(HEAD, 5);
            bytes[at] = byte;
            decode(&bytes, 100)
        };
        assert_eq!(with(FLAGS_AT, 0x06), Err(CallViolation::Flags(0x06)));
        assert_eq!(with(KIND_AT, 0), Err(CallViolation::Kind(0)));
        assert_eq!(with(KIND_AT, 6), Err(CallViolation::Unexpected(Kind::SegmentAdd)));
        let too_long = |kind, len| Err(CallViolation::FrameLength { kind, len, cap: 100 });
        assert_eq!(with(0, 101), too_long(1, 101));
        assert_eq!(with(KIND_AT, 9), too_long(9, 5));
    }

    proptest! {
        #[test]
        fn arbitrary_header_never_exceeds_the_cap(bytes: [u8; HEADER_LEN], cap in 0usize..1 << 40) {
            if let Ok((_, len)) = decode(&bytes, cap) {
                prop_assert!(len <= cap);
            }
        }
    }
}
