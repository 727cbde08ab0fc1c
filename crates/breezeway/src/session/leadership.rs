//! Choice of the waiting thread that drives a session: one leads and receives for all; the others
//! follow, and sleep until their messages were found or they are to lead (leader/followers: Schmidt
//! et al., "Pattern-Oriented Software Architecture", volume 2).
//!
//! The rule that loses no waiter: a thread that leaves while no thread leads wakes one of the
//! followers.

#[cfg(test)]
mod model;

use std::task::Waker;

/// The leader's place and the followers, each with its waker. Every step is taken under one lock.
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

/// A thread's place among the followers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place(u64);

impl<W: Clone> Leadership<W> {
    /// Returns the state of a session that is driven from outside: no waiting thread ever leads.
    pub(super) fn outside() -> Self {
        Self { is_led: true, ..Self::default() }
    }

    /// Begins to lead if no thread leads. Returns true if it did.
    pub(super) fn try_lead(&mut self) -> bool {
        !std::mem::replace(&mut self.is_led, true)
    }

    /// Ends leading. Returns the waker of the thread that is to lead next.
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

    /// Ends following. Returns the waker of the thread that is to lead, if none does: this thread
    /// may have been asked to, and leaves instead.
    #[must_use]
    pub(super) fn leave(&mut self, place: Place) -> Option<W> {
        self.followers.retain(|(other, _)| *other != place.0);
        if self.is_led { None } else { self.successor() }
    }

    fn successor(&self) -> Option<W> {
        self.followers.first().map(|(_, waker)| waker.clone())
    }
}

/// The party that takes turns and receives.
#[derive(Clone, Copy)]
pub(crate) enum Driving {
    /// The threads that wait for something.
    ByCallers,
    /// A [`Driver`](super::Driver).
    Elsewhere,
}

impl Driving {
    pub(super) fn leadership(self) -> Leadership<Waker> {
        match self {
            Self::ByCallers => Leadership::default(),
            Self::Elsewhere => Leadership::outside(),
        }
    }
}
