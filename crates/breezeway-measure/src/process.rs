//! Processes of a measurement: how they are started, stopped, interrupted and ended.

mod child;
mod cpu_time;
pub mod ending;
mod outcome;
mod parent;
mod server;

pub use child::{Interrupt, json};
pub(crate) use cpu_time::cpu_time;
pub use outcome::report;
pub use parent::end_with;
pub use server::Server;
