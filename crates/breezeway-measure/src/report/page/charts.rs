//! The charts of the page.

use crate::comparison::{Comparison, DEPTH, Figures, Pattern, Series};
use crate::report::chart::axis::Axis;
use crate::report::chart::series::{Line, Point, Style};
use crate::report::chart::{Chart, Reference};
use crate::report::units::{bytes, duration, rate, round, significant, throughput};

/// Room for the name of the lowest floor, as a share of it.
const ROOM_BELOW: f64 = 0.7;
const SIZE: &str = "bytes of a message";

pub(crate) fn all(comparison: &Comparison) -> Vec<Chart> {
    let mut charts = vec![latency(comparison)];
    charts.extend(against_plain(comparison));
    charts.push(one_way(comparison));
    charts.push(pipelined(comparison));
    let sizes = [comparison.size_near(64), comparison.size_near(64 << 10)];
    charts.push(percentiles(comparison, "percentiles-small", sizes[0]));
    if sizes[0] != sizes[1] {
        charts.push(percentiles(comparison, "percentiles-large", sizes[1]));
    }
    charts.retain(|chart| !chart.lines.is_empty());
    charts
}

impl Comparison {
    /// The measured size that is closest to `wanted`.
    pub(crate) fn size_near(&self, wanted: usize) -> usize {
        let sizes = self.sizes();
        sizes.into_iter().min_by_key(|size| size.abs_diff(wanted)).unwrap_or(wanted)
    }
}

fn latency(comparison: &Comparison) -> Chart {
    let lines = lines(comparison, Pattern::PingPong, |figures| figures.latency_ns.p50, duration);
    let medians = comparison.levels.iter().map(|level| level.nanoseconds.median);
    let lowest = medians.fold(f64::INFINITY, f64::min);
    let levels = comparison.levels.iter().map(|level| Reference {
        name: format!("{} floor {}", level.name, duration(level.nanoseconds.median)),
        y: level.nanoseconds.median,
    });
    let references: Vec<Reference> = levels.collect();
    let floors = references.iter().map(|reference| reference.y);
    let shown: Vec<f64> = floors.chain([lowest * ROOM_BELOW]).filter(|y| y.is_finite()).collect();
    Chart {
        id: "latency",
        title: "Latency over size".to_owned(),
        description: "Median round trip of one call at a time. Lower is better.".to_owned(),
        x: sizes(comparison),
        y: Axis::logarithmic("time", heights(&lines).chain(shown), |value| round(&duration(value))),
        lines,
        references,
    }
}

fn one_way(comparison: &Comparison) -> Chart {
    let lines = lines(comparison, Pattern::OneWay, |figures| figures.bytes_per_second, throughput);
    Chart {
        id: "one-way",
        title: "Throughput over size, one-way".to_owned(),
        description: "Bytes a second in messages without replies. Higher is better.".to_owned(),
        x: sizes(comparison),
        y: Axis::logarithmic("throughput", heights(&lines), |value| round(&throughput(value))),
        lines,
        references: Vec::new(),
    }
}

fn pipelined(comparison: &Comparison) -> Chart {
    let lines = lines(comparison, Pattern::Pipelined, |figures| figures.messages_per_second, rate);
    Chart {
        id: "pipelined",
        title: "Calls a second over size, pipelined".to_owned(),
        description: format!("{DEPTH} calls in flight on one session. Higher is better."),
        x: sizes(comparison),
        y: Axis::logarithmic("rate", heights(&lines), |value| round(&rate(value))),
        lines,
        references: Vec::new(),
    }
}

const NAMES: [&str; 4] = ["p50", "p90", "p99", "p99.9"];

fn percentiles(comparison: &Comparison, id: &'static str, size: usize) -> Chart {
    let series = comparison.series(Pattern::PingPong).into_iter();
    let lines: Vec<Line> = series
        .filter_map(|series| {
            let row = comparison.find(series, Pattern::PingPong, size)?;
            let latency = row.figures.as_ref().filter(|figures| !figures.few)?.latency_ns;
            let values = [latency.p50, latency.p90, latency.p99, latency.p999];
            // One percentile alone does not show a distribution.
            latency.p90.map(|_| line(series, values.into_iter().enumerate().filter_map(percentile)))
        })
        .collect();
    Chart {
        id,
        title: format!("Percentiles, {}", bytes(size)),
        description: "Time of the slower round trips. Lower and flatter is better.".to_owned(),
        x: Axis::of_names("share of the round trips that are faster", &NAMES),
        y: Axis::logarithmic("time", heights(&lines), |value| round(&duration(value))),
        lines,
        references: Vec::new(),
    }
}

fn percentile((index, value): (usize, Option<f64>)) -> Option<Point> {
    let y = value?;
    Some(Point { x: index as f64, y, hint: format!("{} {}", NAMES[index], duration(y)) })
}

/// Returns None if no carrier can be compared.
fn against_plain(comparison: &Comparison) -> Option<Chart> {
    let compared = |series: Series| {
        let own = comparison.against_plain.iter().filter(move |one| one.series == series);
        own.map(|one| Point {
            x: one.size as f64,
            y: one.ratio.median,
            hint: format!("{}: {} ×", bytes(one.size), significant(one.ratio.median)),
        })
    };
    let lines: Vec<Line> = Series::ALL
        .into_iter()
        .map(|series| line(series, compared(series)))
        .filter(|line| !line.points.is_empty())
        .collect();
    let around_one = [0.5, 2.0];
    (!lines.is_empty()).then(|| Chart {
        id: "against-plain",
        title: "Ours over a plain socket".to_owned(),
        description:
            "Round trip over that of a plain blocking socket echo of the same kind, round \
            by round. Below 1 is faster."
                .to_owned(),
        x: sizes(comparison),
        y: Axis::logarithmic("ratio", heights(&lines).chain(around_one), |value| {
            format!("{} ×", round(&significant(value)))
        }),
        lines,
        references: vec![Reference { name: "plain socket".to_owned(), y: 1.0 }],
    })
}

fn sizes(comparison: &Comparison) -> Axis {
    let sizes: Vec<f64> = comparison.sizes().into_iter().map(|size| size as f64).collect();
    Axis::at(SIZE, &sizes, |size| bytes(size as usize))
}

fn heights(lines: &[Line]) -> std::vec::IntoIter<f64> {
    let all: Vec<f64> =
        lines.iter().flat_map(|line| line.points.iter().map(|point| point.y)).collect();
    all.into_iter()
}

/// One line per series of `pattern` that has figures.
fn lines(
    comparison: &Comparison,
    pattern: Pattern,
    value: impl Fn(&Figures) -> Option<f64>,
    show: impl Fn(f64) -> String,
) -> Vec<Line> {
    let point = |series, size: usize| {
        let figures = comparison.find(series, pattern, size)?.figures.as_ref()?;
        if figures.few {
            return None;
        }
        let y = value(figures).filter(|y| *y > 0.0)?;
        let floors = significant(figures.floors.median);
        let cpus = figures.cpus.both().map(|cpus| format!(", {} CPUs", significant(cpus)));
        let cpus = cpus.unwrap_or_default();
        let hint = format!("{}, {} ({floors} floors{cpus})", bytes(size), show(y));
        Some(Point { x: size as f64, y, hint })
    };
    let sizes = comparison.sizes();
    let all = comparison
        .series(pattern)
        .into_iter()
        .map(|series| line(series, sizes.iter().filter_map(|&size| point(series, size))));
    all.filter(|line| !line.points.is_empty()).collect()
}

fn line(series: Series, points: impl Iterator<Item = Point>) -> Line {
    // Only one wait policy is untouched; a chart has no room for its name.
    let name = series.name().replace("busy untouched", "untouched");
    Line { name, style: Style::of(series), points: points.collect() }
}
