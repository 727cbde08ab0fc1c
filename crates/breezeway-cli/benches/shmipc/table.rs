//! Results as text for people.

use super::measurement::{Figures, System};
use super::work::{Judge, PAIRS, Round, Work};

pub(crate) fn explain() {
    println!(
        "Two processes pinned to CPUs 0 and 1, memfd, closed loop, every byte written and compared."
    );
    println!("Ratios are medians of those of single rounds.\n");
    println!(
        "{:<18} {:<16} {:>10} {:>10} {:>12}  against upstream with itself",
        "work", "client → server", "p50", "p99", "messages/s"
    );
}

pub(crate) fn print(work: &Work, rounds: &[Round]) {
    for pair in PAIRS {
        let of = |figure: fn(Figures) -> f64| {
            median(rounds.iter().map(|round| figure(round.of(pair.client, pair.server))))
        };
        println!(
            "{:<18} {:<16} {:>7.1} µs {:>7.1} µs {:>12.0}  {}",
            work.name,
            format!("{} → {}", name(pair.client), name(pair.server)),
            of(|figures| figures.p50) / 1e3,
            of(|figures| figures.p99) / 1e3,
            of(|figures| figures.per_second),
            comparison(work, rounds, pair.client, pair.server),
        );
    }
    println!();
}

/// Returns the comparison of a pair with upstream's own.
fn comparison(work: &Work, rounds: &[Round], client: System, server: System) -> String {
    let gain = |upstream: System| {
        median(rounds.iter().map(|round| {
            let (ours, theirs) = (round.of(client, server), round.of(upstream, upstream));
            match work.judged_by {
                Judge::MessagesPerSecond => ours.per_second / theirs.per_second,
                Judge::TimesLower(_) | Judge::TimesTouched(_) => theirs.p50 / ours.p50,
            }
        }))
    };
    let touched = median(rounds.iter().map(|round| round.of(client, server).p50 / round.touched));
    match (client, server, work.judged_by) {
        (System::Ours, System::Ours, Judge::TimesLower(least)) => {
            let (go, rust) = (gain(System::Go), gain(System::Rust));
            format!("{go:.2} × go, {rust:.2} × rs  {}", verdict(go.min(rust) >= least, ">=", least))
        }
        (System::Ours, System::Ours, Judge::TimesTouched(most)) => {
            let (go, rust) = (gain(System::Go), gain(System::Rust));
            let verdict = verdict(touched <= most, "<=", most);
            format!("{go:.2} × go, {rust:.2} × rs; {touched:.2} × bare touched memory  {verdict}")
        }
        (System::Ours, System::Ours, Judge::MessagesPerSecond) => {
            let (go, rust) = (gain(System::Go), gain(System::Rust));
            format!("{go:.2} × go, {rust:.2} × rs  {}", verdict(go.min(rust) >= 1.0, ">=", 1.0))
        }
        (System::Ours, upstream, _) | (upstream, System::Ours, _) => {
            let gain = gain(upstream);
            format!("{gain:.2} × {}  {}", name(upstream), verdict(gain >= 1.0, ">=", 1.0))
        }
        _ => String::new(),
    }
}

fn verdict(reached: bool, relation: &str, limit: f64) -> String {
    format!("{relation} {limit} {}", if reached { "ok" } else { "MISSED" })
}

fn name(system: System) -> &'static str {
    match system {
        System::Ours => "ours",
        System::Go => "go",
        System::Rust => "rs",
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
