//! `breezeway bench`: the contract that scripts rely on.

#[path = "bench/deaths.rs"]
mod deaths;
#[path = "bench/liars.rs"]
mod liars;
#[path = "bench/refusals.rs"]
mod refusals;
#[path = "bench/report.rs"]
mod report;
#[path = "bench/runs.rs"]
mod runs;
mod support;
