//! Interleaved measuring, so that a disturbance affects all contenders.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::allocations;
use crate::contenders::{Case, Operation};
use crate::effects::Effect;

/// Approximate time of one sample of one case.
const SAMPLE: Duration = Duration::from_micros(400);

/// A case with its results.
pub struct Row {
    pub codec: &'static str,
    pub operation: Operation,
    /// Nanoseconds, the median of all samples.
    pub median: f64,
    /// The median of the ratios to a copy of the encoded bytes that was timed in the same round.
    pub to_copy: f64,
    /// Number of allocations each time.
    pub allocations: u64,
    /// Nanoseconds in each round.
    times: Vec<f64>,
}

impl Row {
    /// Returns the ratio of its time to another's: the median of the ratios of each round.
    pub fn to(&self, other: &Self) -> f64 {
        let rounds = self.times.iter().zip(&other.times);
        median(&mut rounds.map(|(ours, theirs)| ours / theirs).collect::<Vec<_>>())
    }
}

/// Returns the processor time of this thread, in nanoseconds. Unlike a clock it excludes the time
/// of other threads.
fn used() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn nanoseconds(repeats: u32, mut work: impl FnMut() -> u64) -> f64 {
    // The work before left the caches full of other data.
    black_box(work());
    let start = used();
    for _ in 0..repeats {
        black_box(work());
    }
    (used() - start) / f64::from(repeats)
}

fn repeats_for(mut work: impl FnMut() -> u64) -> u32 {
    nanoseconds(2, &mut work);
    let once = nanoseconds(3, &mut work).max(1.0);
    (SAMPLE.as_nanos() as f64 / once).clamp(1.0, 100_000.0) as u32
}

/// The median; the order of `samples` changes.
pub fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// A copy of `size` bytes into memory that is there.
fn copy(size: usize) -> impl FnMut() -> u64 {
    let from = vec![1u8; size];
    let mut to = vec![0u8; size];
    move || {
        to.copy_from_slice(black_box(&from));
        u64::from(black_box(&to)[size - 1])
    }
}

/// Measures every case once in each of `rounds` rounds, each directly after a copy of `size` bytes.
pub fn measure(size: usize, rounds: usize, mut cases: Vec<Case>) -> Vec<Row> {
    let mut copy = copy(size);
    let copies = repeats_for(&mut copy);
    let repeats: Vec<u32> = cases.iter_mut().map(|case| repeats_for(&mut case.work)).collect();
    let allocations: Vec<u64> =
        cases.iter_mut().map(|case| allocations::of(|| _ = black_box((case.work)()))).collect();
    let mut samples = vec![(Vec::new(), Vec::new()); cases.len()];
    for _ in 0..rounds {
        for ((case, repeats), (times, ratios)) in cases.iter_mut().zip(&repeats).zip(&mut samples) {
            let floor = nanoseconds(copies, &mut copy);
            let time = nanoseconds(*repeats, &mut case.work);
            times.push(time);
            ratios.push(time / floor);
        }
    }
    cases
        .iter()
        .zip(&mut samples)
        .zip(allocations)
        .map(|((case, (times, ratios)), allocations)| Row {
            codec: case.codec,
            operation: case.operation,
            median: median(&mut times.clone()),
            to_copy: median(ratios),
            allocations,
            times: std::mem::take(times),
        })
        .collect()
}

/// Prints a table: a line for each codec, for each operation the time and the ratio to a copy.
pub fn print(title: &str, rows: &[Row]) {
    let mut lines: BTreeMap<&str, BTreeMap<Operation, &Row>> = BTreeMap::new();
    for row in rows {
        lines.entry(row.codec).or_default().insert(row.operation, row);
    }
    println!("\n{title}");
    let operations = [Operation::Encode, Operation::Decode, Operation::Read, Operation::Cycle];
    println!("{:<28}{:>20}{:>20}{:>20}{:>20}", "µs (× copy)", "encode", "decode", "read", "cycle");
    for (codec, cells) in lines {
        print!("{codec:<28}");
        for operation in operations {
            match cells.get(&operation) {
                Some(row) => print!("{:>11.3} ({:>5.2})", row.median / 1e3, row.to_copy),
                None => print!("{:>19}", "–"),
            }
        }
        println!();
    }
    for operation in operations {
        let rows = rows.iter().filter(|row| row.operation == operation);
        let counts: Vec<String> =
            rows.map(|row| format!("{} {}", row.codec, row.allocations)).collect();
        if !counts.is_empty() {
            println!("allocations, {operation:?}: {}", counts.join(", "));
        }
    }
}

/// Measures every effect in each of `rounds` rounds and prints how many times as long the work
/// takes without the technique.
pub fn print_effects(rounds: usize, effects: Vec<Effect>) {
    println!("\nwithout / with");
    for mut effect in effects {
        let repeats = repeats_for(&mut effect.without);
        let mut ratios: Vec<f64> = (0..rounds)
            .map(|_| {
                let with = nanoseconds(repeats, &mut effect.with);
                nanoseconds(repeats, &mut effect.without) / with
            })
            .collect();
        println!("{:>8.2} ×  {}", median(&mut ratios), effect.name);
    }
}
