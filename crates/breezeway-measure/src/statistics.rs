//! Conversion of readings to figures: percentiles, medians, spreads, and the levels of a machine's
//! floor.

pub(crate) mod grouped;
mod latency;
mod level;
mod spread;

pub use latency::{Percentiles, Recorder};
pub(crate) use level::is_disturbed;
pub use level::{Level, Levels};
pub use spread::{Spread, median};
