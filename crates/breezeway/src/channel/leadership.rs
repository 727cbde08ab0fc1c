//! Which of the threads that wait on a session drives it: one leads and takes what comes for all;
//! the others follow, and sleep until what they wait for was found or they are to lead
//! (leader/followers: Schmidt et al., "Pattern-Oriented Software Architecture", volume 2).
//!
//! The rule that loses nobody: whoever leaves while nobody leads wakes one of those who follow.

#[cfg(test)]
mod model;

/// Who leads and who follows, each with what wakes it. Every step is taken under one lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leadership<W> {
    is_led: bool,
    followers: Vec<(u64, W)>,
    next: u64,
}

impl<W> Default for Leadership<W> {
    fn default() -> Self {
        Self { is_led: false, followers: Vec::new(), next: 0 }
    }
}

/// A thread's place among those who follow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place(u64);

impl<W: Clone> Leadership<W> {
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
    pub(super) fn resign(&mut self) -> Option<W> {
        self.is_led = false;
        self.successor()
    }

    /// Begins to follow.
    pub(super) fn follow(&mut self, waker: W) -> Place {
        self.next += 1;
        self.followers.push((self.next, waker));
        Place(self.next)
    }

    /// Ends following. Gives who is to lead, if nobody does: this thread may have been asked to,
    /// and goes another way.
    #[must_use]
    pub(super) fn leave(&mut self, place: Place) -> Option<W> {
        self.followers.retain(|(other, _)| *other != place.0);
        if self.is_led { None } else { self.successor() }
    }

    fn successor(&self) -> Option<W> {
        self.followers.first().map(|(_, waker)| waker.clone())
    }
}
