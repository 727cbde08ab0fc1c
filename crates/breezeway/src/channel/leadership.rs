//! Which of the threads that wait on a session drives it: one leads and takes what comes for all;
//! the others follow, and sleep until what they wait for was found or they are to lead
//! (leader/followers: Schmidt et al., "Pattern-Oriented Software Architecture", volume 2).
//!
//! The rule that loses nobody: whoever leaves while nobody leads wakes one of those who follow.

use std::task::Waker;

/// Who leads and who follows. All steps are taken under the session's lock.
#[derive(Default)]
pub(super) struct Leadership {
    is_led: bool,
    followers: Vec<(u64, Waker)>,
    next: u64,
}

/// A thread's place among those who follow.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place(u64);

impl Leadership {
    /// A session that is driven from outside: nobody who waits ever leads.
    pub(super) fn outside() -> Self {
        Self { is_led: true, ..Self::default() }
    }

    /// Begins to lead, if nobody does.
    pub(super) fn try_lead(&mut self) -> bool {
        !std::mem::replace(&mut self.is_led, true)
    }

    /// Ends leading. Gives who is to lead next.
    #[must_use]
    pub(super) fn resign(&mut self) -> Option<Waker> {
        self.is_led = false;
        self.successor()
    }

    /// Begins to follow.
    pub(super) fn follow(&mut self, waker: Waker) -> Place {
        self.next += 1;
        self.followers.push((self.next, waker));
        Place(self.next)
    }

    /// Ends following. Gives who is to lead, if nobody does: this thread may have been asked to,
    /// and goes another way.
    #[must_use]
    pub(super) fn leave(&mut self, place: Place) -> Option<Waker> {
        self.followers.retain(|(other, _)| *other != place.0);
        if self.is_led { None } else { self.successor() }
    }

    fn successor(&self) -> Option<Waker> {
        self.followers.first().map(|(_, waker)| waker.clone())
    }
}
