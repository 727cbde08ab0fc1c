//! Line charts as inline SVG: made here, so that a page needs no script.
//!
//! Lines differ by colour, dash and marker, and each is named at its end.

pub(super) mod axis;
pub(super) mod frame;
mod label;
pub(super) mod series;
mod svg;

use axis::Axis;
use series::Line;

pub(super) use svg::draw;

/// Everything that a chart shows, whatever its size on the page.
#[derive(Debug)]
pub(super) struct Chart {
    /// Distinguishes the chart's elements from those of others on the page.
    pub(super) id: &'static str,
    pub(super) title: String,
    /// What somebody who does not see the chart is told.
    pub(super) description: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) lines: Vec<Line>,
    /// Levels to compare with, drawn across the chart.
    pub(super) references: Vec<Reference>,
}

/// A named height.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) y: f64,
    /// Whether its name stands below the line rather than above.
    pub(super) below: bool,
}
