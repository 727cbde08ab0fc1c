//! The bounded turn that a server gives to one session.

use std::time::Duration;

use breezeway_os::clock;

use crate::wake::WakeFlag;

/// The longest time for which a session's requests are served before the next session has its turn.
/// A handler that takes longer ends the turn when it returns.
pub(crate) const SLICE: Duration = Duration::from_micros(50);
/// Bytes of requests after which a turn ends too.
const SLICE_BYTES: usize = 1 << 20;

/// Number of quick one-way messages between two readings of the clock. A reading takes as long as a
/// few of them; after a reply, which the client has to take first, its time is not noticeable.
const GROUP: u32 = 64;
/// Divisor of a turn that gives the longest time of a quick one-way message: a group of them takes
/// half a turn.
const QUICK: u64 = 128;

/// One turn: bounded by time and by bytes, however few requests that are.
#[derive(Debug)]
pub struct Slice<'w> {
    /// Duration of the turn, in clock ticks.
    ticks: u64,
    /// Time of its end, in clock ticks.
    until: u64,
    /// The last reading of the clock.
    now: u64,
    /// Messages served since that reading.
    untimed: u32,
    /// True if that reading precedes the turn, which may have begun with a wait.
    is_fresh: bool,
    bytes_left: usize,
    /// Flag for other work of the serving thread.
    interrupt: Option<&'w WakeFlag>,
}

impl Slice<'static> {
    /// Begins a turn now, for a server with a loop of its own.
    #[must_use]
    pub fn begin() -> Self {
        Self::new(clock::ticks(), clock::ticks_in(SLICE))
    }
}

impl<'w> Slice<'w> {
    /// Creates a turn that begins at `now` and takes `ticks`.
    #[inline(always)]
    pub(crate) fn new(now: u64, ticks: u64) -> Self {
        Self {
            ticks,
            until: now.saturating_add(ticks),
            now,
            untimed: 0,
            is_fresh: true,
            bytes_left: SLICE_BYTES,
            interrupt: None,
        }
    }

    /// Makes the turn end between two requests once `flag` is set.
    #[inline(always)]
    pub(crate) fn interrupted_by(mut self, flag: &'w WakeFlag) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Counts a request of `bytes` bytes that was served and replied to; returns false if it was
    /// the last of this turn.
    #[inline(always)]
    pub fn goes_on_after(&mut self, bytes: usize) -> bool {
        self.spend(bytes);
        self.read_clock();
        self.has_more()
    }

    /// Notes that a message without a reply is there. The turn begins with its first one: the wait
    /// for that is neither a slow message nor part of the turn.
    #[inline(always)]
    pub(crate) fn begin_one_way(&mut self) {
        if self.is_fresh {
            self.read_clock();
            self.until = self.now.saturating_add(self.ticks);
        }
    }

    /// Counts a message like [`Self::goes_on_after`], for a message without a reply. `quick`
    /// belongs to the session: the number of its quick messages in a row, counted up to a group.
    /// After that many, several are timed together.
    #[inline(always)]
    pub(crate) fn goes_on_after_one_way(&mut self, bytes: usize, quick: &mut u32) -> bool {
        self.spend(bytes);
        if *quick < GROUP || self.untimed >= GROUP {
            let (before, count) = (self.now, self.untimed);
            self.read_clock();
            let limit = u64::from(count) * (self.ticks / QUICK);
            let is_quick = self.now.saturating_sub(before) < limit;
            *quick = if is_quick { GROUP.min(*quick + count) } else { 0 };
        }
        self.has_more()
    }

    #[inline(always)]
    fn spend(&mut self, bytes: usize) {
        self.untimed += 1;
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    #[inline(always)]
    fn read_clock(&mut self) {
        self.now = clock::ticks();
        (self.untimed, self.is_fresh) = (0, false);
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        let interrupted = self.interrupt.is_some_and(WakeFlag::is_pending);
        self.now < self.until && self.bytes_left > 0 && !interrupted
    }

    /// Returns the time at which the turn ended, in clock ticks.
    #[inline(always)]
    pub(crate) fn end(mut self) -> u64 {
        if self.untimed > 0 {
            self.read_clock();
        }
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a turn that no test outlasts.
    fn long() -> Slice<'static> {
        Slice::new(clock::ticks(), u64::MAX)
    }

    #[test]
    fn a_turn_ends_with_its_time_after_the_first_request() {
        let now = clock::ticks();
        assert!(!Slice::new(now, 0).goes_on_after(0));
        assert!(long().goes_on_after(0));
    }

    #[test]
    fn a_turn_ends_with_its_bytes() {
        let mut slice = long();
        assert!(slice.goes_on_after(SLICE_BYTES - 1));
        assert!(!slice.goes_on_after(1));
        assert!(!long().goes_on_after(usize::MAX));
    }

    #[test]
    fn turn_ends_between_two_requests_when_flag_is_set() {
        let flag = WakeFlag::default();
        let mut slice = long().interrupted_by(&flag);
        assert!(slice.goes_on_after(1));
        flag.announce();
        assert!(!slice.goes_on_after(1));
    }

    #[test]
    fn turn_begins_with_its_first_one_way_message() {
        let mut quick = 0;
        // Long over, had it begun when the clock was last read; an hour otherwise.
        let hour = clock::ticks_in(Duration::from_secs(3600));
        let mut slice = Slice::new(0, hour);
        slice.begin_one_way();
        assert!(slice.goes_on_after_one_way(1, &mut quick));
        assert_eq!(quick, 1);
        let until = slice.until;
        slice.begin_one_way();
        assert_eq!(slice.until, until);

        let mut replied = Slice::new(0, 1);
        assert!(!replied.goes_on_after(1));
        replied.begin_one_way();
        assert!(!replied.has_more(), "a turn that has begun is not begun again");
    }

    /// Returns the number of one-way messages that a turn serves that was over before it began.
    fn served(quick: &mut u32) -> Option<u32> {
        let mut slice = Slice::new(0, 1 << 20);
        (1..100).find(|_| !slice.goes_on_after_one_way(1, quick))
    }

    #[test]
    fn quick_one_way_messages_are_timed_in_groups() {
        let mut quick = GROUP;
        assert_eq!(served(&mut quick), Some(GROUP));
        assert_eq!(quick, 0, "the clock has run for long");
        // A 128th of this turn is longer than the test may take.
        let mut slice = long();
        for timed in 1..=GROUP {
            assert_eq!(served(&mut 0), Some(1), "slow ones are timed one by one");
            assert!(slice.goes_on_after_one_way(1, &mut quick));
            assert_eq!((quick, slice.untimed), (timed, 0), "so are quick ones behind them");
        }
        assert!(slice.goes_on_after_one_way(1, &mut quick));
        assert_eq!(slice.untimed, 1);
    }
}
