//! The mutants of the model checker. A mutant is the protocol without one of its parts; the model
//! must find it wrong.

use std::cell::Cell;

use super::sync::Site;

thread_local! {
    // The checker runs all threads of a model on the thread that called it.
    static REMOVED: Cell<Option<Site>> = const { Cell::new(None) };
}

/// Runs `model` without the part at this site.
pub(super) fn without<T>(site: Site, model: impl FnOnce() -> T) -> T {
    REMOVED.set(Some(site));
    let result = model();
    REMOVED.set(None);
    result
}

/// Returns true if the present mutant lacks the part at this site.
pub(super) fn removed(site: Site) -> bool {
    REMOVED.get() == Some(site)
}
