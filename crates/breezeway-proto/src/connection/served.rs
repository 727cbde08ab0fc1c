//! Calls that this side serves and has not replied to.

use rustc_hash::FxHashMap;

/// A call that is being served.
pub struct ServedCall<W> {
    /// Whether the client no longer wants the reply.
    pub cancelled: bool,
    /// Who wants to know that.
    pub waiter: Option<W>,
}

/// Calls by stream number. One-way messages are none.
pub struct Served<W> {
    calls: FxHashMap<u32, ServedCall<W>>,
}

impl<W> Served<W> {
    pub(super) fn new() -> Self {
        Self { calls: FxHashMap::default() }
    }

    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "a count that is compared with a limit")]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns true if a call has this number.
    pub(super) fn has(&self, number: u32) -> bool {
        self.calls.contains_key(&number)
    }

    /// A request came on a number that no call has.
    pub(super) fn begin(&mut self, number: u32) {
        self.calls.insert(number, ServedCall { cancelled: false, waiter: None });
    }

    /// The reply goes out. Gives who waits for its cancellation.
    pub fn end(&mut self, number: u32) -> Option<W> {
        self.calls.remove(&number)?.waiter
    }

    /// The client no longer wants the reply. Gives who wants to know that.
    pub(super) fn cancel(&mut self, number: u32) -> Option<W> {
        let call = self.calls.get_mut(&number)?;
        call.cancelled = true;
        call.waiter.take()
    }

    /// A call that was not replied to.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut ServedCall<W>> {
        self.calls.get_mut(&number)
    }

    /// Everybody who waits.
    pub fn waiters(&mut self) -> impl Iterator<Item = W> + '_ {
        self.calls.values_mut().filter_map(|call| call.waiter.take())
    }
}
