//! What the comparison programs share: the loops that measure, the report that they print, pinning,
//! the payload pattern, and how a server ends.
//!
//! A program measures the way `breezeway bench` does and prints the same JSON object, so that rows of
//! different systems can stand in one table.
#![forbid(unsafe_code)]

pub mod cpu;
pub mod ending;
mod extent;
pub mod outcome;
pub mod pattern;
mod report;
mod run;

pub use extent::Extent;
pub use report::{Report, Setup};
pub use run::{Measurement, Rate, closed_loop, open_loop};
