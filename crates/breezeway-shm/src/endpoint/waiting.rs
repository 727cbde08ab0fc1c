//! Waiting for the peer, and detecting that it is gone.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::task::Waker;

use super::Endpoint;
use crate::doorbell::SocketError;
use crate::ring::Want;
use crate::ring::layout::CPU_AT;
use crate::violation::Violation;
use breezeway_os::{Deadline, Notifier, cpu};
use rustix::io::Errno;
use std::sync::atomic::Ordering;

/// Content of the session socket that no event will report again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unread {
    Nothing,
    /// Bytes, none of them urgent, and not the peer's end.
    Bytes,
    /// Anything.
    Any,
}

impl Endpoint {
    /// Returns the session socket, to be watched by a [`Sleeper`](breezeway_os::Sleeper). Each
    /// event must be passed on to [`Self::note_readable`] or [`Self::note_bytes`]. Only the
    /// endpoint may read or write the socket.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.doorbell.as_fd()
    }

    /// Returns true if the condition `want` holds.
    #[inline(always)]
    pub fn has(&mut self, want: Want) -> Result<bool, Violation> {
        if let Want::Memory { .. } = want {
            self.collect_returned();
        }
        self.rings.has(want)
    }

    /// Returns the wait condition for more payload memory than there is now.
    #[inline]
    pub fn more_memory(&self) -> Want {
        Want::Memory { consumed: self.known_consumed(), back: self.rings.lent.back() }
    }

    /// Notes that an event has reported the socket readable. The socket is read empty before the
    /// next sleep: a full socket would report no further byte, and the peer's end of file may be in
    /// it.
    pub fn note_readable(&mut self) {
        self.unread = Unread::Any;
    }

    /// Notes, like [`note_readable`](Self::note_readable), an edge-triggered event that has
    /// reported neither the peer's end nor an urgent byte (`EPOLLRDHUP`, `EPOLLPRI`). Whatever
    /// came behind it makes another event, so that mostly one read suffices.
    pub fn note_bytes(&mut self) {
        self.unread = self.unread.max(Unread::Bytes);
    }

    /// Returns true if the socket may hold bytes that no event will report again: after an event
    /// was noted until it is read, which fails while this process is short of descriptors or room
    /// for a segment.
    #[inline]
    pub fn is_unread(&self) -> bool {
        self.unread != Unread::Nothing
    }

    /// Announces that this side is about to sleep until `want` holds, and polls for it once more.
    /// Returns true if it does not hold: then a doorbell byte will arrive on the socket when it
    /// does. A second call for another condition may read the byte that the first one caused: check
    /// [`Self::has`] for the first condition again.
    ///
    /// `waker` is for owned space (see [`Self::reserve_owned`]) that is dropped unsent during a
    /// sleep for memory. A driver that does not sleep by [`Self::sleep`], which ends without it,
    /// needs one.
    pub fn prepare_sleep(
        &mut self,
        want: Want,
        waker: Option<&Waker>,
    ) -> Result<bool, SocketError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked);
        }
        if self.lender.segments.have_grown() {
            self.tidy()?;
        }
        self.note_cpu();
        self.read_unread()?;
        let due = self.rings.announce(want);
        self.ring_if(due)?;
        if self.has(want)? || self.is_closed() || !self.arm_return(want, waker)? {
            return Ok(false);
        }
        self.note_lent();
        self.meter.sleeps(want.into());
        Ok(true)
    }

    /// Returns true if the peer still rings for the wait that a prepared sleep for memory
    /// announced. A reservation that finds too little memory collects releases and withdraws the
    /// announcement: a thread that is asleep must then be woken to announce another one.
    #[inline]
    pub fn is_release_announced(&self) -> bool {
        self.rings.lent.is_announced()
    }

    /// Arranges that the next returned owned space ends a sleep for memory. Returns false if some
    /// has already come back.
    fn arm_return(&mut self, want: Want, waker: Option<&Waker>) -> Result<bool, SocketError> {
        self.sleeps_for_return = false;
        if !matches!(want, Want::Memory { .. }) || self.reserved_elsewhere == 0 {
            return Ok(true);
        }
        if let Some(waker) = waker {
            return Ok(self.returned.wake(waker));
        }
        if self.return_notifier.is_none() {
            let notifier = Notifier::new().map_err(|error| {
                SocketError::Call(Errno::from_io_error(&error).unwrap_or(Errno::IO))
            })?;
            self.return_notifier = Some(Arc::new(notifier));
        }
        let Some(notifier) = &self.return_notifier else { unreachable!("made above") };
        self.sleeps_for_return = true;
        Ok(self.returned.wake(&Waker::from(Arc::clone(notifier))))
    }

    /// Sleeps until the doorbell rings or the peer closes: one system call without a deadline, two
    /// with one. May return early. [`Self::prepare_sleep`] must come first.
    pub fn sleep(&mut self, deadline: Deadline) -> Result<(), SocketError> {
        if self.sleeps_for_return
            && let Some(notifier) = &self.return_notifier
        {
            let outcome = self.doorbell.sleep_beside(notifier.as_fd(), deadline);
            notifier.clear();
            return outcome;
        }
        match deadline.time_left() {
            None => self.doorbell.sleep(),
            Some(left) => self.doorbell.sleep_for(left),
        }
    }

    /// Reads the socket empty and notes whether the peer is gone.
    pub fn drain(&mut self) -> Result<(), SocketError> {
        let is_read = self.doorbell.drain()?;
        self.note_read(is_read);
        Ok(())
    }

    /// Reads what the noted events have reported.
    #[inline]
    pub fn read_unread(&mut self) -> Result<(), SocketError> {
        match self.unread {
            Unread::Nothing => Ok(()),
            Unread::Bytes => {
                let is_read = self.doorbell.read_event()?;
                self.note_read(is_read);
                Ok(())
            }
            Unread::Any => self.drain(),
        }
    }

    fn note_read(&mut self, is_read: bool) {
        self.unread = if is_read { Unread::Nothing } else { Unread::Any };
    }

    /// Returns true after the peer's end of file was read. Entries committed before it can still be
    /// taken.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.doorbell.is_closed()
    }

    /// Returns true if the peer is known to be gone, or to read its socket no more, so that sending
    /// wakes it no longer.
    #[inline]
    pub fn is_write_closed(&self) -> bool {
        self.doorbell.is_unheard()
    }

    /// Reads the socket to detect that the peer is gone, unless the peer has consumed entries since
    /// the last call. For a sender that waits for no reply, at intervals.
    #[cold]
    pub fn check_peer(&mut self) -> Result<(), SocketError> {
        // A flood of messages reads the peer's progress whenever the ring seems full: that is
        // usually enough and avoids a cache-line transfer.
        if self.known_consumed() == self.checked_consumed {
            self.refresh()?;
        }
        let consumed = self.known_consumed();
        let before = std::mem::replace(&mut self.checked_consumed, consumed);
        if before == consumed { self.drain() } else { Ok(()) }
    }

    /// Marks the peer as gone, after a hang-up or an event on its
    /// [`exit_descriptor`](breezeway_os::exit_descriptor). Entries that it committed before can
    /// still be taken.
    pub fn peer_gone(&mut self) -> Result<(), SocketError> {
        self.drain()?;
        self.doorbell.peer_gone();
        Ok(())
    }

    /// Publishes the CPU on which this side waits, for [`Self::shares_cpu`] on the other side.
    #[inline]
    pub fn note_cpu(&self) {
        let now = cpu::current() as u64 + 1;
        let word = self.own.word(CPU_AT);
        if word.load(Ordering::Relaxed) != now {
            word.store(now, Ordering::Relaxed);
        }
    }

    /// Returns true if the peer last waited on the CPU that this thread runs on: then it cannot
    /// answer while this thread spins. A false claim by the peer costs one bounded spin.
    pub fn shares_cpu(&self) -> bool {
        self.peer.load(CPU_AT) == cpu::current() as u64 + 1
    }
}
