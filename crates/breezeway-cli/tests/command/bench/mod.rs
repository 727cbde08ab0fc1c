//! `breezeway bench`: the contract that scripts rely on.

mod deaths;
mod liars;
mod refusals;
mod report;
mod runs;
mod spread;
