//! Calls that this side serves and has not replied to.

use rustc_hash::FxHashMap;

use crate::violation::CallViolation;

/// Call that is being served.
pub struct ServedCall<W> {
    /// True if the client has cancelled the call.
    pub cancelled: bool,
    /// Waiter for the cancellation.
    pub waiter: Option<W>,
}

/// Calls by stream number, without one-way messages.
pub struct Served<W> {
    calls: FxHashMap<u32, ServedCall<W>>,
    limit: usize,
}

impl<W> Served<W> {
    /// Creates an empty table of at most `limit` calls.
    pub fn new(limit: usize) -> Self {
        Self { calls: FxHashMap::default(), limit }
    }

    /// Returns the number of calls.
    #[allow(clippy::len_without_is_empty, reason = "a count that is compared with a limit")]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns true if a call has this number.
    pub fn has(&self, number: u32) -> bool {
        self.calls.contains_key(&number)
    }

    /// Validates the number of calls before one more begins. `unsent` is the number of replies that
    /// wait for room and belong to calls that are not served any more: the client still counts
    /// those calls.
    pub fn check_room(&self, unsent: usize) -> Result<(), CallViolation> {
        let has_room = self.calls.len() + unsent < self.limit;
        if has_room { Ok(()) } else { Err(CallViolation::TooManyCalls(self.limit)) }
    }

    /// Adds the call of a request on a number that no call has.
    pub fn begin(&mut self, number: u32) {
        self.calls.insert(number, ServedCall { cancelled: false, waiter: None });
    }

    /// Removes a call after its reply is sent. Returns the waiter for its cancellation.
    pub fn end(&mut self, number: u32) -> Option<W> {
        self.calls.remove(&number)?.waiter
    }

    /// Marks a call as cancelled by the client. Returns the waiter for the cancellation.
    pub(super) fn cancel(&mut self, number: u32) -> Option<W> {
        let call = self.calls.get_mut(&number)?;
        call.cancelled = true;
        call.waiter.take()
    }

    /// Returns a call without a reply.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut ServedCall<W>> {
        self.calls.get_mut(&number)
    }

    /// Takes all waiters.
    pub fn waiters(&mut self) -> impl Iterator<Item = W> + '_ {
        self.calls.values_mut().filter_map(|call| call.waiter.take())
    }
}
