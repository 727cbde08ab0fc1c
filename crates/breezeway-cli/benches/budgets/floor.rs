//! Floors, the divisors of rows, and their measurement.

use breezeway_measure::process::{self, Interrupt};
use serde_json::Value;

use crate::{Outcome, PATIENCE, breezeway};

/// Divisor of a row.
#[derive(Clone, Copy)]
pub(crate) enum Floor {
    /// The bare cache-line round trip.
    Line,
    /// Bare touched memory of this size.
    Touched(usize),
    /// The bare ring there and back, 40 bytes.
    Ring,
    /// The bare ring one way, 40 bytes: messages a second.
    RingOneWay,
    /// Hot slots of this size one way: bytes a second.
    Slots(usize),
    /// Hot slots of this size, copied back: bytes a second.
    SlotsReturned(usize),
    /// A bare unix socket echo of this size, both sides blocking.
    UnixBlocking(usize),
    /// A bare unix socket echo of this size, both sides spinning on receives.
    UnixSpinning(usize),
    /// `bench` over this carrier with these arguments, or with the row's: messages a second.
    Bench(&'static str, Option<&'static [&'static str]>),
}

impl Floor {
    pub(crate) fn measure(self, cpus: &str, interrupt: &Interrupt) -> Outcome<f64> {
        let (only, milliseconds, size, field) = match self {
            Self::Line => ("line", "30", None, "/line_ns"),
            Self::Touched(size) => ("touched", "60", Some(size), "/touched/0/p50_ns"),
            Self::Ring => ("ring", "30", None, "/ring_ns"),
            Self::RingOneWay => ("ring-one-way", "30", None, "/ring_one_way_ns"),
            Self::Slots(size) => ("slots", "90", Some(size), "/slots/0/bytes_per_second"),
            Self::SlotsReturned(size) => {
                ("slots-returned", "90", Some(size), "/slots/0/bytes_per_second")
            }
            Self::UnixBlocking(size) => ("unix", "100", Some(size), "/unix_ns"),
            Self::UnixSpinning(size) => ("unix", "100", Some(size), "/unix_spin_ns"),
            Self::Bench(..) => return Err("this is measured by bench".into()),
        };
        let mut command = breezeway();
        command.args(["floor", "--json", "--cpus", cpus, "--only", only]);
        command.args(["--milliseconds", milliseconds]);
        command.args(size.map(|size| format!("--size={size}")));
        let report = process::json(command, PATIENCE, interrupt)?;
        let found = report.pointer(field).and_then(Value::as_f64);
        let found = found.ok_or_else(|| format!("no {field} in {report}"))?;
        Ok(if matches!(self, Self::RingOneWay) { 1e9 / found } else { found })
    }

    /// The field of a report of `bench` that is divided by this.
    pub(crate) fn counterpart(self) -> &'static str {
        match self {
            Self::RingOneWay | Self::Bench(..) => "/messages_per_second",
            Self::Slots(_) | Self::SlotsReturned(_) => "/bytes_per_second",
            _ => "/latency_ns/p50",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Line => "floors",
            Self::Touched(_) => "x touched",
            Self::Ring | Self::RingOneWay => "x bare ring",
            Self::Slots(_) | Self::SlotsReturned(_) => "x hot slots",
            Self::UnixBlocking(_) => "x unix, blocking",
            Self::UnixSpinning(_) => "x unix, spinning",
            Self::Bench("unix", _) => "x over unix:",
            Self::Bench(..) => "x 64 KiB",
        }
    }
}
