//! How an endpoint waits for its peer, and notices that it is gone.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::task::Waker;

use super::Endpoint;
use crate::counters::Counter;
use crate::doorbell::SocketError;
use crate::ring::Want;
use crate::ring::layout::CPU_AT;
use crate::violation::Violation;
use breezeway_os::{Deadline, Notifier, cpu};
use rustix::io::Errno;
use std::sync::atomic::Ordering;

impl Endpoint {
    /// The session socket, to be watched by a [`Sleeper`](breezeway_os::Sleeper), each of whose
    /// events is passed on to [`Self::note_readable`]. Nobody else may read or write it.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.doorbell.as_fd()
    }

    /// Whether what is wanted has come.
    #[inline(always)]
    pub fn has(&mut self, want: Want) -> Result<bool, Violation> {
        Ok(self.rings.has(want)? || (matches!(want, Want::Memory { .. }) && self.returned.is_any()))
    }

    /// What a wait for more payload memory than there is now waits for.
    #[inline]
    pub fn more_memory(&self) -> Want {
        Want::Memory { consumed: self.known_consumed(), back: self.rings.lent.back() }
    }

    /// Notes that an event has reported the socket readable. It is read empty before the next
    /// sleep: a full socket would report no further byte, and the peer's own end may lie there.
    pub fn note_readable(&mut self) {
        self.unread = true;
    }

    /// Returns true if the socket may hold bytes that no event will report again: after
    /// [`Self::note_readable`] until it is read empty, which fails while this process is short of
    /// descriptors or room for a segment.
    pub fn is_unread(&self) -> bool {
        self.unread
    }

    /// Announces that this side is about to sleep until what is wanted comes, and polls for it once
    /// more. True if it has not come: then a doorbell byte will arrive on the socket when it does.
    /// A second call for another want may read the byte that the first one left: ask [`Self::has`]
    /// for the first again.
    pub fn prepare_sleep(&mut self, want: Want) -> Result<bool, SocketError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked);
        }
        if self.lender.segments.have_grown() {
            self.tidy()?;
        }
        self.note_cpu();
        if self.unread {
            self.drain()?;
        }
        let due = self.rings.announce(want);
        self.ring_if(due)?;
        if self.has(want)? || self.is_closed() || !self.arm_return(want)? {
            return Ok(false);
        }
        self.counters.add(Counter::Sleeps, 1);
        self.note_lent();
        self.meter.sleeps(want.into());
        Ok(true)
    }

    /// Whether the peer still rings for what a prepared sleep for memory waits for. A reservation
    /// that finds too little looks at what was released, and takes the intent back: a thread that
    /// sleeps meanwhile has to be woken then, to announce another.
    pub fn is_release_announced(&self) -> bool {
        self.rings.lent.is_announced()
    }

    /// Whom to wake when space from [`Self::reserve_owned`] is dropped unsent while a sleep for
    /// memory is prepared: for whoever then sleeps by other means than [`Self::sleep`], which is
    /// woken by itself.
    pub fn set_return_waker(&mut self, waker: &Waker) {
        match &mut self.return_waker {
            Some(present) => present.clone_from(waker),
            None => self.return_waker = Some(waker.clone()),
        }
    }

    /// Has the next return of space that was reserved to be filled elsewhere end a sleep for
    /// memory; false if some has come back.
    fn arm_return(&mut self, want: Want) -> Result<bool, SocketError> {
        self.sleeps_for_return = false;
        if !matches!(want, Want::Memory { .. }) || self.reserved_elsewhere == 0 {
            return Ok(true);
        }
        if let Some(waker) = &self.return_waker {
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

    /// Sleeps until the doorbell rings or the peer goes: one system call without a deadline, two
    /// with one. May return early. [`Self::prepare_sleep`] comes first.
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
        self.unread = !self.doorbell.drain()?;
        Ok(())
    }

    /// Whether the peer's end of file was seen. Entries committed before it can still be taken.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.doorbell.is_closed()
    }

    /// Whether the peer is known to be gone, or to read its socket no more, so that nobody is woken
    /// by what is sent.
    #[inline]
    pub fn is_write_closed(&self) -> bool {
        self.doorbell.is_unheard()
    }

    /// Reads the socket to see whether the peer is gone, unless the peer has consumed something
    /// since the last call: for a sender that waits for no reply, now and then.
    #[cold]
    pub fn check_peer(&mut self) -> Result<(), SocketError> {
        // A flood reads the peer's progress whenever the ring seems full: mostly that is enough,
        // and spares one line's transfer.
        if self.known_consumed() == self.checked_consumed {
            self.refresh()?;
        }
        let consumed = self.known_consumed();
        let before = std::mem::replace(&mut self.checked_consumed, consumed);
        if before == consumed { self.drain() } else { Ok(()) }
    }

    /// Notes that the peer is gone, as a hang-up or an
    /// [`exit_descriptor`](breezeway_os::exit_descriptor) shows. What it committed before can still
    /// be taken.
    pub fn peer_gone(&mut self) -> Result<(), SocketError> {
        self.drain()?;
        self.doorbell.peer_gone();
        Ok(())
    }

    /// Publishes on which CPU this side waits, for [`Self::shares_cpu`] on the other side.
    #[inline]
    pub fn note_cpu(&self) {
        let now = cpu::current() as u64 + 1;
        let word = self.own.word(CPU_AT);
        if word.load(Ordering::Relaxed) != now {
            word.store(now, Ordering::Relaxed);
        }
    }

    /// Whether the peer last waited on the CPU that this thread runs on: then it cannot answer
    /// while we spin. A lie costs one bounded spin.
    pub fn shares_cpu(&self) -> bool {
        self.peer.load(CPU_AT) == cpu::current() as u64 + 1
    }
}
