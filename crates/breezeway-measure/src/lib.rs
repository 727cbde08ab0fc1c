//! How the project measures calls between two processes of one machine.
#![deny(unsafe_code)]

pub mod comparison;
pub mod floor;
pub mod load;
pub mod machine;
pub mod pattern;
pub mod process;
pub mod report;
pub mod statistics;
mod wait;

/// Why a measurement failed: one line for the person who runs it.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

pub use wait::Wait;
