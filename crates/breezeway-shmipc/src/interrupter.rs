//! Handles that end waits of a stream.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::core::Core;
use crate::stream_state::StreamState;

/// Ends waits of a stream from another thread.
#[derive(Clone)]
pub struct Interrupter {
    pub(crate) core: Arc<Core>,
    pub(crate) state: Arc<StreamState>,
}

impl Interrupter {
    /// Makes the present wait, or else the next, fail with [`StreamError::Interrupted`]. Received
    /// bytes are not lost.
    ///
    /// [`StreamError::Interrupted`]: crate::StreamError::Interrupted
    pub fn interrupt(&self) {
        self.state.interrupt();
        self.core.notify_leader();
    }

    /// Ends sending: sends fail with [`StreamError::Closed`], also one that waits for room, within
    /// an eighth of the time that it has waited, or a second. The peer reads the bytes sent before,
    /// and the end once the stream's handles are dropped.
    ///
    /// [`StreamError::Closed`]: crate::StreamError::Closed
    pub fn give_up(&self) {
        self.state.given_up.store(true, Ordering::SeqCst);
    }
}
