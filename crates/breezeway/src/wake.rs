//! Flags by which threads wake a worker or a waiter, and the take-over of a sleeping worker's
//! sessions: the part that the model checker runs (`wake/model.rs`).

mod armed;
mod flag;
mod signal;
mod sync;

pub(crate) use armed::Armed;
pub(crate) use flag::WakeFlag;
pub(crate) use signal::Signal;
#[cfg(test)]
pub(crate) use sync::{count_lock, locks};
