//! Line charts as inline SVG: made here, so that a page needs no script.
//!
//! Lines differ by colour, dash and marker, and each is named at its end.

pub(crate) mod axis;
pub(crate) mod frame;
mod label;
pub(crate) mod series;
mod svg;
mod width;

use axis::Axis;
use series::Line;

pub(crate) use svg::draw;

/// Everything that a chart shows, whatever its size on the page.
#[derive(Debug)]
pub(crate) struct Chart {
    /// Distinguishes the chart's elements from those of others on the page.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// Description for readers who do not see the chart.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
    /// Levels to compare with, drawn across the chart.
    pub(crate) references: Vec<Reference>,
}

/// A named height.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) y: f64,
}
