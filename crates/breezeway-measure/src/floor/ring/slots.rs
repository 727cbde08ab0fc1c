//! Large payload in slots that are used in turn: written in full by the sender, described by an
//! entry, and read in full by the receiver. The few slots of a one-way row stay in the caches.
//!
//! One-way, the receiver sums the payload up and gives the slot back by its release bit. Returned,
//! it copies the payload into a slot of its own, which the measuring side compares; as many round
//! trips as there are slots are in flight, and a reply frees its slot.

use super::super::spin::Spin;
use super::super::{FloorError, payload::Payload};
use super::ends::{Kind, Side};
use super::memory::Half;
use super::one_way::confirm;
use super::{SharedRings, Throughput, WORDS};
use crate::pattern;
use breezeway_os::clock;

/// Numbers of slots that are tried one-way; the best one counts.
pub(crate) const ONE_WAY: [usize; 3] = [2, 4, 8];
/// Number of returned slots: as many as the budgets have messages in flight.
pub(crate) const RETURNED: usize = 16;

/// Slots begin at pages.
const PAGE: usize = 4096;

/// Size and number of the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots {
    /// Bytes of payload in each.
    pub(crate) size: usize,
    /// At most 64.
    pub(crate) count: usize,
}

impl Slots {
    /// Bytes of all of them.
    pub(crate) fn room(self) -> usize {
        self.size.next_multiple_of(PAGE).saturating_mul(self.count)
    }

    /// Returns the offset of message number `number`.
    fn offset(self, number: u64) -> usize {
        (number % self.count as u64) as usize * self.size.next_multiple_of(PAGE)
    }

    fn body(self, number: u64) -> [u64; WORDS] {
        let slot = number % self.count as u64;
        [slot, self.offset(number) as u64, self.size as u64, 0, 0]
    }

    fn payload(self, half: &Half, number: u64) -> Result<Payload<'_>, FloorError> {
        half.payload(self.offset(number), self.size)
    }
}

/// Sends messages one way for `budget` ticks. Then the partner's [`take`] returns.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the partner does not run, [`FloorError::WrongContent`] if it did
/// not take what was sent, [`FloorError::TooLarge`] if the slots do not fit.
pub(crate) fn measure_one_way(
    rings: &SharedRings,
    slots: Slots,
    spin: Spin,
    budget: u64,
) -> Result<Throughput, FloorError> {
    let mut side = Side::measurer(rings, spin);
    let outcome = send(rings, &mut side, slots, budget);
    side.shut_down();
    outcome
}

fn send(
    rings: &SharedRings,
    side: &mut Side<'_>,
    slots: Slots,
    budget: u64,
) -> Result<Throughput, FloorError> {
    let (mut sent, mut sum) = (0, 0u64);
    let mut send = |side: &mut Side<'_>| {
        let slot = sent % slots.count as u64;
        // The bit of a slot flips at each release.
        let turn = sent / slots.count as u64;
        side.wait_for_release(1 << slot, (turn & 1) << slot)?;
        let payload = slots.payload(&rings.own, sent)?;
        let seed = pattern::seed(sent);
        payload.fill(seed);
        sum = sum.wrapping_add(payload.sum_of(seed));
        side.send(Kind::Message, &slots.body(sent))?;
        sent += 1;
        Ok::<_, FloorError>((sent, sum))
    };
    // The first ones fetch the slots into the caches.
    let (mut sent, mut sum) = (0, 0);
    for _ in 0..slots.count {
        (sent, sum) = send(side)?;
    }
    confirm(side, sent, sum)?;
    let (before, start) = (sent, clock::ticks());
    while sent == before || clock::ticks().saturating_sub(start) < budget {
        (sent, sum) = send(side)?;
    }
    confirm(side, sent, sum)?;
    Ok(Throughput { messages: sent - before, ticks: clock::ticks().saturating_sub(start) })
}

/// Takes messages one way until the measuring side is done.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the measuring side does not run, [`FloorError::TooLarge`] if it
/// names payload outside of its memory.
pub(crate) fn take(rings: &SharedRings, spin: Spin) -> Result<(), FloorError> {
    let mut side = Side::partner(rings, spin);
    let (mut count, mut sum) = (0, 0u64);
    loop {
        let entry = side.take()?;
        match entry.kind {
            Kind::Message => {
                let [slot, offset, size, ..] = entry.body;
                let payload = rings.peer.payload(offset as usize, size as usize)?;
                sum = sum.wrapping_add(payload.sum());
                side.release(slot % 64);
                count += 1;
            }
            Kind::Tally => side.send(Kind::Message, &[count, sum, 0, 0, 0])?,
            Kind::Shutdown => return Ok(()),
        }
    }
}

/// Exchanges messages for `budget` ticks, one in flight for each slot. Then the partner's
/// [`give_back`] returns.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the partner does not run, [`FloorError::WrongContent`] if something
/// else comes back, [`FloorError::TooLarge`] if the slots do not fit.
pub(crate) fn measure_returned(
    rings: &SharedRings,
    slots: Slots,
    spin: Spin,
    budget: u64,
) -> Result<Throughput, FloorError> {
    let mut side = Side::measurer(rings, spin);
    let outcome = exchange(rings, &mut side, slots, budget);
    side.shut_down();
    outcome
}

fn exchange(
    rings: &SharedRings,
    side: &mut Side<'_>,
    slots: Slots,
    budget: u64,
) -> Result<Throughput, FloorError> {
    let ask = |side: &mut Side<'_>, number: u64| {
        slots.payload(&rings.own, number)?.fill(pattern::seed(number));
        side.send(Kind::Message, &slots.body(number))
    };
    let check = |side: &mut Side<'_>, round: u64| {
        side.take()?;
        let right = slots.payload(&rings.peer, round)?.matches(pattern::seed(round));
        if right { Ok(()) } else { Err(FloorError::WrongContent { size: slots.size, round }) }
    };
    let count = slots.count as u64;
    // The first ones fetch the slots into the caches.
    for number in 0..count {
        ask(side, number)?;
    }
    for number in 0..count {
        check(side, number)?;
        ask(side, number + count)?;
    }
    let (mut received, start) = (count, clock::ticks());
    while received == count || clock::ticks().saturating_sub(start) < budget {
        check(side, received)?;
        ask(side, received + count)?;
        received += 1;
    }
    let ticks = clock::ticks().saturating_sub(start);
    for _ in 0..count {
        check(side, received)?;
        received += 1;
    }
    Ok(Throughput { messages: received - 2 * count, ticks })
}

/// Copies messages and returns them until the measuring side is done.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the measuring side does not run, [`FloorError::TooLarge`] if it
/// names payload outside of its memory.
pub(crate) fn give_back(rings: &SharedRings, spin: Spin) -> Result<(), FloorError> {
    let mut side = Side::partner(rings, spin);
    loop {
        let entry = side.take()?;
        if entry.kind == Kind::Shutdown {
            return Ok(());
        }
        let [_, offset, size, ..] = entry.body;
        let request = rings.peer.payload(offset as usize, size as usize)?;
        rings.own.payload(offset as usize, size as usize)?.copy_from(&request);
        side.send(Kind::Message, &entry.body)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Partner = fn(&SharedRings, Spin) -> Result<(), FloorError>;
    type Measure = fn(&SharedRings, Slots, Spin, u64) -> Result<Throughput, FloorError>;

    const SLOTS: Slots = Slots { size: 5000, count: 2 };

    fn run(
        measure: Measure,
        partner: Partner,
        budget: u64,
    ) -> (Result<Throughput, FloorError>, Result<(), FloorError>) {
        let rings = SharedRings::create(SLOTS.room()).unwrap();
        let theirs = SharedRings::open(rings.share().unwrap()).unwrap();
        let partner = std::thread::spawn(move || partner(&theirs, Spin::Pausing));
        let measured = measure(&rings, SLOTS, Spin::Pausing, budget);
        (measured, partner.join().unwrap())
    }

    #[test]
    fn slots_are_used_again_and_the_partner_ends() {
        let budget = clock::ticks_in(std::time::Duration::from_millis(5));
        for (measure, partner) in [
            (measure_one_way as Measure, take as Partner),
            (measure_returned as Measure, give_back as Partner),
        ] {
            let (measured, ended) = run(measure, partner, budget);
            // All slots are used before the first message that counts.
            assert!(measured.unwrap().messages > 0);
            assert_eq!(ended, Ok(()));
        }
    }

    #[test]
    fn a_partner_that_returns_without_copying_is_found_out() {
        let (measured, _) = run(measure_returned, super::super::echo::answer, 0);
        assert_eq!(measured, Err(FloorError::WrongContent { size: SLOTS.size, round: 0 }));
    }

    #[test]
    fn a_partner_that_gives_back_without_reading_is_found_out() {
        fn blind(rings: &SharedRings, spin: Spin) -> Result<(), FloorError> {
            let mut side = Side::partner(rings, spin);
            let mut count = 0;
            loop {
                let entry = side.take()?;
                match entry.kind {
                    Kind::Message => side.release(entry.body[0]),
                    Kind::Tally => return side.send(Kind::Message, &[count, 0, 0, 0, 0]),
                    Kind::Shutdown => return Ok(()),
                }
                count += 1;
            }
        }
        let (measured, _) = run(measure_one_way, blind, 0);
        assert!(matches!(measured, Err(FloorError::WrongContent { .. })), "{measured:?}");
    }

    #[test]
    fn slots_that_do_not_fit_are_refused() {
        let rings = SharedRings::create(4096).unwrap();
        let refused = Err(FloorError::TooLarge { size: 5000, limit: 4096 });
        assert_eq!(measure_one_way(&rings, SLOTS, Spin::Tight, 0), refused);
        assert_eq!(measure_returned(&rings, SLOTS, Spin::Tight, 0), refused);
    }
}
