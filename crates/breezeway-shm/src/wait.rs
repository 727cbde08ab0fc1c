//! Waiting of one thread for one peer, by the wait policy. (A server that serves many sessions with
//! one thread has its own loop.)

use std::time::Duration;

use thiserror::Error;

use crate::doorbell::SocketError;
use crate::endpoint::Endpoint;
use crate::ring::Want;
use crate::statistics::Field;
use breezeway_os::spin::{Spinner, WaitPolicy, Waiting};
use breezeway_os::{Deadline, clock};

/// Polls between two readings of the clock. The pause in each poll keeps the waiter from pulling
/// the line away while the peer writes it.
const POLLS_PER_TICK: u32 = 64;
/// Interval at which a spinning waiter checks the socket for the peer's end of file.
const CLOSE_CHECK: Duration = Duration::from_millis(1);

/// Error of a wait that ended before its condition held.
#[derive(Debug, Error)]
pub enum WaitError {
    /// The deadline passed.
    #[error("the deadline passed")]
    DeadlinePassed,
    /// The peer's end of the socket is closed and everything it committed was taken.
    #[error("the peer is gone")]
    Closed,
    /// The session socket failed, or the peer broke a rule.
    #[error(transparent)]
    Socket(#[from] SocketError),
}

/// Waits of one thread for one peer.
pub struct Waiter {
    /// For entries, and for payload memory.
    entries_and_memory: Polling,
    /// For slots of the ring. These waits poll under [`WaitPolicy::Park`] too: an awake peer makes
    /// room in much less time than one wake-up takes, and rings for a sender that sleeps, and then
    /// has to be woken itself.
    slots: Polling,
}

/// The choice between polls and sleep of one kind of waits.
struct Polling {
    spinner: Spinner,
    /// Polls before the clock is read: one if the last wait that read it did not spin, as the peer
    /// may run on this CPU once this thread sleeps.
    polls: u32,
}

impl Polling {
    fn new(waiting: Waiting) -> Self {
        let spinner = Spinner::new(waiting);
        let polls = if spinner.policy() == WaitPolicy::Park { 1 } else { POLLS_PER_TICK };
        Self { spinner, polls }
    }
}

impl Waiter {
    /// Creates a waiter with this policy and spin bound.
    pub fn new(waiting: impl Into<Waiting>) -> Self {
        let waiting = waiting.into();
        let policy = match waiting.policy {
            WaitPolicy::Busy => WaitPolicy::Busy,
            WaitPolicy::Adaptive | WaitPolicy::Park => WaitPolicy::Adaptive,
        };
        Self {
            entries_and_memory: Polling::new(waiting),
            slots: Polling::new(Waiting { policy, ..waiting }),
        }
    }

    #[inline(always)]
    fn polling(&mut self, want: Want) -> &mut Polling {
        match want {
            Want::Data | Want::Memory { .. } => &mut self.entries_and_memory,
            Want::Consumed(_) => &mut self.slots,
        }
    }

    /// Waits until `want` holds, or until `deadline`.
    #[inline(always)]
    pub fn wait(
        &mut self,
        endpoint: &mut Endpoint,
        want: Want,
        deadline: Deadline,
    ) -> Result<(), WaitError> {
        for _ in 0..self.polling(want).polls {
            if endpoint.has(want).map_err(SocketError::from)? {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.wait_long(endpoint, want, deadline)
    }

    #[cold]
    #[inline(never)]
    fn wait_long(
        &mut self,
        endpoint: &mut Endpoint,
        want: Want,
        deadline: Deadline,
    ) -> Result<(), WaitError> {
        // The peer may sleep until it sees the progress or entries from before this wait.
        endpoint.flush()?;
        let start = clock::ticks();
        let polling = self.polling(want);
        let budget = polling.spinner.ticks(|| endpoint.shares_cpu());
        polling.polls = if budget > 0 { POLLS_PER_TICK } else { 1 };
        let waited = self.spin_and_sleep(endpoint, want, start, budget, deadline);
        match waited {
            Ok(()) => self.polling(want).spinner.learn(clock::ticks().wrapping_sub(start)),
            // However short the wait was, no spin of that time would have paid.
            Err(WaitError::DeadlinePassed) => self.polling(want).spinner.learn(u64::MAX),
            Err(_) => {}
        }
        waited
    }

    fn spin_and_sleep(
        &self,
        endpoint: &mut Endpoint,
        want: Want,
        start: u64,
        budget: u64,
        deadline: Deadline,
    ) -> Result<(), WaitError> {
        if budget > 0 && self.spin_counted(endpoint, want, start, budget, deadline)? {
            return Ok(());
        }
        self.sleep(endpoint, want, deadline)
    }

    /// Polls, and counts the outcome.
    fn spin_counted(
        &self,
        endpoint: &mut Endpoint,
        want: Want,
        start: u64,
        budget: u64,
        deadline: Deadline,
    ) -> Result<bool, WaitError> {
        let outcome = self.spin(endpoint, want, start, budget, deadline);
        let took = clock::nanoseconds(clock::ticks().wrapping_sub(start));
        let meter = endpoint.meter_mut();
        meter.add(Field::SpinTime, took);
        if let Ok(came) = outcome {
            meter.add(Field::Spun, u64::from(came));
        }
        meter.waited();
        outcome
    }

    /// Polls for at most `budget` ticks. Returns true if `want` holds.
    fn spin(
        &self,
        endpoint: &mut Endpoint,
        want: Want,
        start: u64,
        budget: u64,
        deadline: Deadline,
    ) -> Result<bool, WaitError> {
        endpoint.note_cpu();
        let close_check = clock::ticks_in(CLOSE_CHECK);
        let mut checked = start;
        loop {
            let now = clock::ticks();
            if deadline.has_passed_at(now) {
                return Err(WaitError::DeadlinePassed);
            }
            if now.wrapping_sub(start) >= budget {
                return Ok(false);
            }
            if now.wrapping_sub(checked) >= close_check {
                if checked == start {
                    endpoint.meter_mut().waits(want.into());
                }
                checked = now;
                endpoint.drain()?;
            }
            // Checked after the socket: entries committed before the peer closed are still taken.
            for _ in 0..POLLS_PER_TICK {
                if endpoint.has(want).map_err(SocketError::from)? {
                    return Ok(true);
                }
                std::hint::spin_loop();
            }
            if endpoint.is_closed() {
                return Err(WaitError::Closed);
            }
        }
    }

    /// Sleeps until `want` holds.
    fn sleep(
        &self,
        endpoint: &mut Endpoint,
        want: Want,
        deadline: Deadline,
    ) -> Result<(), WaitError> {
        let outcome = self.sleep_until(endpoint, want, deadline);
        endpoint.meter_mut().waited();
        outcome
    }

    fn sleep_until(
        &self,
        endpoint: &mut Endpoint,
        want: Want,
        deadline: Deadline,
    ) -> Result<(), WaitError> {
        loop {
            if endpoint.prepare_sleep(want, None)? {
                if deadline.has_passed() {
                    return Err(WaitError::DeadlinePassed);
                }
                endpoint.sleep(deadline)?;
            }
            if endpoint.has(want).map_err(SocketError::from)? {
                return Ok(());
            }
            if endpoint.is_closed() {
                return Err(WaitError::Closed);
            }
        }
    }
}
