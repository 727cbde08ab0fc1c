//! One process's end of a session in shared memory, with the space that is reserved for its next
//! message and its way of waiting.

use breezeway_os::Waiting;
use breezeway_proto::{Flags, Head, Kind, RawHead};
use breezeway_shm::{self as shm, Endpoint, Entry, Space, Waiter, layout};

const _: () = {
    assert!(layout::MESSAGE == Kind::Message as u8);
    assert!(layout::SEGMENT_ADD == Kind::SegmentAdd as u8);
    assert!(layout::SEGMENT_RETIRE == Kind::SegmentRetire as u8);
    assert!(layout::LENT == Flags::LENT.bits());
};

/// Converts a head for an endpoint, to which kinds and flags are numbers.
#[inline(always)]
pub(crate) fn in_numbers(head: Head) -> shm::Head {
    let Head { kind, flags, stream, tag, time } = head;
    shm::Head { kind: kind as u8, flags: flags.bits(), stream, tag, time }
}

/// Converts the head of a received entry to the protocol's type.
#[inline(always)]
pub(crate) fn raw_head(entry: &Entry) -> RawHead {
    RawHead {
        kind: entry.kind_number(),
        flags: entry.flag_bits(),
        stream: entry.stream(),
        tag: entry.tag(),
        time: entry.time(),
    }
}

/// An endpoint, reserved space and a waiter.
pub(crate) struct MemoryLink {
    pub(crate) endpoint: Endpoint,
    /// Space for the next message, if any. Space that was reserved and not sent stays here until
    /// the next reservation.
    pub(crate) space: Space,
    pub(crate) waiter: Waiter,
}

impl MemoryLink {
    pub(crate) fn new(endpoint: Endpoint, waiting: Waiting) -> Self {
        Self { endpoint, space: Space::none(), waiter: Waiter::new(waiting) }
    }
}

#[cfg(test)]
mod tests {
    use breezeway_os::WaitPolicy;
    use breezeway_shm::statistics::{Description, Meter};

    use super::*;

    #[test]
    fn statistics_count_messages_by_the_protocols_flags() {
        for bits in 0..=u8::MAX {
            let meter = Meter::new(&Description::of_worker(WaitPolicy::Park));
            meter.sent(Kind::Message as u8, bits, 0);
            let (totals, flags) = (meter.totals(), Flags::from_bits(bits));
            let counted =
                match [Flags::ERROR, Flags::OPEN, Flags::STREAM].map(|flag| flags.has(flag)) {
                    [true, ..] => totals.errors_sent,
                    [_, true, true] => totals.streams_sent,
                    [_, true, false] if flags.has(Flags::NO_REPLY) => totals.posts_sent,
                    [_, true, false] => totals.calls_sent,
                    [_, false, _] if flags.has(Flags::FIN) => totals.ends_sent,
                    [_, false, _] => totals.messages_sent,
                };
            assert_eq!(counted, 1, "{flags:?}");
        }
        let meter = Meter::new(&Description::of_worker(WaitPolicy::Park));
        meter.sent(Kind::Reset as u8, 0, 0);
        assert_eq!(meter.totals().errors_sent, 1);
    }
}
