//! Dump of a ring's last entries, read by a tool from outside. The process that has the ring mapped
//! does not take part, and none of its values is trusted.

use std::io;

use breezeway_os::shared_mappings;

use crate::ring::Entry;
use crate::ring::layout::{
    ABI_VERSION, CONSUMED_AT, CONTROL_CAPACITY_AT, CONTROL_MAGIC, CONTROL_MAGIC_AT,
    CONTROL_VERSION_AT, ENTRY_SIZE, RING_AT, RING_CAPACITY, control_size,
};

/// Copy of a control segment at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ControlDump {
    /// Capacity of its ring, in entries.
    pub capacity: u32,
    /// Entries of the peer's ring that its owner has consumed.
    pub consumed: u64,
    /// Entries committed so far, as far as the ring shows.
    pub published: u64,
    /// The last entries that did not change while they were read, oldest first, each with its
    /// position.
    pub entries: Vec<(u64, Entry)>,
}

impl ControlDump {
    /// Reads the control segment that process `pid` has mapped at `address`, with the last `most`
    /// entries of its ring.
    ///
    /// # Errors
    ///
    /// The caller may not inspect the process, or the process has no control segment there.
    pub fn of(pid: u32, address: u64, most: usize) -> io::Result<Self> {
        let mappings = shared_mappings(pid)?;
        let mapping = mappings.iter().find(|mapping| mapping.starts_at(address));
        let mapping = mapping.ok_or_else(|| invalid("it has no segment mapped there"))?;
        let memory = mapping.open()?;
        Self::read(|at, bytes| memory.read_at(at as u64, bytes), most)
    }

    fn read(read_at: impl Fn(usize, &mut [u8]) -> io::Result<()>, most: usize) -> io::Result<Self> {
        let word = |at| {
            let mut bytes = [0; 8];
            read_at(at, &mut bytes).map(|()| u64::from_le_bytes(bytes))
        };
        if word(CONTROL_MAGIC_AT)? != CONTROL_MAGIC || word(CONTROL_VERSION_AT)? != ABI_VERSION {
            return Err(invalid("its mapping there is not a control segment of this version"));
        }
        let capacity = u32::try_from(word(CONTROL_CAPACITY_AT)?).unwrap_or(u32::MAX);
        if !capacity.is_power_of_two() || !RING_CAPACITY.contains(&capacity) {
            return Err(invalid("its ring has a size that no ring has"));
        }
        // Bounds the capacity before memory is allocated for it.
        word(control_size(capacity) - 8)?;
        let consumed = word(CONSUMED_AT)?;
        let mut copies = [const { Vec::new() }; 2];
        for copy in &mut copies {
            copy.resize(capacity as usize * ENTRY_SIZE, 0);
            read_at(RING_AT, copy)?;
        }
        let [before, after] = &copies;
        let (published, entries) = last(before, after, most);
        Ok(Self { capacity, consumed, published, entries })
    }
}

/// Compares two copies of a ring. Returns the number of published entries, and the last entries
/// that are equal in both.
fn last(before: &[u8], after: &[u8], most: usize) -> (u64, Vec<(u64, Entry)>) {
    let slots = (before.len() / ENTRY_SIZE) as u64;
    let sequence = |entry: &[u8]| {
        u64::from_le_bytes(*entry.first_chunk().expect("an entry is longer than a word"))
    };
    // A sequence that belongs to another slot is forged, or the slot holds no entry yet.
    let position = |(slot, entry): (usize, &[u8])| {
        let position = sequence(entry).checked_sub(1)?;
        (position % slots == slot as u64).then_some(position)
    };
    let entries = || after.chunks_exact(ENTRY_SIZE);
    let newest = entries().enumerate().filter_map(position).max();
    let published = newest.map_or(0, |newest| newest.saturating_add(1));
    let first = published.saturating_sub(slots.min(most as u64));
    let mut found: Vec<_> = before
        .chunks_exact(ENTRY_SIZE)
        .zip(entries())
        .enumerate()
        .filter(|(_, (before, after))| before == after)
        .filter_map(|(slot, (_, entry))| Some((position((slot, entry))?, entry)))
        .filter(|&(position, _)| position >= first)
        .map(|(position, entry)| (position, Entry::of_bytes(entry)))
        .collect();
    found.sort_by_key(|&(position, _)| position);
    (published, found)
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ring::Head;
    use crate::ring::layout::MESSAGE;

    fn bytes_of(entry: &Entry, position: u64) -> Vec<u8> {
        let mut words = entry.words;
        words[0] = position + 1;
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn entry(stream: u32) -> Entry {
        let head = Head { kind: MESSAGE, flags: 0, stream, tag: 0, time: 0 };
        Entry::new(head, b"body")
    }

    /// Returns a ring of 8 slots in which `published` entries were published.
    fn ring(published: u64) -> Vec<u8> {
        let mut ring = vec![0; 8 * ENTRY_SIZE];
        for position in 0..published {
            let at = position as usize % 8 * ENTRY_SIZE;
            let bytes = bytes_of(&entry(position as u32), position);
            ring[at..at + ENTRY_SIZE].copy_from_slice(&bytes);
        }
        ring
    }

    fn positions(found: &[(u64, Entry)]) -> Vec<u64> {
        found.iter().map(|&(position, _)| position).collect()
    }

    #[test]
    fn last_entries_keep_order_across_ring_end() {
        assert_eq!(last(&ring(0), &ring(0), 4).0, 0);
        let (published, found) = last(&ring(11), &ring(11), 4);
        assert_eq!((published, positions(&found)), (11, vec![7, 8, 9, 10]));
        assert!(found.iter().all(|(position, entry)| u64::from(entry.stream()) == *position));
        assert_eq!(found[0].1.inline(), b"body");
        assert_eq!(positions(&last(&ring(11), &ring(11), 100).1), (3..11).collect::<Vec<_>>());
    }

    #[test]
    fn an_entry_that_changes_while_it_is_read_is_left_out() {
        let (published, found) = last(&ring(10), &ring(12), 3);
        assert_eq!((published, positions(&found)), (12, vec![9]));
    }

    #[test]
    fn an_entry_in_a_slot_that_is_not_its_own_is_passed_over() {
        let mut forged = ring(3);
        forged[7 * ENTRY_SIZE..].copy_from_slice(&bytes_of(&entry(1), 1 << 40));
        let (published, found) = last(&forged, &forged, 8);
        assert_eq!((published, positions(&found)), (3, vec![0, 1, 2]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn arbitrary_bytes_are_parsed_within_limits(
            header in prop::collection::vec(any::<u8>(), RING_AT),
            body in prop::collection::vec(any::<u8>(), 0..12 * ENTRY_SIZE),
            capacity in prop_oneof![Just(8), Just(16), any::<u64>()],
            position in any::<u64>(),
        ) {
            let mut bytes = header;
            for (at, word) in [
                (CONTROL_MAGIC_AT, CONTROL_MAGIC),
                (CONTROL_VERSION_AT, ABI_VERSION),
                (CONTROL_CAPACITY_AT, capacity),
            ] {
                bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            bytes.extend(&body);
            bytes.resize(bytes.len().max(RING_AT + 8).next_multiple_of(4096), 0);
            bytes[RING_AT..RING_AT + 8].copy_from_slice(&position.to_le_bytes());
            let read_at = |at: usize, to: &mut [u8]| match bytes.get(at..at + to.len()) {
                Some(from) => {
                    to.copy_from_slice(from);
                    Ok(())
                }
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            };
            if let Ok(dump) = ControlDump::read(read_at, 16) {
                prop_assert!(dump.entries.len() <= 16 && dump.capacity <= 32);
                for (_, entry) in dump.entries {
                    prop_assert!(entry.inline().len() <= 104);
                }
            }
        }
    }
}
