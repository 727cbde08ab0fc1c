//! The handle that keeps a shared session open.

use std::sync::Arc;
use std::time::Duration;

use super::shared::Shared;
use super::state::State;

/// Closes the session when its last user drops it.
pub(super) struct Handle {
    pub(super) shared: Arc<Shared>,
    pub(super) call_timeout: Option<Duration>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.with(State::leave);
    }
}
