//! How [Breezeway](https://crates.io/crates/breezeway) measures calls between two processes of one
//! machine. The `breezeway` command is a thin shell around this crate, and programs that measure
//! other systems use it to measure them in exactly the same way.
//!
//! | module | holds |
//! |---|---|
//! | [`floor`] | the bare loops: the limits of this machine |
//! | [`load`] | messages of sessions of Breezeway, or of anything else: their pattern and number |
//! | [`pattern`] | payload that is cheap to write and to compare |
//! | [`statistics`] | percentiles, medians, spreads, levels of the floor |
//! | [`comparison`] | every carrier and wait policy at every size, in floors |
//! | [`report`] | the results, as text, JSON and a page of HTML |
//! | [`machine`] | the machine, and the two CPUs of a measurement |
//! | [`process`] | the processes of a measurement: started, stopped, interrupted, ended |
//!
//! ```
//! use breezeway_measure::load::{Extent, closed_loop};
//! use breezeway_measure::report::bench::{Report, Setup};
//! use breezeway_measure::{Failure, pattern};
//!
//! # fn main() -> Result<(), Failure> {
//! // Something that exchanges messages: here both sides are this thread.
//! let mut message = [0; 64];
//! let extent = Extent { count: Some(1000), seconds: 0.0 };
//! let measurement = closed_loop(extent, |round| -> Result<(), Failure> {
//!     let seed = pattern::seed(round);
//!     pattern::fill(&mut message, seed);
//!     if pattern::matches(&message, seed) { Ok(()) } else { Err("it came back different".into()) }
//! })?;
//! assert_eq!(measurement.count, 1000);
//!
//! // The same JSON as `breezeway bench --json` prints.
//! println!("{}", Report::new(Setup::round_trips("this thread", "busy", 64), &measurement).json());
//! # Ok(())
//! # }
//! ```
//!
//! Memory that two processes write is touched in [`floor`] alone, which is where this crate has
//! `unsafe`.
#![cfg_attr(docsrs, feature(doc_cfg))]
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

pub use wait::Wait;

/// Error of a measurement: one line for the person who runs it.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
