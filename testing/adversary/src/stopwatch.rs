//! Limits that a machine which stands still, or gives its time to others, does not use up.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::socket::PATIENCE;

const BEAT: Duration = Duration::from_millis(5);

/// Beats of a thread that does nothing but sleep so long again and again: while this process is not
/// scheduled, or the whole machine pauses, it does not beat.
fn beats() -> u64 {
    static BEATS: AtomicU64 = AtomicU64::new(0);
    static HEART: OnceLock<()> = OnceLock::new();
    HEART.get_or_init(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(BEAT);
                BEATS.fetch_add(1, Ordering::Relaxed);
            }
        });
    });
    BEATS.load(Ordering::Relaxed)
}

/// Measures time as this process experiences it: at most as long as the time on the wall, and
/// shorter on a machine that is not to be relied on.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(u64);

impl Stopwatch {
    /// Starts.
    pub fn start() -> Self {
        Self(beats())
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        BEAT * u32::try_from(beats() - self.0).unwrap_or(u32::MAX)
    }

    /// Returns true once `limit` is over.
    pub fn passed(&self, limit: Duration) -> bool {
        self.elapsed() >= limit
    }
}

/// Waits until `done`, asking often.
///
/// # Panics
///
/// After [`PATIENCE`].
#[track_caller]
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let start = Stopwatch::start();
    while !done() {
        assert!(!start.passed(PATIENCE), "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
