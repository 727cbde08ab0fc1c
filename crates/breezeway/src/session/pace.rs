//! How far a sender of messages without replies runs ahead of the receiver.
//!
//! A sender that takes ever new memory writes what no cache holds, and the receiver reads it from
//! there. So from [`PACED_FROM`] bytes on, a message waits while too much is under way, for a
//! moment only: a receiver that keeps what it was sent, as one that defers its calls, is not waited
//! for twice.

use std::time::Duration;

use breezeway_os::cpu;

/// Messages below this never wait: a ring full of them fits into a cache.
pub(super) const PACED_FROM: usize = 16 * 1024;
/// How long a message waits for a receiver that releases nothing.
pub(super) const PATIENCE: Duration = Duration::from_millis(1);
/// The bound where the size of the last cache is not known.
const USUAL: usize = 8 << 20;

/// The bytes that may be under way.
pub(super) struct Pace {
    usual: usize,
    now: usize,
}

impl Pace {
    /// As set, else a quarter of the last cache: others share it, and what is read lies there too.
    pub(super) fn new(set: Option<u64>) -> Self {
        let usual = match set {
            Some(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
            None => cpu::last_cache().map_or(USUAL, |bytes| bytes / 4),
        };
        Self { usual, now: usual }
    }

    /// Whether a message of `len` bytes goes too far ahead with so much under way. One is always
    /// let go.
    #[inline]
    pub(super) fn is_exceeded(&self, under_way: usize, len: usize) -> bool {
        under_way > 0 && under_way.saturating_add(len) > self.now
    }

    /// The receiver released nothing for so long that waiting is of no use.
    pub(super) fn widen(&mut self) {
        self.now = self.now.saturating_mul(2).max(1);
    }

    /// Everything has come back.
    pub(super) fn reset(&mut self) {
        self.now = self.usual;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::Instant;

    use super::*;
    use crate::{Call, ServerSession, Session, SessionOptions};

    #[test]
    fn one_message_may_be_of_any_size() {
        let pace = Pace::new(Some(1000));
        assert!(!pace.is_exceeded(0, 5000));
        assert!(pace.is_exceeded(5000, 1));
        assert!(!pace.is_exceeded(500, 500));
        assert!(pace.is_exceeded(500, 501));
    }

    #[test]
    fn a_receiver_that_releases_nothing_is_soon_not_waited_for() {
        let mut pace = Pace::new(Some(1));
        let widened = (0..64).take_while(|_| {
            let exceeded = pace.is_exceeded(64 << 20, 1 << 20);
            pace.widen();
            exceeded
        });
        assert_eq!(widened.count(), 27);
        pace.reset();
        assert!(pace.is_exceeded(1, 1));
    }

    const BOUND: usize = 64 << 10;

    fn pair() -> (Session, ServerSession) {
        Session::pair(&SessionOptions::new().under_way(Some(BOUND as u64))).unwrap()
    }

    #[test]
    fn a_message_too_far_ahead_waits_for_a_moment_and_is_sent_all_the_same() {
        let (mut client, server) = pair();
        client.post(0, &[1; BOUND]).unwrap();
        for _ in 0..2 {
            let start = Instant::now();
            client.post(0, &[1; BOUND]).unwrap();
            assert!(start.elapsed() >= PATIENCE);
            // Of all that was let go meanwhile, none is waited for again.
            client.pace.reset();
        }
        let start = Instant::now();
        client.reserve(BOUND).unwrap().post(0).unwrap();
        assert!(start.elapsed() >= PATIENCE);
        drop(client);
        let served = AtomicUsize::new(0);
        let count = move |call: Call<'_>| {
            assert_eq!((call.request().len(), served.fetch_add(1, Relaxed) < 4), (BOUND, true));
            call.done()
        };
        server.serve(&count).unwrap();
    }

    #[test]
    fn requests_in_flight_do_not_hold_back_the_next() {
        let (mut client, server) = pair();
        for _ in 0..8 {
            client.send(0, &[1; BOUND]).unwrap();
        }
        assert_eq!(client.pace.now, BOUND, "nothing was waited for");
        let server = std::thread::spawn(move || server.serve(&|call: Call<'_>| call.echo()));
        for _ in 0..8 {
            assert_eq!(client.receive().unwrap().bytes().len(), BOUND);
        }
        drop(client);
        server.join().unwrap().unwrap();
    }

    #[test]
    fn the_bound_is_back_when_everything_has_come_back() {
        let (mut client, server) = pair();
        for _ in 0..8 {
            client.post(0, &[1; BOUND]).unwrap();
        }
        assert!(client.pace.now > BOUND, "the server has taken nothing");
        let server = std::thread::spawn(move || server.serve(&|call: Call<'_>| call.done()));
        client.call(0, &[]).unwrap();
        client.post(0, &[1; BOUND]).unwrap();
        client.call(0, &[]).unwrap();
        // What came back is known once memory is asked for.
        client.link.collect_released();
        client.post(0, &[1; BOUND]).unwrap();
        assert_eq!(client.pace.now, BOUND);
        drop(client);
        server.join().unwrap().unwrap();
    }

    #[test]
    fn the_usual_bound_is_some_of_the_last_cache() {
        let pace = Pace::new(None);
        assert!((256 << 10..1 << 30).contains(&pace.usual), "{}", pace.usual);
    }
}
