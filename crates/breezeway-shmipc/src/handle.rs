//! The handle that both halves of a stream share.

use std::sync::Arc;

use crate::core::Core;
use crate::stream_state::StreamState;

/// Shared handle of both halves; dropping the last one closes the stream.
pub(crate) struct Handle {
    pub(crate) core: Arc<Core>,
    pub(crate) state: Arc<StreamState>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.core.is_elsewhere() {
            self.core.close_stream(&self.state, true);
            self.core.flush_later();
        }
    }
}
