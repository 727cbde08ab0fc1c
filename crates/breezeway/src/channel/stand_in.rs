//! Tasks that take a turn while whoever drives sleeps.
//!
//! What a sleeping driver is woken for reaches the task that waits for it by two wake-ups. So a
//! task that finds nothing takes a turn itself, and announces the sleep anew, as the driver does.
//! The driver is woken all the same, by the doorbell, and finds nothing: a task that is not polled
//! stops nobody. But what a task takes before the other side has rung for it rings no more: so the
//! task wakes the driver if it finds what no task waits for.

#[cfg(test)]
mod model;

use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use super::shared::Shared;
use super::state::{State, Turn};
use crate::carrier::Carrier;

/// What tasks do while whoever drives sleeps.
#[derive(Default)]
pub(super) struct StandIn {
    /// Whether the driver's socket wakes tasks that wait ([`Alarm`]), which then are first.
    is_on: bool,
    /// Who found nothing first since the driver was woken, and may get what comes next.
    waiter: Option<Waker>,
    /// Turns that have found something since the driver took one.
    worked: u32,
}

/// So many turns that find something are taken for a driver that sleeps: what comes then wakes it,
/// and a task that always finds something waits for that, so that others run.
const MOST_IN_A_ROW: u32 = 32;

impl State {
    /// From now on tasks stand in.
    pub(super) fn set_stand_ins(&mut self) {
        self.stand_in.is_on = true;
    }

    /// Whether whoever polls may take a turn: somebody else drives, and sleeps, and not too many
    /// were taken since. (On a socket it would cost a system call.)
    pub(super) fn may_stand_in(&self) -> bool {
        self.stand_in.is_on
            && self.stand_in.worked < MOST_IN_A_ROW
            && !self.driver_is_awake
            && !self.is_ended()
            && self.link.carrier() == Carrier::Shm
    }

    /// Takes a turn for the driver, and announces its sleep anew: what comes from then on wakes it.
    pub(super) fn stand_in(&mut self, cx: &Context<'_>) {
        let is_asleep = match self.turn() {
            Turn::Worked => {
                self.stand_in.worked += 1;
                self.prepare_sleep().is_some()
            }
            Turn::Short => false,
            // At its end the session has woken everybody.
            Turn::Idle | Turn::Closing | Turn::Ended => true,
        };
        // A call or a stream: whoever drives takes it up, and perhaps nobody rings for it.
        if !is_asleep || !self.connection.arrivals.is_empty() {
            self.due.extend(self.driver.clone());
        }
        if self.stand_in.waiter.is_none() {
            self.stand_in.waiter = Some(cx.waker().clone());
        }
    }

    /// Who may get what comes next.
    pub(super) fn take_waiter(&mut self) -> Option<Waker> {
        self.stand_in.waiter.take()
    }

    /// Whether a task has found something since this was last asked, by whoever drives.
    pub(super) fn take_stood_in(&mut self) -> bool {
        std::mem::take(&mut self.stand_in.worked) > 0
    }
}

/// Wakes a task that waits, and then whoever drives.
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
