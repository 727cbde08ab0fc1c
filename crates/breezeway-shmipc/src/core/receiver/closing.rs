//! Ends of streams: each counts only once all data sent before it was received.

use std::sync::atomic::Ordering;

use rustix::io::{Errno, ioctl_fionread};
use rustix::net::RecvFlags;

use super::Receiver;
use super::routing::finish;
use crate::core::Core;
use crate::lock::lock;
use crate::violation::Violation;

impl Receiver {
    /// Begins the end of a stream, which counts only once all data sent before it was received;
    /// some of that may be in the socket.
    pub(super) fn begin_closing(&mut self, core: &Core, id: u32) {
        let stream = lock(&core.table).get(id).cloned();
        // Once, however often the peer sends it.
        self.closing.extend(stream.filter(|stream| !stream.ending.swap(true, Ordering::Relaxed)));
    }

    /// Ends the streams whose end was seen, after reading the bytes that were in the socket by
    /// then. Bytes that a peer sends later, and further ends, are left to the next read, which the
    /// socket's readiness causes; so is everything while the limit of unread bytes is reached.
    pub(super) fn finish_closing(&mut self, core: &Core) -> Result<(), Violation> {
        if self.closing.is_empty() && self.ending.is_empty() {
            return Ok(());
        }
        self.note_closing(core);
        let due = self.ending.back().map_or(0, |&(due, _)| due);
        while self.bytes_read < due && !core.is_overfull() {
            match self.read(core, RecvFlags::DONTWAIT) {
                Ok(count) if count > 0 => self.handle_all(core)?,
                // Nothing is left, whatever was counted.
                Err(Errno::AGAIN) => {
                    let all = self.bytes_read;
                    self.ending.iter_mut().for_each(|(due, _)| *due = all.min(*due));
                    break;
                }
                // The end of the socket is left to the next reader.
                _ => break,
            }
        }
        self.note_closing(core);
        let counts = self.ending.partition_point(|(due, _)| *due <= self.bytes_read);
        self.ending.drain(..counts).for_each(|(_, stream)| finish(core, &stream));
        Ok(())
    }

    /// Counts the bytes in the socket before the ends that were just seen.
    fn note_closing(&mut self, core: &Core) {
        if self.closing.is_empty() {
            return;
        }
        // It cannot fail on a socket.
        let unread = ioctl_fionread(core.socket()).unwrap_or(0);
        let due = self.bytes_read + unread;
        self.ending.extend(self.closing.drain(..).map(|stream| (due, stream)));
    }

    /// Returns the number of ends that were seen and do not count yet.
    #[cfg(test)]
    pub(crate) fn ends_remembered(&self) -> usize {
        self.closing.len() + self.ending.len()
    }
}
