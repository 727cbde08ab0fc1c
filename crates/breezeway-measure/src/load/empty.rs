//! Cost of a load for the measuring side without any message: filling, comparing, and reading the
//! clock, in a buffer of its own.

use std::hint::black_box;
use std::time::Duration;

use breezeway_os::clock;

use super::{Load, Pattern, ping_pong};
use crate::pattern;
use crate::statistics::Recorder;

/// Time of this measurement.
const TIME: Duration = Duration::from_millis(5);
/// Largest part of a message that is filled and compared, one piece after the other. The time of a
/// larger message is extrapolated.
const MOST: usize = 4 << 20;

/// Nanoseconds of each message of `load`, from the smallest to the largest part of its work at a
/// time, as a run does it.
#[must_use]
pub fn cost(load: &Load) -> f64 {
    clock::calibrate();
    let whole_message = load.touched();
    let touched = whole_message.min(MOST);
    let mut buffer = vec![0; touched.min(ping_pong::PIECE)];
    let mut whole = vec![0; if touched < ping_pong::LARGE { touched } else { 0 }];
    let mut recorder = Recorder::new();
    let (start, mut count) = (clock::ticks(), 0);
    let mut now = start;
    while now.wrapping_sub(start) < clock::ticks_in(TIME) {
        match load.pattern {
            Pattern::PingPong | Pattern::Cold => {
                if whole.is_empty() {
                    in_pieces(&mut buffer, touched, count);
                } else {
                    fill_and_compare(&mut whole, pattern::seed(count));
                }
                count += 1;
                recorder.record(clock::ticks().wrapping_sub(now));
            }
            Pattern::OneWay => count = fill_batch(load, &mut buffer, touched, count),
        }
        now = clock::ticks();
    }
    black_box(&recorder);
    let nanoseconds = clock::nanoseconds(now.wrapping_sub(start)) as f64;
    nanoseconds / count as f64 * (whole_message.max(1) as f64 / touched.max(1) as f64)
}

/// Large payload: written piece by piece, and compared piece by piece.
fn in_pieces(piece: &mut [u8], touched: usize, round: u64) {
    for offset in (0..touched).step_by(ping_pong::PIECE) {
        let piece = &mut piece[..ping_pong::PIECE.min(touched - offset)];
        fill_and_compare(piece, pattern::seed_at(pattern::seed(round), offset));
    }
}

fn fill_and_compare(bytes: &mut [u8], seed: u64) {
    pattern::fill(bytes, seed);
    black_box(pattern::matches(black_box(bytes), seed));
}

/// Beside large messages the clock is nothing, and a batch would take long.
fn fill_batch(load: &Load, buffer: &mut [u8], touched: usize, count: u64) -> u64 {
    let batch = if touched < ping_pong::LARGE { u64::from(load.batch) } else { 1 };
    for number in count..count + batch {
        let seed = pattern::seed(number);
        for offset in (0..touched).step_by(ping_pong::PIECE) {
            let piece = &mut buffer[..ping_pong::PIECE.min(touched - offset)];
            pattern::fill(piece, pattern::seed_at(seed, offset));
            black_box(piece);
        }
        black_box(pattern::sum(touched, seed));
    }
    count + batch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Extent, Touch};

    #[test]
    fn more_bytes_cost_more_and_untouched_ones_nothing() {
        let load = |pattern, size, touch| Load {
            pattern,
            size,
            touch,
            extent: Extent { count: Some(1), seconds: 1.0 },
            rate: None,
            depth: 1,
            batch: 4,
        };
        // Other programs take the CPU from some of them.
        let cost = |load| (0..5).map(|_| cost(&load)).fold(f64::INFINITY, f64::min);
        for pattern in [Pattern::PingPong, Pattern::OneWay] {
            let small = cost(load(pattern, 40, Touch::All));
            let large = cost(load(pattern, 1 << 20, Touch::All));
            let untouched = cost(load(pattern, 1 << 20, Touch::None));
            assert!(small > 0.0 && large > 10.0 * small, "{pattern:?}: {small} and {large}");
            assert!(untouched < large / 10.0, "{pattern:?}: {untouched} and {large}");
            // A run over so many bytes would not end.
            let endless = cost(load(pattern, 1 << 40, Touch::All));
            assert!(endless > 1e4 * large, "{pattern:?}: {endless} and {large}");
        }
    }
}
