//! The bare ring: entries, mappings and fences as in `docs/abi.md` with nothing of the library
//! around them, the closest honest reference for a call or a message.
//!
//! Each side writes its own half of the memory and maps the other's read-only. An entry has 128
//! bytes, and its first line is used; its sequence is published last, followed by a full fence and
//! a load of the peer's intent. The intent never requests a doorbell here, because both sides
//! spin. The consumer copies the entry's line after an acquire fence and publishes its progress at
//! every quarter of the ring.
//!
//! | module | measures |
//! |---|---|
//! | `echo` | 40 bytes in an entry there, and back |
//! | `one_way` | 40 bytes in each entry, in batches |
//! | `slots` | large payload in slots that are used in turn, one-way and returned |

mod ends;
mod memory;

pub(super) mod echo;
pub(super) mod one_way;
pub(super) mod slots;

pub(super) use memory::SharedRings;

use std::time::Duration;

use breezeway_os::clock;

/// Bytes of a message in an entry: the body in its first line.
pub(super) const INLINE: usize = 40;

/// Number of words of such a message.
const WORDS: usize = INLINE / 8;

/// Number of messages sent, and the time that they took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Throughput {
    /// Messages, one way.
    pub(super) messages: u64,
    /// Clock ticks from the first message to the proof that the last one has arrived.
    pub(super) ticks: u64,
}

impl Throughput {
    /// Returns the average time of a message, or None if there was no message.
    #[must_use]
    pub(super) fn nanoseconds(self) -> Option<f64> {
        let nanoseconds = Duration::from_nanos(clock::nanoseconds(self.ticks)).as_secs_f64() * 1e9;
        (self.messages > 0).then(|| nanoseconds / self.messages as f64)
    }
}
