//! Routing of received data to its stream, and waking of its reader.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::core::Core;
use crate::lock::lock;
use crate::log_limit::warn_limited;
use crate::stream_state::StreamState;
use crate::table::{Found, Role};
use crate::violation::Violation;

/// Drops data received for a stream that was just closed: its holder has taken the unread data
/// already, or finds this in it.
/// or finds this in it.
#[inline]
pub(super) fn discard_if_forgotten(core: &Core, stream: &StreamState) {
    if stream.forgotten.load(Ordering::Acquire) {
        core.discard(stream.empty());
    }
}

pub(super) fn is_for(stream: &StreamState, id: u32) -> bool {
    stream.id == id && !stream.forgotten.load(Ordering::Relaxed)
}

/// Returns the stream that data for `id` belongs to, if it is still wanted.
pub(super) fn find(core: &Core, id: u32) -> Option<Arc<StreamState>> {
    let found = lock(&core.table).find(id);
    match found {
        Found::Stream(stream) => Some(stream),
        Found::Nobody => None,
        Found::TooMany => {
            refuse(core, id);
            None
        }
    }
}

/// Closes a stream above the limit, so that its opener sees that.
pub(super) fn refuse(core: &Core, id: u32) {
    let limit = core.options.max_streams;
    warn_limited!(limit, "a stream of a shmipc peer is closed at once: raise max_streams");
    core.close_stream(&StreamState::new(id), true);
}

pub(super) fn finish(core: &Core, stream: &Arc<StreamState>) {
    stream.close();
    mark_ready(core, stream);
}

/// Notifies the thread that serves all streams, if there is one, that this stream has data.
#[inline]
pub(super) fn mark_ready(core: &Core, stream: &Arc<StreamState>) {
    if core.serving.load(Ordering::Relaxed) && !stream.queued.swap(true, Ordering::AcqRel) {
        lock(&core.ready).push_back(Arc::clone(stream));
    }
}

pub(super) fn handle_restart(core: &Core, epoch: u64, acknowledged: bool) -> Result<(), Violation> {
    core.counters.hot_restarts.add_locked(1);
    match (core.role, acknowledged) {
        (Role::Client, false) => core.restart.announced(epoch),
        (Role::Server, true) => core.restart.acknowledged(epoch),
        (Role::Client, true) => return Err(Violation::MessageType(9)),
        (Role::Server, false) => return Err(Violation::MessageType(8)),
    }
    Ok(())
}
