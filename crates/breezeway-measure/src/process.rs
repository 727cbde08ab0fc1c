//! Processes of a measurement: how they are started, stopped, interrupted and ended.

mod child;
pub mod ending;
mod outcome;
mod parent;
mod server;

pub use child::{Interrupt, json};
pub use outcome::{describe, report};
pub use parent::end_with;
pub use server::Server;
