//! Waiting for a message on a socket, by the wait policy.

use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use breezeway_os::{Deadline, WaitPolicy, clock};
use breezeway_shm::statistics::{Field, WaitsFor};
use rustix::event::PollFlags;

use super::SocketLink;
use crate::carrier::{LinkError, Notice, Status};

impl SocketLink {
    /// Returns the socket. Only the link reads or writes it.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns the status: the peer is closed once its end of file was seen, and gone after a
    /// hang-up or a failed write too.
    #[inline(always)]
    pub(crate) fn status(&self) -> Status {
        Status {
            closed: self.closed,
            gone: self.closed || self.gone || self.write_closed,
            reads: !self.write_closed,
            unread: false,
            unwritten: self.unwritten(),
            backlogged: self.is_backlogged(),
            announces_room: true,
        }
    }

    /// Takes note of the begin of a turn, or of an event of the socket.
    #[inline(always)]
    pub(crate) fn notice(&mut self, notice: Notice) {
        self.may_read = true;
        self.gone |= notice == Notice::PeerGone;
    }

    /// Sleeps until one of the `wanted` events has occurred, or the peer is gone; returns the
    /// events.
    pub(super) fn poll(
        &self,
        wanted: PollFlags,
        deadline: Deadline,
    ) -> Result<PollFlags, LinkError> {
        match self.socket.poll(wanted, deadline)? {
            found if found.is_empty() => Err(LinkError::DeadlinePassed),
            found => Ok(found),
        }
    }

    /// Returns true if nothing is left to be done until the socket is ready.
    pub(crate) fn may_sleep(&self) -> Result<bool, LinkError> {
        Ok(!self.may_read && (self.is_backlogged() || !(self.closed || self.has_frame()?)))
    }

    /// Waits for a message according to the wait policy.
    pub(crate) fn wait(&mut self, deadline: Deadline) -> Result<(), LinkError> {
        if self.has_frame()? {
            return Ok(());
        }
        let start = clock::ticks();
        let ticks = self.spinner.ticks(|| false);
        let came = self.spinner.policy() != WaitPolicy::Park
            && self.spin_counted(start, ticks, deadline)?;
        if !came {
            let outcome = self.sleep(deadline);
            self.meter.waited();
            outcome?;
        }
        self.spinner.learn(clock::ticks().wrapping_sub(start));
        Ok(())
    }

    /// Reads without sleeping, and counts the result.
    fn spin_counted(
        &mut self,
        start: u64,
        ticks: u64,
        deadline: Deadline,
    ) -> Result<bool, LinkError> {
        let came = self.spin(start, ticks, deadline)?;
        let took = clock::nanoseconds(clock::ticks().wrapping_sub(start));
        self.meter.add(Field::SpinTime, took);
        self.meter.add(Field::Spun, u64::from(came));
        Ok(came)
    }

    /// Reads without sleeping for at most `ticks`, and once more after yielding the CPU. Returns
    /// true if a message has come.
    fn spin(&mut self, start: u64, ticks: u64, deadline: Deadline) -> Result<bool, LinkError> {
        loop {
            if self.advance(false, deadline)? {
                return Ok(true);
            }
            let now = clock::ticks();
            if deadline.has_passed_at(now) {
                return Err(LinkError::DeadlinePassed);
            }
            let spent = now.wrapping_sub(start) >= ticks;
            if self.spinner.policy() == WaitPolicy::Adaptive {
                // A peer on this CPU can answer; on another CPU this costs less than a read.
                thread::yield_now();
            }
            if spent {
                return self.advance(false, deadline);
            }
        }
    }

    /// Sleeps until a message has come.
    fn sleep(&mut self, deadline: Deadline) -> Result<(), LinkError> {
        self.meter.sleeps(WaitsFor::Data);
        loop {
            let blocking = deadline == Deadline::NEVER && self.unwritten() == 0;
            if !blocking && !self.socket.has_buffered() {
                let mut wanted = PollFlags::IN;
                wanted.set(PollFlags::OUT, self.unwritten() > 0);
                self.poll(wanted, deadline)?;
            }
            if self.advance(blocking, deadline)? {
                return Ok(());
            }
        }
    }

    /// Moves bytes both ways once. Returns true if a message has come.
    fn advance(&mut self, blocking: bool, deadline: Deadline) -> Result<bool, LinkError> {
        if self.unwritten() > 0 {
            self.write()?;
        }
        self.read_until(deadline, blocking)?;
        if self.has_frame()? {
            return Ok(true);
        }
        if self.closed { Err(LinkError::Closed) } else { Ok(false) }
    }
}
