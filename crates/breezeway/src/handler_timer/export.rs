//! Durations of handlers, for a recorder.

use std::sync::{LazyLock, Mutex};

use breezeway_os::clock;
use hdrhistogram::Histogram;
use metrics::histogram;

/// Limit on times between two exports, as an exporter may allocate memory for each.
const MOST_NOTED: u64 = 1 << 16;
/// The longest distinct time, in ticks: more than 10 minutes at 10 GHz.
const MOST: u64 = 1 << 43;

/// Times not yet recorded, in ticks of the clock.
static TIMES: LazyLock<Mutex<Histogram<u64>>> = LazyLock::new(|| {
    let histogram = Histogram::new_with_bounds(1, MOST, 2).expect("bounds that are in order");
    Mutex::new(histogram)
});

/// Notes a time, unless another thread holds the lock at this moment: a call never waits, and a
/// forked child inherits the lock in its state.
pub(super) fn note(ticks: u64) {
    if let Ok(mut times) = TIMES.try_lock()
        && times.len() < MOST_NOTED
    {
        times.saturating_record(ticks);
    }
}

/// Passes the times since the last call to the recorder.
pub(crate) fn record() {
    let Ok(mut times) = TIMES.try_lock() else { return };
    let taken = times.clone();
    times.reset();
    drop(times);
    let seconds = histogram!("breezeway_handler_seconds");
    for step in taken.iter_recorded() {
        let nanoseconds = clock::nanoseconds(step.value_iterated_to());
        let count = usize::try_from(step.count_at_value()).unwrap_or(usize::MAX);
        seconds.record_many(nanoseconds as f64 / 1e9, count);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn times_between_two_exports_stop_at_limit() {
        // Other tests may hold the lock, and export, at any time.
        let deadline = Instant::now() + Duration::from_secs(10);
        while TIMES.lock().unwrap().len() < MOST_NOTED {
            assert!(Instant::now() < deadline, "times are not noted");
            note(1);
        }
        note(1);
        let mut times = TIMES.lock().unwrap();
        let noted = times.len();
        times.reset();
        assert!(noted <= MOST_NOTED, "{noted} times");
    }
}
