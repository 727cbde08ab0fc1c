//! The end of an operation on a shared session, and the sleep of its driver.

use std::task::Waker;

use breezeway_os::Deadline;
use breezeway_os::shortage::RETRY_AFTER;
use breezeway_shm::Want;

use super::stand_in::StandIn;
use super::state::{RETRY, State};
use crate::carrier::{Carrier, LinkError};
use crate::time::to_deadline;

/// State of a session's driver, which may be a waiting thread.
pub(super) struct DriverState {
    /// True if the driver takes another turn before it sleeps.
    pub(super) is_awake: bool,
    /// Waker that interrupts the sleep.
    waker: Option<Waker>,
    /// True if the driver sleeps for room as well.
    room_is_awaited: bool,
    /// Latest end of the sleep.
    pub(super) sleeps_until: Deadline,
    /// State of the tasks that take turns meanwhile.
    pub(super) stand_in: StandIn,
}

impl Default for DriverState {
    fn default() -> Self {
        Self {
            is_awake: false,
            waker: None,
            room_is_awaited: false,
            sleeps_until: Deadline::NEVER,
            stand_in: StandIn::default(),
        }
    }
}

impl State {
    /// Ends an operation: its published entries reach the peer, through the driver if that is
    /// awake. A sleeping driver is woken if something waits for room and room does not end its
    /// sleep, or something waits no longer than a part of it.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.connection.ending.has_begun() || !self.driver.is_awake || !self.discarded.is_empty()
        {
            self.settle_more();
        }
    }

    #[inline(never)]
    fn settle_more(&mut self) {
        self.step_drain();
        self.due.append(&mut self.discarded);
        if self.is_ended() || self.driver.is_awake {
            // The driver records the state in its next turn, or before it sleeps.
            return;
        }
        self.note_state();
        let outcome = self.send_controls().and_then(|_| self.flush());
        match outcome.and_then(|()| self.step_end(false)) {
            Ok(()) if self.needs_driver() => self.wake_driver(),
            Ok(()) => {}
            Err(error) => self.finish(error),
        }
    }

    /// Returns true if the sleep of the driver does not end in time.
    fn needs_driver(&mut self) -> bool {
        !self.sleeps_for_room() && self.awaits_room()
            || to_deadline(self.connection.poll_timeout()) < self.driver.sleeps_until
    }

    /// Returns true if more room ends the driver's sleep.
    fn sleeps_for_room(&self) -> bool {
        self.driver.room_is_awaited && self.link.status().announces_room
    }

    /// Returns true if an entry, a waiter or unwritten bytes wait for the peer to consume
    /// something.
    fn awaits_room(&mut self) -> bool {
        self.has_more_to_send() || self.link.status().unwritten > 0
    }

    /// Returns true if entries, or waiters that would send some, wait for room.
    pub(super) fn has_more_to_send(&mut self) -> bool {
        !self.awaiting.room.is_empty()
            || !self.connection.backlog.is_empty()
            || self.connection.next_transmit().is_some()
    }

    /// Announces that the driver is about to sleep. Returns the deadline of its sleep; `None` if
    /// there is something to do.
    pub(super) fn prepare_sleep(&mut self) -> Option<Deadline> {
        let until = self.announce_sleep()?;
        self.driver.sleeps_until = until;
        Some(until)
    }

    fn announce_sleep(&mut self) -> Option<Deadline> {
        // Since the last turn, another thread may have left entries to this driver: a reset or a
        // window that is to be sent, and published ones that are to be flushed.
        if !self.is_ended()
            && let Err(error) = self.send_controls()
        {
            self.finish(error);
        }
        if self.is_ended() || self.connection.backlog.is_copying() || self.unflushed {
            return None;
        }
        // Changes by others since the last turn must be visible to tools for as long as the sleep.
        self.note_state();
        let timeout = to_deadline(self.connection.poll_timeout());
        if !self.connection.takes_entries() {
            // A thread that accepts an arrival, or replies, wakes the driver; until then the socket
            // has nothing for it. A sleep for room cannot be announced, because the entries that
            // have come would prevent it, so room is polled for.
            self.driver.is_awake = false;
            self.driver.room_is_awaited = false;
            let soon = self.awaits_room().then_some(RETRY);
            return Some(timeout.min(Deadline::from(soon)));
        }
        match self.try_prepare_sleep() {
            Ok(asleep) => {
                self.driver.is_awake = !asleep;
                // Unread bytes wait for descriptors, or for room for a segment.
                let unread = self.link.status().unread.then_some(RETRY_AFTER);
                asleep.then(|| timeout.min(Deadline::from(unread)))
            }
            Err(error) => {
                self.finish(error.into());
                None
            }
        }
    }

    fn try_prepare_sleep(&mut self) -> Result<bool, LinkError> {
        // A turn's last write may have made room on a socket, which no event would report.
        let has_room = self.link.carrier != Carrier::Shm && !self.link.status().backlogged;
        if self.unflushed || has_room && self.has_more_to_send() {
            return Ok(false);
        }
        self.driver.room_is_awaited = self.awaits_room();
        let want = if self.driver.room_is_awaited { self.more_room } else { Want::Data };
        self.link.prepare_sleep(want, self.driver.waker.as_ref())
    }

    /// Sets the waker to be woken when the driver is needed.
    pub(super) fn set_driver(&mut self, waker: &Waker) {
        match &mut self.driver.waker {
            Some(driver) => driver.clone_from(waker),
            unset => *unset = Some(waker.clone()),
        }
    }

    /// Ends the driver's sleep.
    pub(super) fn wake_driver(&mut self) {
        self.due.extend(self.driver.waker.clone());
    }
}
