//! Table of the results, a line for each row.

use super::work::Work;
use breezeway_measure::report::units::{bytes, duration};
use breezeway_measure::statistics::Spread;
use std::fmt::{self, Display, Formatter};

/// The names of the columns. A ratio is the median of those of each round, with its quartiles.
pub(crate) fn header() -> String {
    format!(
        "{:<18} {:>9} {:>9} {:>9} {:>9}  {:<22} {:<22} {:<22} {:<22} {:<22}",
        "round trip",
        "bare",
        "iceoryx2",
        "safe",
        "trusted",
        "safe / iceoryx2",
        "trusted / iceoryx2",
        "iceoryx2 / bare",
        "safe / bare",
        "trusted / bare"
    )
}

/// All rounds of one kind of work.
pub(crate) struct Row {
    work: Work,
    rounds: Vec<[f64; 4]>,
}

impl Row {
    pub(crate) fn new(work: Work) -> Self {
        Self { work, rounds: Vec::new() }
    }

    /// One round, in nanoseconds: the bare one, and those of the systems in their order.
    pub(crate) fn add(&mut self, bare: f64, [iceoryx2, safe, trusted]: [f64; 3]) {
        self.rounds.push([bare, iceoryx2, safe, trusted]);
    }

    fn median(&self, column: usize) -> String {
        let spread = Spread::of(self.rounds.iter().map(|round| round[column]));
        spread.map_or_else(String::new, |spread| duration(spread.median))
    }

    fn ratio(&self, column: usize, to: usize) -> String {
        let ratios = self.rounds.iter().map(|round| round[column] / round[to]);
        let Some(Spread { q1, median, q3, .. }) = Spread::of(ratios) else { return String::new() };
        format!("{median:.2} ({q1:.2}-{q3:.2})")
    }
}

impl Display for Row {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let [bare, iceoryx2, safe, trusted] = [0, 1, 2, 3];
        let touch = if self.work.is_touched() { "" } else { " untouched" };
        write!(formatter, "{:<18}", bytes(self.work.size) + touch)?;
        for column in [bare, iceoryx2, safe, trusted] {
            write!(formatter, " {:>9}", self.median(column))?;
        }
        write!(formatter, " ")?;
        for (column, to) in
            [(safe, iceoryx2), (trusted, iceoryx2), (iceoryx2, bare), (safe, bare), (trusted, bare)]
        {
            write!(formatter, " {:<22}", self.ratio(column, to))?;
        }
        Ok(())
    }
}
