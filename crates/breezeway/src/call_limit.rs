//! The limit on calls in flight of all sessions of a server.
//!
//! Calls that a worker serves in one piece are as many as there are workers, and are not counted.
//! Only the calls that other threads reply to later are counted, when they are deferred. So a
//! server whose handlers reply at once only reads here, from a cache line that no thread writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Limit on calls in flight. Clones share the count.
#[derive(Clone, Debug)]
pub struct CallLimit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    /// The number of further copies is the number of calls in flight.
    held: Arc<()>,
    refused: AtomicU64,
}

/// A call in flight, until it is dropped.
#[derive(Debug)]
pub struct CallInFlight(#[expect(dead_code, reason = "held to be counted")] Arc<()>);

impl CallLimit {
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Inner { most, held: Arc::default(), refused: AtomicU64::new(0) }))
    }

    /// Counts one more call in flight.
    pub fn begin(&self) -> CallInFlight {
        CallInFlight(Arc::clone(&self.0.held))
    }

    /// Returns the reason to refuse a further call, or None. Its caller receives
    /// [`Overloaded`](crate::ErrorCode::Overloaded), so it knows that the call never ran.
    #[inline]
    pub fn refusal(&self) -> Option<String> {
        (Arc::strong_count(&self.0.held) > self.0.most).then(|| self.refuse())
    }

    #[cold]
    fn refuse(&self) -> String {
        self.0.refused.fetch_add(1, Ordering::Relaxed);
        let calls = if self.0.most == 1 { "call is" } else { "calls are" };
        let most = self.0.most;
        format!("{most} {calls} in flight; the server's max_calls_in_flight allows no more")
    }

    /// Returns the number of calls refused so far.
    pub(crate) fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }
}
