//! Lines and their styles: colour by carrier, dash and marker by the other attributes.

use crate::Wait;
use crate::comparison::{Carrier, Series};

/// One line of a chart.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) style: Style,
    pub(crate) points: Vec<Point>,
}

#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Text that is shown under the pointer.
    pub(crate) hint: String,
}

/// Attributes that distinguish a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    /// The class that has the colour.
    pub(crate) class: &'static str,
    /// `stroke-dasharray`.
    pub(crate) dash: &'static str,
    pub(crate) marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Marker {
    Circle,
    Diamond,
    Square,
    Triangle,
    Cross,
    Plus,
}

impl Style {
    pub(crate) fn of(series: Series) -> Self {
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
    pub(crate) fn path(self) -> &'static str {
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
    fn series_of_one_carrier_differ_by_more_than_colour() {
        let styles: Vec<Style> = Series::ALL.into_iter().map(Style::of).collect();
        for (index, style) in styles.iter().enumerate() {
            assert!(!styles[..index].contains(style), "{style:?}");
            let alike = |other: &&Style| (other.class, other.marker) == (style.class, style.marker);
            assert_eq!(styles.iter().filter(alike).count(), 1, "{style:?}");
        }
    }
}
