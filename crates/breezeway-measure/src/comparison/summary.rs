//! Conversion of measurements to results: medians over rounds, at one level of the floor each.

use super::date;
use super::host;
use std::time::Duration;

use super::others::{Usage, share};
use super::plan::{FLOOR, Plan, Row};
use super::rare::{Rare, RarePairs};
use super::results::{
    AgainstPlain, Background, Comparison, CpuUse, Figures, Found, Latencies, LeftOut, MIN_MESSAGES,
    Method, SCHEMA,
};
use super::sweep::{Sample, Samples, Swept};
use crate::machine::Machine;
use crate::statistics::{Levels, Spread, is_disturbed, median};

/// Largest difference between the floors before and after a measurement at which the machine counts
/// as having kept its speed.
const STEADY: f64 = 0.15;

impl Comparison {
    pub(crate) fn new(plan: &Plan, swept: &Swept, rare: &[RarePairs]) -> Self {
        let samples = &swept.samples;
        let floors = floors(samples);
        let levels = Levels::of(&floors);
        let rows = plan.rows.iter().zip(samples);
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            date: date::now(),
            method: Method {
                quick: plan.quick,
                rounds: rounds(samples),
                seconds: plan.measuring.as_secs_f64(),
                min_messages: MIN_MESSAGES,
                floor_milliseconds: FLOOR.as_millis(),
                floor_readings: floors.len(),
                floor_disturbed: floors.iter().filter(|&&floor| is_disturbed(floor)).count(),
            },
            background: Background::of(swept),
            machine: Machine::detect(plan.cpus),
            rows: rows.map(|(row, samples)| Found::new(*row, samples, &levels, plan)).collect(),
            against_plain: against_plain(plan, samples),
            rare_calls: plan
                .rare
                .iter()
                .zip(rare)
                .map(|(rate, all)| Rare::new(*rate, all))
                .collect(),
            levels: levels.0,
            left_out: left_out(plan),
        }
    }
}

impl Background {
    fn of(swept: &Swept) -> Option<Self> {
        let sum = |of: fn(&Usage) -> Duration| swept.usages.iter().map(of).sum::<Duration>();
        let available = sum(|usage| usage.available);
        (!available.is_zero()).then(|| Self {
            others: share(sum(|usage| usage.others), available),
            stolen: share(sum(|usage| usage.stolen), available),
            measurements: swept.usages.len(),
            disturbed: swept.usages.iter().filter(|usage| usage.is_disturbed()).count(),
            repeated: swept.repeated,
        })
    }
}

fn left_out(plan: &Plan) -> Vec<LeftOut> {
    plan.left_out.iter().map(|&(pattern, reason)| LeftOut { pattern, reason }).collect()
}

impl Found {
    fn new(row: Row, samples: &Samples, levels: &Levels, plan: &Plan) -> Self {
        let mut all = match samples {
            Ok(samples) => figures(row, samples, levels),
            Err(_) => Vec::new(),
        };
        let main = &levels.0.get(levels.main()).map(|level| level.name.clone());
        // Among reliable figures, those at the level of most of the run come first, so that rows
        // can be compared with each other.
        all.sort_by_key(|figures| {
            (figures.disturbed, !figures.steady, Some(&figures.level) != main.as_ref())
        });
        let mut all = all.into_iter();
        Self {
            series: row.series,
            pattern: row.pattern,
            size: row.size,
            depth: row.depth(),
            error: samples.as_ref().err().cloned(),
            figures: all.next(),
            other_levels: all.collect(),
            commands: host::commands(row, plan),
        }
    }
}

/// Returns the number of rounds: fewer than planned on a machine that other programs slow down.
fn rounds(samples: &[Samples]) -> u32 {
    let all = samples.iter().flatten().flatten();
    all.map(|sample| sample.round + 1).max().unwrap_or(0)
}

/// Returns each reading of the floor once: the one after a measurement is also before the next.
fn floors(samples: &[Samples]) -> Vec<f64> {
    let all = samples.iter().flatten().flatten();
    all.map(|sample| sample.floor[1]).collect()
}

/// Returns one entry for each level at which the row was measured.
fn figures(row: Row, samples: &[Sample], levels: &Levels) -> Vec<Figures> {
    let mut all = Vec::new();
    for (index, level) in levels.0.iter().enumerate() {
        let here = |sample: &&Sample| levels.index(floor(sample)) == index;
        let here: Vec<&Sample> = samples.iter().filter(here).collect();
        all.extend(figures_at(row, &here, &level.name));
    }
    all
}

/// Returns figures of the rounds that no other program disturbed, if there are any, and of the
/// steady ones among these, if there are any.
fn figures_at(row: Row, samples: &[&Sample], level: &str) -> Option<Figures> {
    let undisturbed = those(samples, |sample| !sample.is_disturbed());
    let samples = if undisturbed.is_empty() { samples } else { &undisturbed };
    let steady = those(samples, is_steady);
    let counted = if steady.is_empty() { samples } else { &steady };
    let over = |value: &dyn Fn(&Sample) -> Option<f64>| {
        median(counted.iter().filter_map(|sample| value(sample)))
    };
    let floors =
        counted.iter().filter_map(|sample| Some(sample.per_message(row.pattern)? / floor(sample)));
    // Of other rounds than the one below it, a percentile could be the smaller one.
    let known = |index: usize| counted.iter().all(|sample| sample.percentiles[index].is_some());
    let percentile =
        |index: usize| over(&|sample| sample.percentiles[index]).filter(|_| known(index));
    let per_second = over(&|sample| sample.per_second);
    let messages = counted.iter().map(|sample| sample.messages).sum();
    Some(Figures {
        level: level.to_owned(),
        rounds: counted.len(),
        steady: !steady.is_empty(),
        messages,
        few: messages < MIN_MESSAGES,
        disturbed: undisturbed.is_empty(),
        others: over(&|sample| sample.usage.map(|_| sample.lost())),
        cpus: CpuUse {
            client: over(&|sample| sample.cpus[0]),
            server: over(&|sample| sample.cpus[1]),
        },
        latency_ns: Latencies {
            p50: percentile(0),
            p90: percentile(1),
            p99: percentile(2),
            p999: percentile(3),
        },
        messages_per_second: per_second,
        bytes_per_second: per_second.map(|rate| rate * row.size as f64),
        floor_before_ns: over(&|sample| Some(sample.floor[0]))?,
        floor_after_ns: over(&|sample| Some(sample.floor[1]))?,
        ns_per_message: over(&|sample| sample.per_message(row.pattern))?,
        floors: Spread::of(floors)?,
    })
}

fn those<'s>(samples: &[&'s Sample], is_wanted: fn(&Sample) -> bool) -> Vec<&'s Sample> {
    samples.iter().copied().filter(|sample| is_wanted(sample)).collect()
}

fn floor(sample: &Sample) -> f64 {
    (sample.floor[0] + sample.floor[1]) / 2.0
}

fn is_steady(sample: &Sample) -> bool {
    let [before, after] = sample.floor;
    !is_disturbed(before.max(after)) && (before - after).abs() <= STEADY * floor(sample)
}

fn against_plain(plan: &Plan, samples: &[Samples]) -> Vec<AgainstPlain> {
    let rows = plan.rows.iter().zip(samples);
    let compared = rows.filter_map(|(row, ours)| {
        let plain = Row { series: row.series.plain()?, ..*row };
        let index = plan.rows.iter().position(|other| *other == plain)?;
        let ratio = ratio(*row, ours.as_ref().ok()?, samples[index].as_ref().ok()?)?;
        Some(AgainstPlain { series: row.series, size: row.size, ratio })
    });
    compared.collect()
}

/// Ours over theirs in each round; the two were measured one shortly after the other. Rounds in
/// which other programs disturbed one of them do not count, if there are others. Nothing if either
/// has too few messages.
fn ratio(row: Row, ours: &[Sample], theirs: &[Sample]) -> Option<Spread> {
    let enough = |samples: &[Sample]| {
        samples.iter().map(|sample| sample.messages).sum::<u64>() >= MIN_MESSAGES
    };
    if !enough(ours) || !enough(theirs) {
        return None;
    }
    let pairs: Vec<(&Sample, &Sample)> = ours
        .iter()
        .filter_map(|ours| Some((ours, theirs.iter().find(|one| one.round == ours.round)?)))
        .collect();
    let is_undisturbed =
        |(one, other): &&(&Sample, &Sample)| !one.is_disturbed() && !other.is_disturbed();
    let any = pairs.iter().any(|pair| is_undisturbed(&pair));
    let counted = pairs.iter().filter(|pair| !any || is_undisturbed(pair));
    Spread::of(counted.filter_map(|(ours, theirs)| {
        Some(ours.per_message(row.pattern)? / theirs.per_message(row.pattern)?)
    }))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::comparison::rare::sample_pairs as rare_pairs;
    use crate::comparison::{Carrier, Pattern, Series, Settings};
    use crate::machine::Cpus;
    use std::slice;

    const ROW: Row = Row { series: Series::SHM_BUSY, pattern: Pattern::PingPong, size: 8 };

    fn sample(round: u32, floor: [f64; 2], p50: f64) -> Sample {
        let percentiles = [Some(p50), None, None, None];
        let usage = Some(usage(0));
        let per_second = Some(1e9 / p50);
        let cpus = [Some(1.0), Some(0.5)];
        Sample { round, floor, messages: 100, per_second, percentiles, cpus, usage }
    }

    /// Returns a usage of 100 ms of both CPUs, of which other programs used `others`.
    fn usage(others: u64) -> Usage {
        let [available, others] = [100, others].map(Duration::from_millis);
        Usage { available, others, stolen: Duration::ZERO, server: Duration::ZERO }
    }

    fn disturbed(round: u32, p50: f64) -> Sample {
        Sample { usage: Some(usage(50)), ..sample(round, [100.0; 2], p50) }
    }

    /// Returns the results of a small run in which TCP was not available.
    pub(crate) fn sample_run() -> Comparison {
        let settings = Settings { quick: true, sizes: vec![64, 65_536], ..Settings::default() };
        let plan = Plan::new(&settings, Cpus { measurer: 0, partner: 1 });
        let samples = |row: &Row| match row.series.carrier {
            Carrier::Tcp => Err("not available: no network".to_owned()),
            _ => Ok(vec![sample(0, [100.0; 2], row.size as f64 + 200.0); 3]),
        };
        let samples = plan.rows.iter().map(samples).collect();
        let rare: Vec<_> = plan.rare.iter().map(|_| rare_pairs()).collect();
        Comparison::new(&plan, &Swept { samples, usages: vec![usage(0); 9], repeated: 0 }, &rare)
    }

    #[test]
    fn disturbed_rounds_do_not_count_if_there_are_others() {
        let (slow, fast) = (disturbed(0, 900.0), sample(1, [100.0; 2], 150.0));
        let both = figures_at(ROW, &[&slow, &fast], "near").unwrap();
        assert_eq!((both.rounds, both.disturbed, both.latency_ns.p50), (1, false, Some(150.0)));
        assert_eq!((both.cpus.both(), both.others), (Some(1.5), Some(0.0)));
        let alone = figures_at(ROW, &[&slow], "near").unwrap();
        assert_eq!((alone.rounds, alone.disturbed, alone.others), (1, true, Some(0.5)));
    }

    #[test]
    fn an_undisturbed_level_goes_before_the_main_one() {
        let plan = Plan::new(&Settings::default(), Cpus { measurer: 0, partner: 1 });
        let far = Sample { floor: [500.0; 2], ..sample(1, [500.0; 2], 600.0) };
        let samples = Ok(vec![disturbed(0, 150.0), far]);
        let found = Found::new(ROW, &samples, &Levels::of(&[100.0, 100.0, 500.0]), &plan);
        let figures = found.figures.unwrap();
        assert_eq!((figures.level.as_str(), figures.disturbed), ("far", false));
        assert_eq!(found.other_levels.len(), 1);
    }

    #[test]
    fn disturbed_pairs_do_not_count_if_there_are_others() {
        let ours = [disturbed(0, 900.0), sample(1, [1.0; 2], 30.0)];
        let theirs = [sample(0, [1.0; 2], 10.0), sample(1, [1.0; 2], 15.0)];
        assert_eq!(ratio(ROW, &ours, &theirs).unwrap().max, 2.0);
        assert_eq!(ratio(ROW, &ours[..1], &theirs).unwrap().max, 90.0);
    }

    #[test]
    fn background_sums_up_all_measurements() {
        let usages = vec![usage(0), usage(50), usage(10)];
        let background =
            Background::of(&Swept { samples: Vec::new(), usages, repeated: 1 }).unwrap();
        assert!((background.others - 0.2).abs() < 1e-9);
        assert_eq!((background.measurements, background.disturbed), (3, 1));
        let nothing = Swept { samples: Vec::new(), usages: Vec::new(), repeated: 0 };
        assert!(Background::of(&nothing).is_none());
    }

    #[test]
    fn rows_without_figures_have_a_reason() {
        let comparison = sample_run();
        let reason = "not available: no network";
        let missing: Vec<_> = comparison.missing();
        let series = ["tcp busy", "tcp park", "tcp adaptive"];
        assert_eq!(missing, series.map(|series| (series.to_owned(), reason)));
        let tcp = comparison.rows.iter().find(|row| row.series.carrier == Carrier::Tcp).unwrap();
        assert!(tcp.figures.is_none() && tcp.error.as_deref() == Some(reason));
    }

    #[test]
    fn a_ratio_holds_within_one_level() {
        let samples = [
            sample(0, [100.0; 2], 150.0),
            sample(1, [500.0; 2], 600.0),
            sample(2, [100.0; 2], 140.0),
        ];
        let levels = Levels::of(&[100.0, 100.0, 500.0]);
        let all = figures(ROW, &samples, &levels);
        assert_eq!(all.iter().map(|figures| figures.rounds).collect::<Vec<_>>(), [2, 1]);
        assert!((all[0].floors.median - 1.45).abs() < 1e-9);
        assert!((all[1].floors.median - 1.2).abs() < 1e-9);
    }

    #[test]
    fn unsteady_rounds_do_not_count_beside_steady_ones() {
        let jumped = sample(0, [100.0, 130.0], 500.0);
        let steady = sample(1, [100.0, 101.0], 150.0);
        let both = figures_at(ROW, &[&jumped, &steady], "near").unwrap();
        assert_eq!((both.rounds, both.steady, both.latency_ns.p50), (1, true, Some(150.0)));
        let alone = figures_at(ROW, &[&jumped], "near").unwrap();
        assert_eq!((alone.rounds, alone.steady), (1, false));
    }

    #[test]
    fn percentile_missing_in_a_round_is_left_out() {
        let slow = sample(0, [100.0; 2], 900.0);
        let mut fast = sample(1, [100.0; 2], 150.0);
        fast.percentiles[1] = Some(160.0);
        let both = figures_at(ROW, &[&slow, &fast], "near").unwrap();
        assert_eq!((both.latency_ns.p50, both.latency_ns.p90), (Some(525.0), None));
    }

    #[test]
    fn a_cold_start_is_marked_and_compared_with_nothing() {
        let cold = Sample { messages: 1, ..sample(0, [100.0; 2], 5e7) };
        let warm = sample(0, [100.0; 2], 150.0);
        assert!(figures_at(ROW, &[&cold, &cold], "near").unwrap().few);
        assert!(!figures_at(ROW, &[&cold, &warm], "near").unwrap().few);
        assert_eq!(ratio(ROW, slice::from_ref(&cold), slice::from_ref(&warm)), None);
        assert_eq!(ratio(ROW, slice::from_ref(&warm), slice::from_ref(&cold)), None);
    }

    #[test]
    fn ours_is_compared_with_theirs_of_the_same_round() {
        let ours = [sample(0, [1.0; 2], 20.0), sample(2, [1.0; 2], 30.0)];
        let theirs = [sample(1, [1.0; 2], 1.0), sample(2, [1.0; 2], 15.0)];
        assert_eq!(ratio(ROW, &ours, &theirs).unwrap().median, 2.0);
        assert_eq!(ratio(ROW, &ours, &theirs[..1]), None);
    }
}
