//! The work that the end of a server leaves undone.

use std::ops::AddAssign;

/// Calls and messages left unserved by a server at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unserved {
    /// Calls that were not begun. Their callers received an error that states it.
    pub calls_refused: usize,
    /// Calls, and streams, that were begun and did not end. Their callers see the end of the
    /// session, and do not know if the work was completed.
    pub calls_cut: usize,
    /// One-way messages that were not served. Their senders receive no error.
    pub messages_lost: usize,
}

impl AddAssign for Unserved {
    fn add_assign(&mut self, other: Self) {
        self.calls_refused += other.calls_refused;
        self.calls_cut += other.calls_cut;
        self.messages_lost += other.messages_lost;
    }
}
