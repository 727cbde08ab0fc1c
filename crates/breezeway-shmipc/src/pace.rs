//! Pace at which the queue is polled.
//!
//! Counts, flag and the first elements of a ring share one cache line, so a poll takes the line
//! away from the producer, and a batch costs each side the same however small it is: a poll, a
//! count published, a wake-up of the sleeping side. With one stream every moment counts. With
//! hundreds in flight a message waits for its turn anyway: a small part of that time as a pause
//! between two polls turns single messages into batches, and saves the peer more work than this
//! side.
//!
//! The number of streams in flight is estimated by the number of messages since the last one of the
//! same stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use breezeway_os::clock;

/// Minimum number of messages between two of the same stream for a pause; also the number of pauses
/// between them.
const PARTS: u64 = 16;
/// Maximum time between messages for a pause: with fewer messages a batch would save nothing.
const DENSE: Duration = Duration::from_micros(10);
/// Longest pause.
const LONGEST: Duration = Duration::from_micros(30);

/// Last message of a stream. Only the receiver reads and writes it.
#[derive(Default)]
pub(crate) struct LastMessage {
    number: AtomicU64,
    at: AtomicU64,
}

/// The pauses between batches.
pub(crate) struct Pace {
    /// Messages received.
    count: u64,
    /// Time at which the present batch was taken, in ticks; 0 if it was not needed.
    now: u64,
    /// Pause after that until the next one is due.
    pause: u64,
    dense: u64,
    longest: u64,
}

impl Pace {
    /// Creates a pace without pauses, until there are messages.
    pub(crate) fn new() -> Self {
        let (dense, longest) = (clock::ticks_in(DENSE), clock::ticks_in(LONGEST));
        Self { count: 0, now: 0, pause: 0, dense, longest }
    }

    /// Notes that a batch is about to be taken.
    #[inline]
    pub(crate) fn begin(&mut self) {
        (self.now, self.pause) = (0, 0);
    }

    /// Notes a message of the batch for the stream with this last one.
    #[inline]
    pub(crate) fn count(&mut self, last: &LastMessage) {
        self.count += 1;
        let messages = self.count - last.number.load(Ordering::Relaxed);
        last.number.store(self.count, Ordering::Relaxed);
        self.pause = if messages < PARTS { 0 } else { self.pause_after(messages, last) };
    }

    fn pause_after(&mut self, messages: u64, last: &LastMessage) -> u64 {
        if self.now == 0 {
            self.now = clock::ticks();
        }
        let before = last.at.load(Ordering::Relaxed);
        last.at.store(self.now, Ordering::Relaxed);
        let time = self.now.wrapping_sub(before);
        let known = before != 0 && time <= messages.saturating_mul(self.dense);
        if known { (time / PARTS).min(self.longest) } else { 0 }
    }

    /// Returns the number of messages received so far.
    pub(crate) fn received(&self) -> u64 {
        self.count
    }

    /// Returns true if it is time for another poll. A clock that was set back ends a pause.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.pause == 0 || clock::ticks().wrapping_sub(self.now) >= self.pause
    }

    /// Waits until it is time, at most for the longest pause.
    #[inline]
    pub(crate) fn wait(&self) {
        while !self.is_due() {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(count: usize) -> Vec<LastMessage> {
        (0..count).map(|_| LastMessage::default()).collect()
    }

    /// Counts one message of each stream, as a batch that was taken `after` ticks after the last.
    /// Returns the pause behind it.
    fn batch(pace: &mut Pace, streams: &[LastMessage], after: u64) -> u64 {
        let before = pace.now;
        pace.begin();
        pace.now = before + after;
        streams.iter().for_each(|stream| pace.count(stream));
        pace.pause
    }

    fn started() -> Pace {
        let mut pace = Pace::new();
        pace.now = 1;
        pace
    }

    #[test]
    fn many_streams_are_paused_for_a_small_part_of_their_own_time() {
        let (mut pace, streams) = (started(), streams(64));
        let cycle = pace.dense;
        assert_eq!(batch(&mut pace, &streams, 0), 0, "nothing is known of their time");
        assert_eq!(batch(&mut pace, &streams, cycle), cycle / PARTS);
    }

    #[test]
    fn few_streams_are_never_paused() {
        let (mut pace, streams) = (started(), streams(PARTS as usize - 1));
        assert!((0..100).all(|_| batch(&mut pace, &streams, 10) == 0));
        assert!(pace.is_due());
    }

    #[test]
    fn rare_messages_are_not_paused_however_many_streams() {
        let (mut pace, streams) = (started(), streams(64));
        let rare = 64 * pace.dense + 1;
        assert!((0..10).all(|_| batch(&mut pace, &streams, rare) == 0));
        assert_ne!(batch(&mut pace, &streams, rare - 1), 0);
    }

    #[test]
    fn no_pause_is_longer_than_the_longest() {
        let (mut pace, streams) = (started(), streams(1000));
        batch(&mut pace, &streams, 0);
        let cycle = 1000 * pace.dense;
        assert!(cycle / PARTS > pace.longest);
        assert_eq!(batch(&mut pace, &streams, cycle), pace.longest);
    }

    #[test]
    fn a_pause_ends_when_messages_become_those_of_one_stream() {
        let (mut pace, streams) = (started(), streams(64));
        batch(&mut pace, &streams, 0);
        assert_ne!(batch(&mut pace, &streams, 100), 0);
        assert_ne!(batch(&mut pace, &streams[..1], 100), 0, "its last message is long ago");
        assert_eq!(batch(&mut pace, &streams[..1], 100), 0);
    }

    #[test]
    fn a_new_stream_is_not_taken_for_one_that_comes_often() {
        let (mut pace, before) = (started(), streams(1));
        // Long enough ago that the clock itself would count as often.
        pace.count = 1 << 60;
        batch(&mut pace, &before, 100);
        assert!((0..10).all(|_| batch(&mut pace, &streams(1), 100) == 0));
    }

    #[test]
    fn a_pause_ends_with_its_time_and_when_the_clock_is_set_back() {
        let mut pace = Pace::new();
        (pace.now, pace.pause) = (clock::ticks(), u64::MAX / 2);
        assert!(!pace.is_due());
        pace.now = clock::ticks() + (1 << 40);
        assert!(pace.is_due());
    }
}
