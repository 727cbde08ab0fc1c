//! The byte layout of control segments and ring entries: constants only, fixed by `docs/abi.md`
//! (sections 3 and 4).

/// Size of an entry, and of the distance between two entries, in bytes.
pub const ENTRY_SIZE: usize = 128;
/// 64-bit words in an entry.
pub const ENTRY_WORDS: usize = ENTRY_SIZE / 8;
/// 64-bit words in an entry's first cache line, the one with the sequence.
pub const FIRST_LINE_WORDS: usize = 8;
/// Words before the body: sequence, head and tag words.
pub const BODY_WORD: usize = 3;
/// Inline body bytes that fit into the first cache line.
pub const INLINE_FIRST_LINE: usize = 40;
/// The most inline body bytes.
pub const INLINE_MAX: usize = 104;

/// Kind of an entry that carries a message, inline or lent.
pub const MESSAGE: u8 = 1;
/// Kind of an entry that announces a payload segment.
pub const SEGMENT_ADD: u8 = 6;
/// Kind of an entry that retires a payload segment.
pub const SEGMENT_RETIRE: u8 = 7;
/// Flag of a message with a descriptor of lent payload as its body.
pub const LENT: u8 = 0x04;

/// Maximum number of payload segments per direction at any time.
pub const MAX_SEGMENTS: usize = 64;
/// Maximum number of segments that one side has sent and whose `segment add` entry the other has
/// not consumed.
pub const MAX_PENDING_SEGMENTS: usize = MAX_SEGMENTS;

/// `BRZWCTRL`, the first eight bytes of a control segment.
pub const CONTROL_MAGIC: u64 = u64::from_le_bytes(*b"BRZWCTRL");
/// Version of this layout.
pub const ABI_VERSION: u64 = 2;

/// Offset of the magic.
pub const CONTROL_MAGIC_AT: usize = 0x000;
/// Offset of the layout's version.
pub const CONTROL_VERSION_AT: usize = 0x008;
/// Offset of the ring capacity, for tools.
pub const CONTROL_CAPACITY_AT: usize = 0x010;
/// Offset of the lend count, for tools.
pub const CONTROL_LENDS_AT: usize = 0x018;
/// Offset of `consumed`: how many entries of the peer's ring the owner has consumed.
pub const CONSUMED_AT: usize = 0x080;
/// Offset of `data_wake`: the position in the peer's ring that must ring the owner's doorbell when
/// it is published.
pub const DATA_WAKE_AT: usize = 0x100;
/// Offset of `space_wake`: the value of the peer's `consumed` that must ring the owner's doorbell.
pub const SPACE_WAKE_AT: usize = 0x108;
/// Offset of `cpu`: 1 + the CPU on which the owner last waited.
pub const CPU_AT: usize = 0x110;
/// Offset of `release_wake`: 0, or the number of the wait in which a flipped release bit must ring
/// the owner's doorbell.
pub const RELEASE_WAKE_AT: usize = 0x118;
/// Offset of the release bits.
pub const RELEASED_AT: usize = 0x180;
/// Offset of the ring, and size of the page before it.
pub const RING_AT: usize = 0x1000;

/// Intent of a side that does not sleep: no publication crosses it.
pub const NO_WAKE: u64 = u64::MAX;

/// Smallest and largest ring capacity, in entries (powers of two).
pub const RING_CAPACITY: core::ops::RangeInclusive<u32> = 8..=65_536;
/// Smallest and largest number of lend numbers (multiples of 64).
pub const LEND_COUNT: core::ops::RangeInclusive<u32> = 64..=1024;

/// Returns the size in bytes of a control segment with a ring of `capacity` entries.
pub const fn control_size(capacity: u32) -> usize {
    (RING_AT + capacity as usize * ENTRY_SIZE).next_multiple_of(4096)
}
