//! What was measured, for people and for scripts.

pub mod bench;
mod chart;
pub mod floor;
pub mod page;
pub mod text;
pub mod units;
