//! `breezeway bench`: the contract that scripts rely on.

mod deaths;
mod liars;
mod refusals;
pub(crate) mod report;
mod runs;
mod spread;
