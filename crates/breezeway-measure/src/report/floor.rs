//! The results of a measurement, as a table and as JSON.

use crate::floor::partner::{Job, Kind};
use serde_json::{Value, json};
use std::fmt::Write;

/// The median of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) job: Job,
    pub(crate) nanoseconds: f64,
    /// Number of round trips of the median, or of messages of the mean.
    pub(crate) round_trips: u64,
}

/// All medians of one run, in the order in which they were measured.
#[derive(Debug)]
pub struct Report {
    pub(crate) cpus: [usize; 2],
    /// The line before the first row and after each row; never empty.
    pub(crate) slices: Vec<f64>,
    pub(crate) rows: Vec<Row>,
}

/// The levels of a machine lie further apart than this factor, its noise less.
const SAME_LEVEL: f64 = 1.3;

impl Report {
    /// The floor: the median of the slices.
    fn line(&self) -> f64 {
        let mut slices = self.slices.clone();
        slices.sort_by(f64::total_cmp);
        slices[slices.len() / 2]
    }

    /// The floor around row `index`: the mean of the slices before and after it.
    fn line_around(&self, index: usize) -> f64 {
        (self.slices[index] + self.slices[index + 1]) / 2.0
    }

    /// Returns true if the slices before and after row `index` are of one level. Otherwise the
    /// machine changed its speed in between, and the row's ratio means nothing.
    fn is_steady(&self, index: usize) -> bool {
        let (before, after) = (self.slices[index], self.slices[index + 1]);
        before.max(after) <= SAME_LEVEL * before.min(after)
    }

    fn lowest(&self) -> f64 {
        self.slices.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn highest(&self) -> f64 {
        self.slices.iter().copied().fold(0.0, f64::max)
    }

    /// A table for people.
    #[must_use]
    pub fn table(&self) -> String {
        let mut table = format!("{:<28}{:>14}{:>11}\n", "round trip", "p50 ns", "floors");
        let mut line = |name: &str, nanoseconds: f64, floors: f64, mark: &str| {
            writeln!(table, "{name:<28}{nanoseconds:>14.1}{floors:>11.2}{mark}").ok();
        };
        line(&Job::line().to_string(), self.line(), 1.0, "");
        for (index, row) in self.rows.iter().enumerate() {
            let floors = row.nanoseconds / self.line_around(index);
            let mark = if self.is_steady(index) { "" } else { " ?" };
            line(&row.job.to_string(), row.nanoseconds, floors, mark);
        }
        let [first, second] = self.cpus;
        let (lowest, highest, count) = (self.lowest(), self.highest(), self.slices.len());
        writeln!(
            table,
            "\ncpus {first} and {second}; the cache line in {count} slices: {lowest:.1} to \
             {highest:.1} ns"
        )
        .ok();
        table
    }

    /// Returns one JSON object; values that were not measured are null or an empty list.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "cpus": self.cpus,
            "line_ns": tenths(self.line()),
            "touched": self.touched(),
            "ring_ns": self.first(Kind::Ring, true),
            "ring_one_way_ns": self.first(Kind::RingOneWay, true),
            "slots": self.slots(),
            "futex_ns": self.first(Kind::Futex, false),
            "unix_ns": self.first(Kind::Unix, false),
            "unix_spin_ns": self.first(Kind::Unix, true),
            "tcp_ns": self.first(Kind::Tcp, false),
            "tcp_spin_ns": self.first(Kind::Tcp, true),
            "sockets": self.sockets(),
            "spread": {
                "line_min_ns": tenths(self.lowest()),
                "line_max_ns": tenths(self.highest()),
            },
            "line_slices_ns": self.slices.iter().copied().map(tenths).collect::<Vec<_>>(),
        })
    }

    fn of(&self, wanted: impl Fn(&Job) -> bool) -> impl Iterator<Item = (usize, &Row)> {
        self.rows.iter().enumerate().filter(move |(_, row)| wanted(&row.job))
    }

    fn touched(&self) -> Vec<Value> {
        let rows = self.of(|job| job.kind == Kind::Touched);
        let value = |(index, row): (usize, &Row)| {
            json!({
                "size": row.job.size,
                "p50_ns": tenths(row.nanoseconds),
                "round_trips": row.round_trips,
                "line_ns": tenths(self.line_around(index)),
                "steady": self.is_steady(index),
            })
        };
        rows.map(value).collect()
    }

    fn slots(&self) -> Vec<Value> {
        let rows = self.of(|job| matches!(job.kind, Kind::Slots | Kind::SlotsReturned));
        let value = |(index, row): (usize, &Row)| {
            json!({
                "returned": row.job.kind == Kind::SlotsReturned,
                "size": row.job.size,
                "mean_ns": tenths(row.nanoseconds),
                "bytes_per_second": (row.job.size as f64 / row.nanoseconds * 1e9).round(),
                "messages": row.round_trips,
                "line_ns": tenths(self.line_around(index)),
                "steady": self.is_steady(index),
            })
        };
        rows.map(value).collect()
    }

    fn sockets(&self) -> Vec<Value> {
        let rows = self.of(|job| matches!(job.kind, Kind::Unix | Kind::Tcp));
        let value = |(index, row): (usize, &Row)| {
            json!({
                "kind": if row.job.kind == Kind::Unix { "unix" } else { "tcp" },
                "size": row.job.size,
                "spin": row.job.spin,
                "p50_ns": tenths(row.nanoseconds),
                "round_trips": row.round_trips,
                "line_ns": tenths(self.line_around(index)),
                "steady": self.is_steady(index),
            })
        };
        rows.map(value).collect()
    }

    /// The first row of a kind: with several sizes, that of the first.
    fn first(&self, kind: Kind, spin: bool) -> Option<f64> {
        let mut rows = self.of(|job| job.kind == kind && job.spin == spin);
        rows.next().map(|(_, row)| tenths(row.nanoseconds))
    }
}

/// Rounds to the resolution of the clock.
fn tenths(nanoseconds: f64) -> f64 {
    (nanoseconds * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let rows = vec![
            Row { job: Job::touched(64), nanoseconds: 200.0, round_trips: 9 },
            Row { job: Job::futex(), nanoseconds: 40_000.04, round_trips: 9 },
            Row { job: Job::socket(Kind::Unix, 64, true), nanoseconds: 3_000.0, round_trips: 9 },
        ];
        Report { cpus: [0, 1], slices: vec![100.0, 100.0, 500.0, 120.0], rows }
    }

    #[test]
    fn a_row_is_divided_by_the_slices_around_it() {
        let table = report().table();
        let futex = table.lines().find(|line| line.starts_with("futex")).unwrap();
        assert!(futex.ends_with("133.33 ?"), "{futex}");
    }

    #[test]
    fn a_row_during_which_the_level_jumped_is_marked() {
        let report = report();
        let marked: Vec<_> = report.table().lines().map(|line| line.ends_with(" ?")).collect();
        assert_eq!(marked[1..5], [false, false, true, true]);
        assert_eq!(report.json()["touched"][0]["steady"], true);
        assert_eq!(report.json()["sockets"][0]["steady"], false);
    }

    #[test]
    fn rows_that_were_not_measured_are_null() {
        let json = report().json();
        for name in ["ring_ns", "ring_one_way_ns", "unix_ns", "tcp_ns", "tcp_spin_ns"] {
            assert_eq!(json[name], Value::Null, "{name}");
        }
        assert_eq!(json["unix_spin_ns"], 3_000.0);
        assert_eq!(json["futex_ns"], 40_000.0);
    }

    #[test]
    fn the_line_alone_still_has_every_field() {
        let report = Report { cpus: [2, 3], slices: vec![90.0], rows: vec![] };
        let json = report.json();
        assert_eq!(json["line_ns"], 90.0);
        assert_eq!((&json["touched"], &json["slots"]), (&json!([]), &json!([])));
        assert_eq!(json["spread"], json!({ "line_min_ns": 90.0, "line_max_ns": 90.0 }));
        assert_eq!(json.to_string().lines().count(), 1);
    }

    #[test]
    fn one_jump_of_the_level_does_not_move_the_floor() {
        let json = report().json();
        assert_eq!(json["line_ns"], 120.0);
        assert_eq!(json["spread"]["line_max_ns"], 500.0);
    }
}
