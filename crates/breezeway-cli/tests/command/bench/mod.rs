//! `breezeway bench`: the contract that scripts rely on.

mod deaths;
mod refusals;
pub(crate) mod report;
mod runs;
mod shared_sessions;
mod wrong_replies;
