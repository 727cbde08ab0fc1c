//! Fields of entries and rings. Any content may be forged.

use breezeway_proto::{Flags, Kind};
use breezeway_shm::Entry;
use breezeway_shm::dump::ControlDump;

pub(super) const FLAGS: [(Flags, &str); 8] = [
    (Flags::OPEN, "open"),
    (Flags::FIN, "fin"),
    (Flags::LENT, "lent"),
    (Flags::ERROR, "error"),
    (Flags::NO_REPLY, "no_reply"),
    (Flags::METADATA, "metadata"),
    (Flags::EMPTY, "empty"),
    (Flags::STREAM, "stream"),
];

pub(super) fn has(entry: &Entry, flag: Flags) -> bool {
    entry.kind_number() == Kind::Message as u8 && entry.flag_bits() & flag.bits() != 0
}

/// The method that an entry asks for, if it opens a call or a stream.
pub(super) fn opens(entry: &Entry) -> Option<u32> {
    has(entry, Flags::OPEN).then(|| entry.tag())
}

/// A word of the body; 0 where the body is shorter.
pub(super) fn word(entry: &Entry, index: usize) -> u64 {
    let bytes = entry.inline().get(8 * index..8 * index + 8);
    bytes.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
}

/// The metadata and the rest of a message that an entry holds; `None` if it holds none.
pub(super) fn parts(entry: &Entry) -> Option<(Option<&[u8]>, &[u8])> {
    let is_message = entry.kind_number() == Kind::Message as u8;
    let message = entry.inline();
    if !is_message || has(entry, Flags::LENT) || message.is_empty() {
        return None;
    }
    if !has(entry, Flags::METADATA) {
        return Some((None, message));
    }
    let (len, rest) = message.split_first_chunk()?;
    let (block, rest) = rest.split_at(rest.len().min(u16::from_le_bytes(*len).into()));
    Some((Some(block), rest))
}

/// Returns the number of entries that the peer has not taken, by its published progress.
pub(super) fn waiting(ring: &ControlDump, consumed: u64) -> u64 {
    ring.published.saturating_sub(consumed).min(u64::from(ring.capacity))
}
