//! Tasks that take a turn while the driver sleeps.
//!
//! A message that wakes a sleeping driver reaches its waiting task by two wake-ups. So a task that
//! finds nothing takes a turn itself, and announces the sleep again, as the driver does. The
//! doorbell still wakes the driver, which finds nothing: a task that is not polled delays no other.
//! But entries that a task takes before the peer has rung for them cause no later doorbell: so the
//! task wakes the driver if it finds an entry that no task waits for.

#[cfg(test)]
mod model;

use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use super::shared::Shared;
use super::state::{State, Turn};
use crate::carrier::Carrier;

/// State of the tasks that take turns while the driver sleeps.
#[derive(Default)]
pub(super) struct StandIn {
    /// True if the driver's socket wakes waiting tasks ([`Alarm`]), which then run first.
    is_on: bool,
    /// Waker of the first task that found nothing since the driver was woken, and may receive the
    /// next message.
    waiter: Option<Waker>,
    /// Number of turns that have found something since the driver took one.
    worked: u32,
}

/// Limit of turns that find something and are taken for a sleeping driver. Later messages wake the
/// driver, and a task that always finds something waits for that, so that others run.
const MOST_IN_A_ROW: u32 = 32;

impl State {
    /// Lets tasks take turns from now on.
    pub(super) fn set_stand_ins(&mut self) {
        self.driver.stand_in.is_on = true;
    }

    /// Returns true if a polling task may take a turn: the driver is another and sleeps, and not
    /// too many turns were taken since. (On a socket a turn would cost a system call.) A session
    /// that ends is left to its driver: a drain is over after a turn that finds nothing, which a
    /// task does not take after one that found something.
    pub(super) fn may_stand_in(&self) -> bool {
        self.driver.stand_in.is_on
            && self.driver.stand_in.worked < MOST_IN_A_ROW
            && !self.driver.is_awake
            && !self.connection.ending.has_begun()
            && !self.is_ended()
            && self.link.carrier == Carrier::Shm
    }

    /// Takes a turn for the driver, and announces its sleep again: later messages wake it.
    pub(super) fn stand_in(&mut self, cx: &Context<'_>) {
        let driver_sleeps_until = self.driver.sleeps_until;
        let is_asleep = match self.turn() {
            Turn::Worked => {
                self.driver.stand_in.worked += 1;
                self.prepare_sleep().is_some_and(|until| until >= driver_sleeps_until)
            }
            Turn::Short => false,
            // At its end the session has woken all waiters.
            Turn::Idle | Turn::Closing | Turn::Ended => true,
        };
        // A call or a stream: the driver accepts it, and perhaps no doorbell follows for it.
        if !is_asleep || !self.connection.arrivals.is_empty() {
            self.wake_driver();
        }
        if self.driver.stand_in.waiter.is_none() {
            self.driver.stand_in.waiter = Some(cx.waker().clone());
        }
    }

    /// Takes the waker of the task that may receive the next message.
    pub(super) fn take_waiter(&mut self) -> Option<Waker> {
        self.driver.stand_in.waiter.take()
    }

    /// Returns true if a task has found something since the driver's last call.
    pub(super) fn take_stood_in(&mut self) -> bool {
        std::mem::take(&mut self.driver.stand_in.worked) > 0
    }
}

/// Waker that wakes a waiting task, and then the driver.
pub(super) struct Alarm {
    pub(super) shared: Arc<Shared>,
    pub(super) driver: Waker,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(waiter) = self.shared.take_waiter() {
            waiter.wake();
        }
        self.driver.wake_by_ref();
    }
}
