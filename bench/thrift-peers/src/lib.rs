//! Other codecs, to check breezeway-thrift against and to measure it with.
#![allow(missing_docs)]

pub mod allocations;
pub mod contenders;
pub mod effects;
pub mod generated;
pub mod shapes;
pub mod table;
pub mod targets;

pub use generated::breezeway as ours;
