//! The comparison as text for a terminal.

use std::fmt::Write;

use super::plan::{DEPTH, Pattern, Series};
use super::results::{Comparison, Figures, Found};
use super::units::{duration, rate, significant};
use crate::floor::partner::bytes;

/// What follows a ratio during which the machine changed its speed.
pub(super) const UNSTEADY: &str = "?";
/// What follows a ratio that was measured at another level of the floor than most.
pub(super) const OTHER_LEVEL: &str = "*";
const ABSENT: &str = "-";

/// All tables and the notes below them.
pub(super) fn text(comparison: &Comparison) -> String {
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

/// The levels of the floor in words.
pub(super) fn levels(comparison: &Comparison) -> String {
    let one = |level: &super::level::Level| {
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
pub(super) fn caption(pattern: Pattern) -> String {
    match pattern {
        Pattern::PingPong => "Ping-pong: median round trip, in floors".to_owned(),
        Pattern::Pipelined => {
            format!("Pipelined, {DEPTH} in flight: time for each round trip, in floors")
        }
        Pattern::OneWay => "One-way: messages a second".to_owned(),
    }
}

/// A cell: floors, or messages a second one-way, with its mark.
pub(super) fn cell(found: &Found, main: Option<&str>) -> String {
    let Some(figures) = &found.figures else { return ABSENT.to_owned() };
    let figure = match found.pattern {
        Pattern::OneWay => figures.messages_per_second.map_or(ABSENT.to_owned(), rate),
        _ => significant(figures.floors.median),
    };
    figure + mark(figures, main)
}

pub(super) fn mark(figures: &Figures, main: Option<&str>) -> &'static str {
    if !figures.steady {
        UNSTEADY
    } else if Some(figures.level.as_str()) != main {
        OTHER_LEVEL
    } else {
        ""
    }
}

impl Comparison {
    /// The name of the level that was seen most.
    pub(super) fn main_level(&self) -> Option<&str> {
        let most = self.levels.iter().map(|level| level.readings).max();
        let main = self.levels.iter().find(|level| Some(level.readings) == most);
        main.map(|level| level.name.as_str())
    }

    /// The series that have a row of `pattern`.
    pub(super) fn series(&self, pattern: Pattern) -> Vec<Series> {
        let has = |series: &Series| {
            self.rows.iter().any(|row| row.pattern == pattern && row.series == *series)
        };
        Series::ALL.into_iter().filter(has).collect()
    }
}

fn matrix(comparison: &Comparison, pattern: Pattern) -> String {
    let sizes = comparison.sizes();
    let mut text = format!("\n{}\n{:<20}", caption(pattern), "");
    for size in &sizes {
        write!(text, "{:>10}", bytes(*size)).expect("a string takes any text");
    }
    text.push('\n');
    for series in comparison.series(pattern) {
        let mut row = format!("{:<20}", series.name());
        for size in &sizes {
            let found = comparison.find(series, pattern, *size);
            let cell = found.map_or(String::new(), |found| cell(found, comparison.main_level()));
            write!(row, "{cell:>10}").expect("a string takes any text");
        }
        line(&mut text, row.trim_end());
    }
    text
}

fn against_plain(comparison: &Comparison) -> String {
    if comparison.against_plain.is_empty() {
        return String::new();
    }
    let mut text =
        "\nOurs over a plain blocking socket echo: median (quartiles) of the rounds\n".to_owned();
    for one in &comparison.against_plain {
        let ratio = one.ratio;
        let spread = format!("({} to {})", significant(ratio.q1), significant(ratio.q3));
        let (name, size) = (one.series.name(), bytes(one.size));
        line(
            &mut text,
            &format!("{name:<20}{size:>10}{:>10}  {spread}", significant(ratio.median)),
        );
    }
    text
}

fn notes(comparison: &Comparison) -> String {
    let mut text = String::new();
    for (what, reason) in comparison.missing() {
        line(&mut text, &format!("{what}: {reason}"));
    }
    let marked = |wanted: &str| {
        let figures = comparison.rows.iter().filter_map(|row| row.figures.as_ref());
        figures.map(|figures| mark(figures, comparison.main_level())).any(|mark| mark == wanted)
    };
    for (wanted, meaning) in [
        (UNSTEADY, "the machine changed its speed in every round: the ratio means little"),
        (OTHER_LEVEL, "measured only while the floor was at another level than for most rows"),
    ] {
        if marked(wanted) {
            line(&mut text, &format!("{wanted} {meaning}"));
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
