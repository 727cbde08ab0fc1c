//! The waiting of a worker: polls without work, events of armed sessions, and the sleep.

use std::io;
use std::time::Duration;

use breezeway_os::{Deadline, WaitPolicy, clock, cpu};
use breezeway_shm::statistics::{Field, WaitsFor};

use super::inbox::INBOX;
use super::slot::EXIT;
use super::{Next, Worker};
use crate::carrier::Notice;

/// Rounds without work over the active sessions between two readings of the clock.
pub(super) const ROUNDS_PER_TICK: u32 = 16;

impl Worker {
    /// Decides, mostly without reading the clock, on the step after a round.
    #[inline]
    pub(super) fn after_round(&mut self, found: bool) -> io::Result<Next> {
        if found {
            self.idle_since = None;
        } else {
            if self.active.is_empty() || self.spinner.sleeps_at_once() {
                return Ok(Next::Sleep);
            }
            if self.spinner.policy() == WaitPolicy::Adaptive && self.polls_one_socket() {
                // A client on this CPU gets to send a request; elsewhere this costs less than a
                // read.
                std::thread::yield_now();
            } else {
                cpu::spin_hint();
            }
        }
        if found {
            return Ok(Next::Poll);
        }
        self.rounds += 1;
        if self.rounds < ROUNDS_PER_TICK { Ok(Next::Poll) } else { self.tick() }
    }

    /// Handles the cases that need the clock when no work was found: listening at intervals, and
    /// the end of spinning.
    #[inline(never)]
    fn tick(&mut self) -> io::Result<Next> {
        self.rounds = 0;
        let before = std::mem::replace(&mut self.now, clock::ticks());
        let spent = clock::nanoseconds(self.now.saturating_sub(before));
        self.meter.add(Field::SpinTime, spent);
        self.listen_if_due()?;
        if self.spinner.policy() == WaitPolicy::Busy {
            return Ok(Next::Poll);
        }
        let now = self.now;
        let since = *self.idle_since.get_or_insert(now);
        let (active, slots) = (self.active.tokens(), &mut self.slots);
        let mut shares_cpu =
            |&token: &usize| slots[token].as_mut().is_none_or(|slot| slot.session.shares_cpu());
        let all_share_cpu = || active.iter().all(&mut shares_cpu);
        let spins = self.spinner.spins(|| now.wrapping_sub(since), all_share_cpu);
        Ok(if spins { Next::Poll } else { Next::Sleep })
    }

    /// Handles pending events, without sleeping, and arms sessions that became idle, if the last
    /// time was long enough ago.
    #[inline(always)]
    pub(super) fn listen_if_due(&mut self) -> io::Result<()> {
        let recent = self.now.wrapping_sub(self.socket_work) < self.times.active;
        let every = if recent { self.times.listen_for_messages } else { self.times.listen };
        if self.now.wrapping_sub(self.listened) >= every { self.listen_now() } else { Ok(()) }
    }

    #[inline(never)]
    fn listen_now(&mut self) -> io::Result<()> {
        self.listened = self.now;
        self.listen(Some(Duration::ZERO))?;
        self.arm_idle();
        Ok(())
    }

    /// Handles pending events, and sleeps at most `timeout` for them.
    fn listen(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.heard.clear();
        self.heard.extend_from_slice(self.sleeper.wait(timeout)?);
        for index in 0..self.heard.len() {
            let wake = self.heard[index];
            if wake.token != INBOX {
                let has_exited = wake.token & EXIT != 0;
                let notice = if has_exited { Notice::PeerGone } else { wake.into() };
                self.hear((wake.token & !EXIT) as usize, notice);
            }
        }
        self.note_unpaused();
        Ok(())
    }

    /// Handles the doorbell of a session, or the end of its client. Also for an active session, as
    /// this event will not be reported again.
    pub(super) fn hear(&mut self, token: usize, notice: Notice) {
        self.reclaim(token);
        let Some(Some(slot)) = self.slots.get_mut(token) else { return };
        if let Err(error) = slot.session.notice(notice) {
            return self.end(token, Err(error));
        }
        slot.unread = true;
        if !slot.active {
            slot.last_work = self.now;
            self.paused.retain(|&other| other != token);
            self.activate(token);
        }
    }

    /// Handles a doorbell that the guard took. The token may be another session's by now, so the
    /// events are read from the session's own descriptors.
    #[cold]
    pub(super) fn hear_again(&mut self, token: usize) {
        let Some(Some(slot)) = self.slots.get_mut(token) else { return };
        let gone = slot.session.client_is_gone();
        self.hear(token, if gone { Notice::PeerGone } else { Notice::Readable });
    }

    /// Arms sessions without recent work; under `Busy` all but the last.
    fn arm_idle(&mut self) {
        // A slow worker's active sessions wait for it; another worker may take an armed one.
        let careful = self.watch.as_ref().is_some_and(|watch| watch.is_careful(self.now));
        let idle_for = if careful { self.times.slice } else { self.times.active };
        let mut index = 0;
        while self.active.len() > 1
            && let Some(&token) = self.active.tokens().get(index)
        {
            let Some(slot) = &self.slots[token] else { unreachable!("active sessions exist") };
            let is_idle = self.now.wrapping_sub(slot.last_work) >= idle_for;
            if !is_idle || !self.arm(token) {
                index += 1;
            }
        }
    }

    /// Announces that a session's doorbell is wanted. Returns true if it is no longer active.
    pub(super) fn arm(&mut self, token: usize) -> bool {
        let Some(slot) = &mut self.slots[token] else { return false };
        if !slot.may_sleep() {
            return false;
        }
        match slot.session.prepare_sleep() {
            Ok(Some(until)) => {
                slot.active = false;
                self.active.remove(token);
                if until != Deadline::NEVER {
                    self.paused.push(token);
                    self.resume = self.resume.min(until);
                } else {
                    self.put_away(token);
                }
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.end(token, Err(error));
                true
            }
        }
    }

    /// Arms every session and sleeps until one rings, unless one has work after all.
    #[inline(never)]
    pub(super) fn sleep(&mut self) -> io::Result<()> {
        let since = self.idle_since.take().unwrap_or(self.now);
        let mut index = self.active.len();
        while index > 0 {
            index -= 1;
            self.arm(self.active.tokens()[index]);
        }
        if !self.active.is_empty() {
            // Sessions that could not be armed have entries, perhaps always one more. Other
            // sessions are heard as well.
            self.now = clock::ticks();
            self.listen_if_due()?;
        } else {
            self.inbox.load().sleeps();
            if let Some(watch) = &mut self.watch {
                watch.end(&self.sleeper)?;
            }
            if self.inbox.flag().sleep() {
                let until = if self.paused.is_empty() { Deadline::NEVER } else { self.resume };
                self.meter.sleeps(WaitsFor::Data);
                self.listen(until.time_left())?;
                self.listened = clock::ticks();
                self.meter.waited();
            }
            self.inbox.flag().wake();
            self.now = clock::ticks();
            self.inbox.load().turn_begins(self.now);
            if let Some(watch) = &mut self.watch {
                watch.begin(&self.sleeper, self.now)?;
            }
        }
        self.spinner.learn(self.now.wrapping_sub(since));
        Ok(())
    }
}
