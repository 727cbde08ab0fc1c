//! The protocol of Breezeway without IO: entries and numbers in, decisions out.
//!
//! This crate does not read a clock, a ring or a socket, wake a waiter or copy a message. The owner
//! of a session moves entries and time in and out. Most programs use the crate `breezeway`, which
//! contains the carriers and the drivers. `docs/abi.md` defines the rules.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub mod connection;
pub mod ending;
mod entry;
mod error_code;
pub mod frame;
pub mod hello;
pub mod in_flight;
mod metadata;
mod printable;
pub mod throttle;
mod time;
pub mod time_left;
pub mod validate;
mod violation;
mod window;

#[cfg(feature = "fuzzing")]
pub use connection::fuzzing;
pub use entry::{Flags, Head, Kind, Parts, RawHead};
pub use error_code::{ErrorCode, LONGEST_REASON};
pub use printable::printable;
pub use time::Time;
pub use violation::{CallViolation, StreamViolation, Violation};
