//! How a worker ends: what clients have asked for by then is served, within a bounded time.

use std::io;
use std::time::Duration;

use breezeway_os::{Deadline, clock};

use super::Worker;
use crate::call::Handler;
use crate::deferred::RETRY;
use crate::served::Progress;
use crate::slice::Slice;

/// How long a server that ends waits at a time for one client to take the replies that it is owed.
const DRAIN_TURN: Duration = Duration::from_millis(5);

impl Worker {
    /// Serves, for `drain` at most, what was asked before the stop.
    pub(super) fn finish(&mut self, handler: &impl Handler, drain: Duration) -> io::Result<()> {
        let is_late = self.inbox.is_out_of_time();
        let end = Deadline::after(if is_late { Duration::ZERO } else { drain });
        self.reclaim_all();
        self.serve_the_rest(handler, end);
        self.wait_for_deferred(handler, end)?;
        if end.has_passed() {
            self.refuse_the_rest();
        }
        self.write_what_is_owed(end);
        Ok(())
    }

    /// Serves what each client has asked for by then.
    fn serve_the_rest(&mut self, handler: &impl Handler, end: Deadline) {
        for slot in self.slots.iter_mut().flatten() {
            slot.session.say_go_away();
        }
        let mut tokens: Vec<_> = (0..self.slots.len()).collect();
        while !tokens.is_empty() && !end.has_passed() {
            tokens.retain(|&token| self.serve_rest_of(token, handler));
        }
    }

    /// There is no more time.
    fn refuse_the_rest(&mut self) {
        for slot in self.slots.iter_mut().flatten() {
            self.inbox.leave_undone(slot.session.refuse_the_rest());
        }
    }

    /// Gives a session one more turn; whether it may have more to serve.
    fn serve_rest_of(&mut self, token: usize, handler: &impl Handler) -> bool {
        let Some(slot) = &mut self.slots[token] else { return false };
        let mut slice = Slice::new(clock::ticks(), self.times.slice);
        match slot.session.serve_some(handler, 1, &mut slice) {
            Ok(Progress::Served(served)) => served > 0,
            Ok(Progress::Closed) => {
                self.end(token, Ok(()));
                false
            }
            Err(error) if error.is_shortage() => false,
            Err(error) => {
                self.end(token, Err(error));
                false
            }
        }
    }

    /// Gives those who have deferred calls a while to reply, and serves what is
    /// asked meanwhile by clients that have not heard of the end.
    fn wait_for_deferred(&mut self, handler: &impl Handler, end: Deadline) -> io::Result<()> {
        loop {
            let mut deferred = 0;
            for token in 0..self.slots.len() {
                let Some(slot) = &mut self.slots[token] else { continue };
                if slot.session.deferred_calls() == 0 {
                    continue;
                }
                match slot.session.publish_replies() {
                    Ok(()) => deferred += slot.session.deferred_calls(),
                    Err(error) => self.end(token, Err(error)),
                }
            }
            if deferred == 0 || end.has_passed() {
                return Ok(());
            }
            for token in 0..self.slots.len() {
                self.serve_rest_of(token, handler);
            }
            if self.inbox.news().sleep() {
                // Nothing else tells of what is asked, or of memory for replies.
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
                    // A client that does not read delays the others by a moment only, and many of
                    // them the end by no more than its time: what a socket takes at once is written
                    // even then.
                    owing |= slot.session.flush(Deadline::after(DRAIN_TURN).min(end));
                }
            }
            if !owing || end.has_passed() {
                return;
            }
        }
    }
}
