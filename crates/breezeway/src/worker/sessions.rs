//! The sessions of a worker: active, armed or paused, until they end.

use breezeway_os::shortage::RETRY_AFTER;
use breezeway_os::{Deadline, WaitPolicy};

use super::Worker;
use super::slot::Slot;
use crate::error::{SessionError, describe};

impl Worker {
    /// Adds a session; returns its token.
    pub(super) fn add(&mut self, mut slot: Box<Slot>) -> Option<usize> {
        let is_free = |token: usize| self.slots.get(token).is_none_or(Option::is_none);
        let token = match &self.watch {
            Some(_) => self.inbox.armed().first_free(is_free),
            None => self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len()),
        };
        slot.session.join(self.inbox.clone(), token);
        if let Err(error) = slot.watch(&self.sleeper, token) {
            tracing::warn!(%error, "cannot watch a session, which ends");
            self.inbox.session_ended();
            return None;
        }
        (slot.active, slot.round) = (true, 0);
        if self.slots.len() <= token {
            self.slots.resize_with(token + 1, || None);
        }
        self.slots[token] = Some(slot);
        self.active.add_last(token);
        Some(token)
    }

    /// Takes an armed session back from the place where other workers may take it.
    pub(super) fn reclaim(&mut self, token: usize) {
        if self.watch.is_some() && self.slots.get(token).is_some_and(Option::is_none) {
            self.slots[token] = self.inbox.armed().claim(token);
        }
    }

    pub(super) fn reclaim_all(&mut self) {
        for token in 0..self.slots.len() {
            self.reclaim(token);
        }
    }

    /// Leaves an armed session to the first claimant, if other workers can use it.
    pub(super) fn put_away(&mut self, token: usize) {
        if self.watch.is_some()
            && let Some(slot) = self.slots.get_mut(token)
            && let Some(slot) = slot.take_if(|slot| !slot.active)
        {
            self.inbox.armed().put(token, slot);
        }
    }

    /// Drops a session that has ended.
    #[cold]
    pub(super) fn end(&mut self, token: usize, outcome: Result<(), SessionError>) {
        self.active.remove(token);
        self.paused.retain(|&other| other != token);
        self.note_unpaused();
        let Some(mut slot) = self.slots[token].take() else { return };
        let peer = slot.session.peer();
        match outcome {
            Ok(()) => tracing::debug!(?peer, "session closed"),
            Err(error) => {
                match self.broken.admit() {
                    Some(0) => tracing::warn!(?peer, error = %describe(&error), "session ended"),
                    Some(suppressed) => {
                        tracing::warn!(?peer, error = %describe(&error), suppressed, "session ended")
                    }
                    None => tracing::debug!(?peer, error = %describe(&error), "session ended"),
                }
                slot.presence.fails(error);
            }
        }
        self.inbox.leave_undone(slot.session.unserved());
        // Not left to closing: a forked child may hold copies, and the token is used again.
        slot.forget(&self.sleeper);
        self.inbox.session_ended();
        self.keep_one_active();
    }

    /// Keeps one session active under `Busy`: the one that was served last, if all others are
    /// armed.
    fn keep_one_active(&mut self) {
        if self.spinner.policy() != WaitPolicy::Busy || !self.active.is_empty() {
            return;
        }
        self.reclaim_all();
        let slots = self.slots.iter_mut().enumerate();
        let armed = slots.filter_map(|(token, slot)| Some((token, slot.as_mut()?)));
        let latest = armed.filter(|(token, _)| !self.paused.contains(token));
        let latest = latest.max_by_key(|(_, slot)| slot.last_work).map(|(token, _)| token);
        if let Some(token) = latest {
            self.activate(token);
        }
        for token in 0..self.slots.len() {
            if !self.paused.contains(&token) {
                self.put_away(token);
            }
        }
    }

    /// Makes a session active. It has one turn per round, also if it was active earlier in this
    /// round.
    pub(super) fn activate(&mut self, token: usize) {
        let Some(slot) = &mut self.slots[token] else { return };
        if std::mem::replace(&mut slot.active, true) {
            return;
        }
        if slot.round == self.round {
            self.active.add_for_next_round(token);
        } else {
            self.active.add_next(token);
        }
    }

    /// Pauses a session that waits for a resource which this process lacks, or, after its end, for
    /// its client to take entries.
    #[cold]
    pub(super) fn pause(&mut self, token: usize) {
        self.active.remove(token);
        let Some(slot) = &mut self.slots[token] else { return };
        slot.active = false;
        self.paused.push(token);
        self.resume = self.resume.min(Deadline::after(RETRY_AFTER));
        self.keep_one_active();
    }

    /// Restarts the pause's full length for the next paused session, once no session is paused.
    pub(super) fn note_unpaused(&mut self) {
        if self.paused.is_empty() {
            self.resume = Deadline::NEVER;
        }
    }

    /// Tries paused sessions again when it is time.
    #[inline(always)]
    pub(super) fn resume_paused(&mut self) {
        if !self.paused.is_empty() && self.resume.has_passed() {
            self.resume = Deadline::NEVER;
            for token in std::mem::take(&mut self.paused) {
                self.activate(token);
            }
        }
    }
}
