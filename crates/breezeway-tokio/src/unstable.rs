//! Parts for the crates on top of this one. **Nothing here keeps its form from one release to the
//! next**; programs use the rest of this crate.

use crate::stopper::Stopper;

pub use crate::threads::on_a_thread;

/// Returns true if clients are sent to a successor.
pub fn is_draining(stopper: &Stopper) -> bool {
    stopper.is_draining()
}
