//! A queue region, seen from outside.

use super::source::Source;
use crate::layout::queue::{HEADER, NATIVE, RingLayout, judge_rings, region_size};
use crate::queue::Element;

/// Pages are mapped whole, and the end of the file may be unknown.
const PAGE: u64 = 4096;
/// Maximum number of elements that are listed.
const MOST_LISTED: u64 = 256;

/// Both directions of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueDump {
    /// Path or label of the region.
    pub name: String,
    /// From client to server.
    pub to_server: RingDump,
    /// From server to client.
    pub to_client: RingDump,
}

/// One direction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingDump {
    /// Capacity in elements.
    pub capacity: u32,
    /// Elements ever put.
    pub put: u64,
    /// Elements ever taken.
    pub taken: u64,
    /// Elements that wait to be taken; never more than the capacity, whatever the counts are.
    pub depth: u32,
    /// True if the consumer polls, or has been woken; otherwise it sleeps.
    pub working: bool,
    /// The oldest waiting elements, at most 256.
    pub waiting: Vec<ElementDump>,
}

/// A waiting message, or a stream's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElementDump {
    /// Number of the stream.
    pub stream: u32,
    /// Offset of the message's first slice in the buffer region.
    pub offset: u32,
    /// True if it ends its stream.
    pub closes: bool,
}

impl QueueDump {
    /// Reads a queue region; `None` if there is none: two rings of the same capacity that fill the
    /// region.
    pub(super) fn read(name: &str, source: &Source<'_>) -> Option<Self> {
        if source.len() < HEADER {
            return None;
        }
        let capacity = source.word(NATIVE.capacity);
        let size = region_size(capacity);
        let is_filled = (size..size + PAGE).contains(&source.len().into());
        let size = u32::try_from(size).ok().filter(|_| is_filled)?;
        let second = source.word(size / 2 + NATIVE.capacity);
        let rings = judge_rings(size, [capacity, second]).ok().filter(|_| second == capacity)?;
        let [to_server, to_client] = rings.map(|ring| RingDump::read(ring, source));
        Some(Self { name: name.to_owned(), to_server, to_client })
    }
}

impl RingDump {
    fn read(ring: RingLayout, source: &Source<'_>) -> Self {
        // Read at once, so that the counts are of one moment, or nearly.
        let header: [u8; HEADER as usize] = source.bytes(ring.base);
        let count = |at: u32| {
            let bytes = header[at as usize..].first_chunk().expect("a header has its fields");
            u64::from_le_bytes(*bytes)
        };
        let (taken, put) = (count(NATIVE.head), count(NATIVE.tail));
        let depth = put.wrapping_sub(taken).min(ring.capacity.into());
        let listed = (0..depth.min(MOST_LISTED)).map(|step| taken.wrapping_add(step));
        Self {
            capacity: ring.capacity,
            put,
            taken,
            depth: depth as u32,
            working: header[NATIVE.flag as usize] != 0,
            waiting: listed.map(|place| ElementDump::read(ring.element(place), source)).collect(),
        }
    }
}

impl ElementDump {
    fn read(at: u32, source: &Source<'_>) -> Self {
        let words: [u8; 12] = source.bytes(at);
        let [stream, offset, status] =
            [0, 4, 8].map(|at| u32::from_le_bytes(words[at..at + 4].try_into().expect("4 bytes")));
        let closes = Element { stream, offset, status }.is_close();
        Self { stream, offset, closes }
    }
}
