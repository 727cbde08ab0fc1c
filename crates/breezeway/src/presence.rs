//! Ids of sessions, and hooks that report their start and end to a server's owner.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use breezeway_os::Peer;

use crate::error::SessionError;

/// Id of a session that this process serves, or shares as a client, distinct from all others of
/// this process, also later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(u64);

impl SessionId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Relaxed: only the number itself is shared.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns its number, from 1 on, in the order in which sessions were opened.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// Prints the number.
impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

type OnStart = Arc<dyn Fn(SessionId, &Peer) + Send + Sync>;
type OnEnd = Arc<dyn Fn(SessionId, Option<&SessionError>) + Send + Sync>;

/// Hooks that are called when sessions start and end.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) on_start: Option<OnStart>,
    pub(crate) on_end: Option<OnEnd>,
}

impl Hooks {
    /// Reports a session's start, and its end when the presence is dropped.
    pub(crate) fn start(&self, id: SessionId, peer: &Peer) -> Presence {
        if let Some(hook) = &self.on_start {
            catching(|| hook(id, peer));
        }
        Presence { id, on_end: self.on_end.clone(), error: None }
    }
}

/// A session whose start was reported and whose end will be.
pub(crate) struct Presence {
    id: SessionId,
    on_end: Option<OnEnd>,
    error: Option<SessionError>,
}

impl Presence {
    /// Notes the error that ends the session, if it does not end in order.
    pub(crate) fn fails(&mut self, error: SessionError) {
        self.error = Some(error);
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some(hook) = &self.on_end {
            catching(|| hook(self.id, self.error.as_ref()));
        }
    }
}

/// Calls a hook; a panic of it harms no session.
fn catching(hook: impl FnOnce()) {
    // A hook is a shared function without state of ours, so a panic leaves nothing half done.
    if catch_unwind(AssertUnwindSafe(hook)).is_err() {
        tracing::warn!("a hook for the start or end of sessions panicked");
    }
}
