//! How many calls of all sessions of a server may be in flight at one time.
//!
//! A call that its worker serves in one piece is one of as many as there are workers, and is not
//! counted: only the calls that others reply to later are, where they are given up. So a server
//! whose handlers reply at once only reads here, from a line that nobody writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use breezeway_proto::ErrorCode;

use crate::call::{Call, Handled, Handler};

/// A clone is the same one.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct CallLimit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    /// As many calls are in flight as this has further copies.
    held: Arc<()>,
    refused: AtomicU64,
}

/// A call in flight, until it is dropped.
#[doc(hidden)]
#[derive(Debug)]
pub struct CallInFlight(#[expect(dead_code, reason = "held to be counted")] Arc<()>);

impl CallLimit {
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Inner { most, held: Arc::default(), refused: AtomicU64::new(0) }))
    }

    /// Counts one more.
    pub fn begin(&self) -> CallInFlight {
        CallInFlight(Arc::clone(&self.0.held))
    }

    /// Why no further call is begun, if that is so: its caller is to be told by
    /// [`ErrorCode::Overloaded`], which says that it never ran.
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

    /// Calls that were refused so far.
    pub(crate) fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }
}

/// A server's handler, which no call reaches beyond the limit. (One-way messages do: nobody could
/// be told.)
pub(crate) struct Limited<H>(pub(crate) H, pub(crate) CallLimit);

impl<H: Handler> Handler for Limited<H> {
    #[inline(always)]
    fn handle(&self, call: Call<'_>) -> Handled {
        if !call.is_one_way()
            && let Some(reason) = self.1.refusal()
        {
            return call.fail(ErrorCode::Overloaded, &reason);
        }
        self.0.handle(call)
    }

    #[inline(always)]
    fn call_limit(&self) -> Option<&CallLimit> {
        Some(&self.1)
    }
}
