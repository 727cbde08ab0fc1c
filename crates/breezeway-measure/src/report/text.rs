//! The comparison as text for a terminal.

use super::units::{bytes, duration, rate, significant};
use crate::comparison::{
    Comparison, DEPTH, Figures, Found, MIN_MESSAGES, Pattern, STREAMS, Series, THREADS,
};
use crate::statistics::Level;

/// What follows a ratio during which the machine changed its speed.
pub(crate) const UNSTEADY: &str = "?";
/// What follows a figure of too few messages.
pub(crate) const FEW: &str = "!";
/// What follows a ratio that was measured at another level of the floor than most.
pub(crate) const OTHER_LEVEL: &str = "*";
const ABSENT: &str = "-";

/// All tables and the notes below them.
#[must_use]
pub fn comparison(comparison: &Comparison) -> String {
    let mut text = header(comparison);
    for pattern in Pattern::ALL {
        text += &matrix(comparison, pattern);
    }
    text += &against_plain(comparison);
    text += &notes(comparison);
    text
}

fn header(comparison: &Comparison) -> String {
    let mut text = String::new();
    for (label, value) in comparison.machine.facts() {
        line(&mut text, &format!("{label:<8} {value}"));
    }
    line(&mut text, &format!("{:<8} {}", "floor", levels(comparison)));
    text
}

/// The levels of the floor for people.
pub(crate) fn levels(comparison: &Comparison) -> String {
    let one = |level: &Level| {
        let spread = level.nanoseconds;
        format!(
            "{} {} ({} to {}, {} readings)",
            level.name,
            duration(spread.median),
            duration(spread.min),
            duration(spread.max),
            level.readings
        )
    };
    comparison.levels.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// What the cells of a pattern's table say.
pub(crate) fn caption(pattern: Pattern) -> String {
    match pattern {
        Pattern::PingPong => "Ping-pong: median round trip, in floors".to_owned(),
        Pattern::Pipelined => {
            format!("Pipelined, {DEPTH} in flight: time for each round trip, in floors")
        }
        Pattern::OneWay => "One-way: messages a second".to_owned(),
        Pattern::Tokio => "Both sides under tokio: median round trip, in floors".to_owned(),
        Pattern::Streams => {
            format!("{STREAMS} streams on one session, under tokio: messages a second")
        }
        Pattern::Threads => format!("{THREADS} threads on one session: calls a second"),
        Pattern::Cold => "Cold start: connect, one call and close, median".to_owned(),
        Pattern::Grpc => "gRPC, natively: median of an echo".to_owned(),
        Pattern::GrpcHttp2 => "gRPC, as HTTP/2: median of an echo".to_owned(),
        Pattern::Thrift => "Thrift: median of an echo".to_owned(),
    }
}

/// A cell: floors, or messages a second one-way, with its mark.
pub(crate) fn cell(found: &Found, main: Option<&str>) -> String {
    let Some(figures) = &found.figures else { return ABSENT.to_owned() };
    let figure = match found.pattern {
        Pattern::OneWay | Pattern::Streams | Pattern::Threads => {
            figures.messages_per_second.map_or(ABSENT.to_owned(), rate)
        }
        Pattern::Cold | Pattern::Grpc | Pattern::GrpcHttp2 | Pattern::Thrift => {
            figures.latency_ns.p50.map_or(ABSENT.to_owned(), duration)
        }
        _ => significant(figures.floors.median),
    };
    figure + mark(figures, main)
}

pub(crate) fn mark(figures: &Figures, main: Option<&str>) -> &'static str {
    let doubt = doubt(figures);
    if !doubt.is_empty() {
        doubt
    } else if Some(figures.level.as_str()) != main {
        OTHER_LEVEL
    } else {
        ""
    }
}

/// The mark of figures that mean little, whatever their level.
pub(crate) fn doubt(figures: &Figures) -> &'static str {
    if figures.few {
        FEW
    } else if !figures.steady {
        UNSTEADY
    } else {
        ""
    }
}

fn matrix(comparison: &Comparison, pattern: Pattern) -> String {
    let main = comparison.main_level();
    rows(comparison, &caption(pattern), &comparison.series(pattern), |series, size| {
        comparison.find(series, pattern, size).map(|found| cell(found, main))
    })
}

fn against_plain(comparison: &Comparison) -> String {
    let compared = comparison.compared_series();
    if compared.is_empty() {
        return String::new();
    }
    let caption = "Ours over a plain blocking socket echo of the same kind, round trips";
    rows(comparison, caption, &compared, |series, size| {
        comparison.over_plain(series, size).map(|ratio| significant(ratio.median))
    })
}

/// Series down, sizes across.
fn rows(
    comparison: &Comparison,
    caption: &str,
    all: &[Series],
    cell: impl Fn(Series, usize) -> Option<String>,
) -> String {
    let sizes = comparison.sizes();
    let mut text = format!("\n{caption}\n{:<20}", "");
    for &size in &sizes {
        text += &format!("{:>10}", bytes(size));
    }
    text.push('\n');
    for &series in all {
        let mut row = format!("{:<20}", series.name());
        for &size in &sizes {
            row += &format!("{:>10}", cell(series, size).unwrap_or_default());
        }
        line(&mut text, row.trim_end());
    }
    text
}

fn notes(comparison: &Comparison) -> String {
    let mut text = String::new();
    if let Some(warning) = disturbed(comparison) {
        line(&mut text, &warning);
    }
    for (what, reason) in comparison.missing() {
        line(&mut text, &format!("{what}: {reason}"));
    }
    let marked = |wanted: &str| {
        let figures = comparison.rows.iter().filter_map(|row| row.figures.as_ref());
        figures.map(|figures| mark(figures, comparison.main_level())).any(|mark| mark == wanted)
    };
    for (wanted, meaning) in meanings() {
        if marked(wanted) {
            line(&mut text, &format!("{wanted} {meaning}"));
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The marks and what they say of a figure.
pub(crate) fn meanings() -> [(&'static str, String); 3] {
    [
        (
            FEW,
            format!("fewer than {MIN_MESSAGES} messages in all rounds: the figure means nothing"),
        ),
        (
            UNSTEADY,
            "the floors before and after differ in every round: the figure means little".to_owned(),
        ),
        (
            OTHER_LEVEL,
            "measured only while the floor was at another level than for most rows".to_owned(),
        ),
    ]
}

/// That something else ran on the two CPUs, if it did.
pub(crate) fn disturbed(comparison: &Comparison) -> Option<String> {
    let method = &comparison.method;
    let (disturbed, readings) = (method.floor_disturbed, method.floor_readings);
    (disturbed > 0).then(|| {
        format!(
            "Something else ran on the two CPUs during {disturbed} of {readings} readings of \
            the floor, and so during other measurements too. Stop it and run again."
        )
    })
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
