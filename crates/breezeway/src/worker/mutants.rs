//! What the model checker takes away. A mutant is the protocol with one thing missing; the model
//! must find it wrong.

use std::cell::Cell;

use super::sync::Site;

thread_local! {
    // The checker runs all threads of a model on the thread that called it.
    static REMOVED: Cell<Option<Site>> = const { Cell::new(None) };
}

/// Runs `model` without what stands at this site.
pub(super) fn without<T>(site: Site, model: impl FnOnce() -> T) -> T {
    REMOVED.set(Some(site));
    let result = model();
    REMOVED.set(None);
    result
}

/// Whether the present mutant lacks what stands at this site.
pub(super) fn removed(site: Site) -> bool {
    REMOVED.get() == Some(site)
}
