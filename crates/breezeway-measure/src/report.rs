//! Reports of measurements, as text for people and as JSON for scripts.

pub mod bench;
mod chart;
pub mod floor;
pub mod page;
mod rare;
pub mod text;
pub mod units;
