//! The end of a worker: earlier requests of clients are served, within a bounded time.

use std::io;
use std::time::Duration;

use breezeway_os::Deadline;

use super::{Next, Worker};
use crate::call::Handler;

impl Worker {
    /// Serves, for `drain` at most, the requests sent before the stop, and ends all sessions.
    pub(super) fn finish(&mut self, handler: &impl Handler, drain: Duration) -> io::Result<()> {
        let is_late = self.inbox.is_out_of_time();
        let end = Deadline::after(if is_late { Duration::ZERO } else { drain });
        self.reclaim_all();
        // The guard has ended: no other worker takes a session any more.
        self.watch = None;
        self.paused.clear();
        for token in 0..self.slots.len() {
            if let Some(slot) = &mut self.slots[token] {
                slot.session.drain(end);
            }
            self.activate(token);
        }
        loop {
            self.take_inbox();
            self.resume_paused();
            let found = self.round(handler)?;
            if self.slots.iter().all(Option::is_none) {
                return Ok(());
            }
            if let Next::Sleep = self.after_round(found)? {
                self.sleep()?;
            }
        }
    }
}
