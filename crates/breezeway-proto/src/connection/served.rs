//! Calls that this side serves and has not replied to.

use rustc_hash::FxHashMap;

use crate::violation::CallViolation;

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
    limit: usize,
}

impl<W> Served<W> {
    /// No calls yet, of `limit` at one time.
    pub fn new(limit: usize) -> Self {
        Self { calls: FxHashMap::default(), limit }
    }

    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "a count that is compared with a limit")]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns true if a call has this number.
    pub fn has(&self, number: u32) -> bool {
        self.calls.contains_key(&number)
    }

    /// Validates the number of calls before one more begins. `unsent` replies to calls that are no
    /// longer served wait for room: the client counts those calls.
    pub fn check_room(&self, unsent: usize) -> Result<(), CallViolation> {
        let has_room = self.calls.len() + unsent < self.limit;
        if has_room { Ok(()) } else { Err(CallViolation::TooManyCalls(self.limit)) }
    }

    /// A request came on a number that no call has.
    pub fn begin(&mut self, number: u32) {
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
