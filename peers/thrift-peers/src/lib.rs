//! Other codecs, to check breezeway-thrift against and to measure it with.
#![allow(missing_docs)]

pub mod contenders;
pub mod generated;
pub mod ours;
pub mod shapes;
pub mod table;
