//! The end of a worker: earlier requests of clients are served, within a bounded time.

use std::io;
use std::time::Duration;

use breezeway_os::{Deadline, clock};

use super::Worker;
use crate::call::Handler;
use crate::channel::RETRY;
use crate::served::{Progress, Rest};
use crate::slice::Slice;

/// Limit on each wait of an ending server for one client to take its pending replies.
const DRAIN_TURN: Duration = Duration::from_millis(5);

impl Worker {
    /// Serves, for `drain` at most, the requests sent before the stop.
    pub(super) fn finish(&mut self, handler: &impl Handler, drain: Duration) -> io::Result<()> {
        let is_late = self.inbox.is_out_of_time();
        let end = Deadline::after(if is_late { Duration::ZERO } else { drain });
        self.reclaim_all();
        for slot in self.slots.iter_mut().flatten() {
            slot.session.say_go_away();
        }
        self.wait_for_deferred(handler, end)?;
        if end.has_passed() {
            self.refuse_the_rest();
        }
        self.write_what_is_owed(end);
        for slot in self.slots.iter_mut().flatten() {
            slot.session.say_shutdown(end);
        }
        // The shutdown entry too finds no room in a socket that is full.
        self.write_what_is_owed(end);
        Ok(())
    }

    /// Serves the requests that each client has sent.
    fn serve_the_rest(&mut self, handler: &impl Handler, end: Deadline) {
        let mut tokens: Vec<_> = (0..self.slots.len()).collect();
        while !tokens.is_empty() && !end.has_passed() {
            let mut any_served = false;
            tokens.retain(|&token| {
                let rest = self.serve_rest_of(token, handler);
                any_served |= rest == Rest::Served;
                rest != Rest::Nothing
            });
            if !any_served {
                self.make_room(&tokens, end);
            }
        }
    }

    /// Waits a moment for these sessions to become ready, as none can be served now.
    #[cold]
    fn make_room(&mut self, tokens: &[usize], end: Deadline) {
        let mut any_flushed = false;
        for &token in tokens {
            if let Some(slot) = &mut self.slots[token]
                && slot.session.has_unwritten()
            {
                let has_waited = slot.session.flush(Deadline::after(DRAIN_TURN).min(end));
                // A client that takes no replies before its requests are read gives no time either.
                any_flushed |= has_waited || !slot.session.has_unwritten();
            }
        }
        if !any_flushed && !tokens.is_empty() {
            // Waits for a lock or a lacking resource, whose end no event reports.
            std::thread::sleep(RETRY);
        }
    }

    /// Refuses the remaining calls, as the time is over.
    fn refuse_the_rest(&mut self) {
        for slot in self.slots.iter_mut().flatten() {
            self.inbox.leave_undone(slot.session.refuse_the_rest());
        }
    }

    /// Gives a session one more turn.
    fn serve_rest_of(&mut self, token: usize, handler: &impl Handler) -> Rest {
        let Some(slot) = &mut self.slots[token] else { return Rest::Nothing };
        let now = clock::ticks();
        self.inbox.load().turn_begins(now);
        let mut slice = Slice::new(now, self.times.slice);
        let progress = slot.session.serve_some(handler, 1, &mut slice);
        match progress {
            Ok(Progress::Served(0)) => slot.session.rest(),
            Ok(Progress::Served(_)) => Rest::Served,
            Ok(Progress::Closed) => {
                self.end(token, Ok(()));
                Rest::Nothing
            }
            Err(error) if error.is_shortage() && slot.session.may_retry() => Rest::Waits,
            Err(error) => {
                self.end(token, Err(error));
                Rest::Nothing
            }
        }
    }

    fn is_in_use(&self) -> bool {
        self.slots.iter().flatten().any(|slot| slot.session.is_in_use())
    }

    /// Serves requests until other threads hold no call or stream.
    fn wait_for_deferred(&mut self, handler: &impl Handler, end: Deadline) -> io::Result<()> {
        loop {
            // Requests may wait in the ring for a deferred call that ends during this pass.
            let was_in_use = self.is_in_use();
            self.serve_the_rest(handler, end);
            if !was_in_use && !self.is_in_use() || end.has_passed() {
                return Ok(());
            }
            if self.inbox.news().sleep() {
                // No event reports further requests, or memory for replies.
                let until = end.min(Deadline::after(RETRY));
                self.sleeper.wait(until.time_left())?;
            }
            self.inbox.news().wake();
            self.inbox.take();
        }
    }

    /// Gives clients a while to take the replies that their sockets have not taken.
    fn write_what_is_owed(&mut self, end: Deadline) {
        loop {
            let mut owing = false;
            for slot in self.slots.iter_mut().flatten() {
                if slot.session.has_unwritten() {
                    // A client that does not read delays the others only by a moment, and many such
                    // clients delay the end only by its time: bytes that a socket takes at once are
                    // written even then.
                    owing |= slot.session.flush(Deadline::after(DRAIN_TURN).min(end));
                }
            }
            if !owing || end.has_passed() {
                return;
            }
        }
    }
}
