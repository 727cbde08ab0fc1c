//! Points in time, as the protocol and the clock of this machine have them.

use breezeway_os::{Deadline, clock};
use breezeway_proto::{Time, time_left};

/// The deadline of a message that came just now, with this time in its head.
#[inline]
pub(crate) fn deadline_of(time: u16) -> Deadline {
    Deadline::from(time_left::decode(time))
}

/// Returns the present time as the protocol has it.
#[inline]
pub(crate) fn now() -> Time {
    Time::from_ticks(clock::ticks())
}

/// A deadline as the protocol has it, in ticks of the clock.
#[inline]
pub(crate) fn to_time(deadline: Deadline) -> Time {
    Time::from_ticks(deadline.ticks())
}

/// The deadline that [`to_time`] was given.
#[inline]
pub(crate) fn to_deadline(time: Time) -> Deadline {
    Deadline::at_ticks(time.ticks())
}

const _: () = assert!(Time::NEVER.ticks() == Deadline::NEVER.ticks());
