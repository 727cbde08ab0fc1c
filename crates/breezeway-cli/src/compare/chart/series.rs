//! Lines and how they are told apart: colour by carrier, dash and marker by what else they are.

use crate::compare::plan::{Carrier, Series};
use crate::settings::Wait;

/// One line of a chart.
#[derive(Debug)]
pub(in crate::compare) struct Line {
    pub(in crate::compare) name: String,
    pub(in crate::compare) look: Look,
    pub(in crate::compare) points: Vec<Point>,
}

#[derive(Debug)]
pub(in crate::compare) struct Point {
    pub(in crate::compare) x: f64,
    pub(in crate::compare) y: f64,
    /// What is shown when pointed at.
    pub(in crate::compare) hint: String,
}

/// What distinguishes a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::compare) struct Look {
    /// The class that has the colour.
    pub(super) class: &'static str,
    /// `stroke-dasharray`.
    pub(super) dash: &'static str,
    pub(super) marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Marker {
    Circle,
    Diamond,
    Square,
    Triangle,
    Cross,
    Plus,
}

impl Look {
    pub(in crate::compare) fn of(series: Series) -> Self {
        let class = match series.carrier {
            Carrier::Shm => "shm",
            Carrier::Unix | Carrier::PlainUnix => "unix",
            Carrier::Tcp | Carrier::PlainTcp => "tcp",
            Carrier::Memory => "memory",
        };
        let (dash, marker) = match (series.carrier, series.wait) {
            (Carrier::PlainUnix | Carrier::PlainTcp, _) => ("1 4", Marker::Cross),
            (Carrier::Memory, _) => ("1 4", Marker::Plus),
            _ if !series.touched => ("10 4", Marker::Triangle),
            (_, Wait::Busy) => ("none", Marker::Circle),
            (_, Wait::Adaptive) => ("7 3 2 3", Marker::Diamond),
            (_, Wait::Park) => ("5 4", Marker::Square),
        };
        Self { class, dash, marker }
    }
}

impl Marker {
    /// A path around 0,0.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Circle => "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",
            Self::Diamond => "M0-4.8L4.8 0L0 4.8L-4.8 0z",
            Self::Square => "M-3.4-3.4h6.8v6.8h-6.8z",
            Self::Triangle => "M0-4.6L4.4 3.4H-4.4z",
            Self::Cross => "M-3.4-3.4L3.4 3.4M-3.4 3.4L3.4-3.4",
            Self::Plus => "M-4.4 0H4.4M0-4.4V4.4",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_series_look_the_same_and_none_differ_by_colour_alone_within_a_carrier() {
        let looks: Vec<Look> = Series::ALL.into_iter().map(Look::of).collect();
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(look), "{look:?}");
            let alike = |other: &&Look| (other.class, other.marker) == (look.class, look.marker);
            assert_eq!(looks.iter().filter(alike).count(), 1, "{look:?}");
        }
    }
}
