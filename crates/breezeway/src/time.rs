//! Conversions between times of the protocol and the clock of this machine.

use breezeway_os::{Deadline, clock};
use breezeway_proto::{Time, time_left};

/// Returns the deadline of a message that arrived just now, with this time in its head.
#[inline]
pub(crate) fn deadline_of(time: u16) -> Deadline {
    Deadline::from(time_left::decode(time))
}

/// Returns the present time in the protocol's form.
#[inline]
pub(crate) fn now() -> Time {
    Time::from_ticks(clock::ticks())
}

/// Converts a deadline to the protocol's form, in ticks of the clock.
#[inline]
pub(crate) fn to_time(deadline: Deadline) -> Time {
    Time::from_ticks(deadline.ticks())
}

/// Converts the result of [`to_time`] back to the deadline.
#[inline]
pub(crate) fn to_deadline(time: Time) -> Deadline {
    Deadline::at_ticks(time.ticks())
}

const _: () = assert!(Time::NEVER.ticks() == Deadline::NEVER.ticks());
