//! One process's end of a session whose messages travel on a socket (`docs/abi.md`, section 8).

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

use breezeway_os::spin::SpinBudget;
use breezeway_os::{Origin, WaitPolicy, Waiting, clock, cpu};
use breezeway_shm::{ForeignBytes, Head, PublishError, ReserveError, SocketError};
use rustix::event::PollFlags;

use super::frame::{self, LONGEST_BODY};
use super::inbox::Inbox;
use super::outbox::{LARGE, Outbox, Slices};
use super::stream::{Read, Stream, Write};
use super::{LinkError, WaitFailure};
use crate::carrier::Carrier;
use crate::protocol::PeerHead;

/// Unwritten bytes from which a message waits until earlier ones are out.
const CLOGGED: usize = 64 * 1024;

/// A socket with what has come and what is to go out.
pub(crate) struct SocketLink {
    origin: Origin,
    stream: Stream,
    carrier: Carrier,
    policy: WaitPolicy,
    budget: SpinBudget,
    cap: usize,
    inbox: Inbox,
    outbox: Outbox,
    /// The current frame's head, if one was taken and not finished.
    current: Option<PeerHead>,
    /// Space reserved for the next message.
    space: Option<Vec<u8>>,
    /// Whether a read may find something: after one that did not fill its room, only what wakes a sleeper.
    may_read: bool,
    /// Whether the peer's end of file was seen.
    closed: bool,
    /// Whether the peer's process is gone: what it has sent is still there, and no more will come.
    gone: bool,
    /// Whether the peer reads no more: what is written goes nowhere, and its end of file tells.
    deaf: bool,
}

impl SocketLink {
    pub(crate) fn new(socket: OwnedFd, carrier: Carrier, cap: u64, waiting: Waiting) -> Self {
        clock::calibrate();
        Self {
            origin: Origin::here(),
            stream: Stream::new(socket, carrier),
            carrier,
            policy: waiting.policy,
            budget: SpinBudget::new(clock::ticks_in(waiting.spin_bound)),
            cap: usize::try_from(cap.min(LONGEST_BODY)).unwrap_or(usize::MAX),
            inbox: Inbox::new(),
            outbox: Outbox::default(),
            current: None,
            space: None,
            may_read: true,
            closed: false,
            gone: false,
            deaf: false,
        }
    }

    pub(crate) fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// The largest message.
    pub(crate) fn cap(&self) -> usize {
        self.cap
    }

    // ---- sending ----

    /// Takes space for a message of `len` bytes.
    pub(crate) fn reserve(&mut self, len: usize) -> Result<(), ReserveError> {
        self.abandon();
        if !self.origin.is_here() {
            return Err(ReserveError::Forked);
        }
        if len > self.cap {
            return Err(ReserveError::TooLarge { len, cap: self.cap });
        }
        self.space = Some(self.outbox.space(len));
        Ok(())
    }

    /// The bytes of reserved space.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.space.as_deref_mut().unwrap_or_default()
    }

    /// The current message's body and the bytes of reserved space.
    pub(crate) fn body_and_bytes_mut(&mut self) -> (ForeignBytes<'_>, &mut [u8]) {
        let body = ForeignBytes::stable(self.inbox.body());
        (body, self.space.as_deref_mut().unwrap_or_default())
    }

    /// Gives reserved space back.
    pub(crate) fn abandon(&mut self) {
        if let Some(space) = self.space.take() {
            self.outbox.give_back(space);
        }
    }

    /// Puts a message into the outbox, from where [`Self::write`] takes it.
    pub(crate) fn publish(&mut self, head: Head, body: &[u8]) -> Result<(), PublishError> {
        self.may_publish()?;
        self.outbox.push(&frame::encode(head, body.len()));
        self.outbox.push(body);
        Ok(())
    }

    /// Sends reserved space as a message. On an error the space stays.
    pub(crate) fn publish_space(&mut self, head: Head) -> Result<(), PublishError> {
        self.may_publish()?;
        let space = self.space.take().expect("space is published once");
        self.outbox.push(&frame::encode(head, space.len()));
        self.outbox.push_space(space);
        Ok(())
    }

    /// Sends a message from where it lies: what the socket takes at once is not copied.
    pub(crate) fn publish_from(
        &mut self,
        head: Head,
        body: &[u8],
    ) -> Result<Result<(), PublishError>, LinkError> {
        if body.len() < LARGE {
            return Ok(self.publish(head, body));
        }
        if let Err(error) = self.may_publish() {
            return Ok(Err(error));
        }
        self.outbox.push(&frame::encode(head, body.len()));
        let written = write(&self.stream, &mut self.outbox, &mut self.deaf, body)?;
        self.outbox.push(&body[written..]);
        Ok(Ok(()))
    }

    /// Sends the current message's own body back, from where it lies.
    pub(crate) fn publish_body(
        &mut self,
        head: Head,
    ) -> Result<Result<(), PublishError>, LinkError> {
        if let Err(error) = self.may_publish() {
            return Ok(Err(error));
        }
        let body = self.inbox.body();
        self.outbox.push(&frame::encode(head, body.len()));
        let written = if body.len() < LARGE {
            0
        } else {
            write(&self.stream, &mut self.outbox, &mut self.deaf, body)?
        };
        self.outbox.push(&body[written..]);
        Ok(Ok(()))
    }

    fn may_publish(&self) -> Result<(), PublishError> {
        if !self.origin.is_here() {
            return Err(PublishError::Forked);
        }
        if self.is_clogged() { Err(PublishError::Full) } else { Ok(()) }
    }

    /// Whether so much is still to be written that nothing should be added.
    pub(crate) fn is_clogged(&self) -> bool {
        self.outbox.len() >= CLOGGED
    }

    /// Whether the peer reads no more.
    pub(crate) fn is_deaf(&self) -> bool {
        self.deaf
    }

    /// Whether something is still to be written.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.outbox.len() > 0
    }

    /// Writes what the socket takes.
    pub(crate) fn write(&mut self) -> Result<(), LinkError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked.into());
        }
        write(&self.stream, &mut self.outbox, &mut self.deaf, &[]).map(drop)
    }

    /// Writes what the socket takes. Where that leaves too much, nothing is to be read either, until an event makes somebody look again.
    pub(crate) fn write_or_rest(&mut self) -> Result<(), LinkError> {
        self.write()?;
        self.may_read &= !self.is_clogged();
        Ok(())
    }

    /// Writes everything, sleeping for room; reads meanwhile, so that a peer that waits for its own room gets it. Leaves the rest
    /// to the next wait when as much has come as may lie here.
    pub(crate) fn write_all(&mut self, deadline: Option<u64>) -> Result<(), WaitFailure> {
        loop {
            self.write()?;
            if !self.has_unwritten() || self.inbox.len() > 2 * self.cap + CLOGGED {
                return Ok(());
            }
            // An end of file stays readable for ever, and would end each sleep at once.
            let wanted = if self.closed { PollFlags::OUT } else { PollFlags::IN | PollFlags::OUT };
            self.stream.poll(wanted, time_left(deadline)?)?;
            if !self.closed {
                self.read(false)?;
            }
        }
    }

    // ---- receiving ----

    /// Says that a read may find something.
    pub(crate) fn look(&mut self) {
        self.may_read = true;
    }

    /// One read into the inbox.
    fn read(&mut self, blocking: bool) -> Result<(), LinkError> {
        let room = self.inbox.room(self.cap);
        let size = room.len();
        match self.stream.read(room, blocking)? {
            Read::Bytes(len) => {
                self.inbox.filled(len);
                // No further event tells of the end behind these bytes.
                self.may_read = len == size || self.gone;
            }
            Read::Nothing => {
                self.may_read = false;
                self.closed |= self.gone;
            }
            Read::End => {
                self.may_read = false;
                self.closed = true;
            }
        }
        Ok(())
    }

    /// Whether a whole message is there.
    pub(crate) fn has_frame(&self) -> Result<bool, LinkError> {
        Ok(self.inbox.has_frame(self.cap)?)
    }

    /// Takes the next message, if all of it has come.
    pub(crate) fn take(&mut self) -> Result<bool, LinkError> {
        if self.current.is_some() {
            return Ok(true);
        }
        if !self.origin.is_here() {
            return Err(SocketError::Forked.into());
        }
        loop {
            self.current = self.inbox.next(self.cap)?;
            if self.current.is_some() {
                return Ok(true);
            }
            if !self.may_read || self.closed {
                return Ok(false);
            }
            self.read(false)?;
        }
    }

    /// The current message's head.
    pub(crate) fn head(&self) -> PeerHead {
        self.current.unwrap_or_default()
    }

    /// The current message's body.
    pub(crate) fn body(&self) -> ForeignBytes<'_> {
        ForeignBytes::stable(self.inbox.body())
    }

    /// Forgets the current message.
    pub(crate) fn finish(&mut self) {
        if self.current.take().is_some() {
            self.inbox.finish();
        }
    }

    // ---- waiting ----

    /// The socket. Nobody else may read or write it.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Whether the peer's end of file was seen. What it sent before can still be taken.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Notes that the peer is gone, as a hang-up or its exit told. What it sent before can still be taken.
    pub(crate) fn peer_gone(&mut self) {
        self.gone = true;
        self.may_read = true;
    }

    /// Whether nothing is left to be done until the socket rings.
    pub(crate) fn may_sleep(&self) -> Result<bool, LinkError> {
        Ok(!self.may_read && (self.is_clogged() || !(self.closed || self.has_frame()?)))
    }

    /// Waits for a message, as the wait policy says.
    pub(crate) fn wait(&mut self, deadline: Option<u64>) -> Result<(), WaitFailure> {
        if self.has_frame()? {
            return Ok(());
        }
        let start = clock::ticks();
        let spin = match self.policy {
            WaitPolicy::Park => None,
            WaitPolicy::Busy => Some(u64::MAX),
            WaitPolicy::Adaptive if cpu::spinning_pays() => Some(self.budget.ticks()),
            WaitPolicy::Adaptive => Some(0),
        };
        let came = match spin {
            Some(ticks) => self.spin(start, ticks, deadline)?,
            None => false,
        };
        if !came {
            self.sleep(deadline)?;
        }
        self.budget.learn(clock::ticks().wrapping_sub(start));
        Ok(())
    }

    /// Reads without sleeping for at most `ticks`, and once more after yielding the CPU; true if a message has come.
    fn spin(&mut self, start: u64, ticks: u64, deadline: Option<u64>) -> Result<bool, WaitFailure> {
        loop {
            if self.advance(false)? {
                return Ok(true);
            }
            let now = clock::ticks();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Err(WaitFailure::DeadlinePassed);
            }
            let over = now.wrapping_sub(start) >= ticks;
            if self.policy == WaitPolicy::Adaptive {
                // A peer on this CPU gets to answer; elsewhere this costs less than a read.
                thread::yield_now();
            }
            if over {
                return self.advance(false);
            }
        }
    }

    /// Sleeps until a message has come.
    fn sleep(&mut self, deadline: Option<u64>) -> Result<(), WaitFailure> {
        loop {
            let blocking = deadline.is_none() && !self.has_unwritten();
            if !blocking {
                let mut wanted = PollFlags::IN;
                wanted.set(PollFlags::OUT, self.has_unwritten());
                self.stream.poll(wanted, time_left(deadline)?)?;
            }
            if self.advance(blocking)? {
                return Ok(());
            }
        }
    }

    /// Moves bytes both ways once; true if a message has come.
    fn advance(&mut self, blocking: bool) -> Result<bool, WaitFailure> {
        if self.has_unwritten() {
            self.write()?;
        }
        self.read(blocking)?;
        if self.has_frame()? {
            return Ok(true);
        }
        if self.closed { Err(WaitFailure::Closed) } else { Ok(false) }
    }
}

impl Drop for SocketLink {
    fn drop(&mut self) {
        if self.origin.is_here() {
            self.stream.shut_down();
        }
    }
}

/// Writes the outbox and then `more`, as far as the socket takes it; gives how much of `more` is out.
fn write(
    stream: &Stream,
    outbox: &mut Outbox,
    deaf: &mut bool,
    more: &[u8],
) -> Result<usize, LinkError> {
    let mut done = 0;
    while outbox.len() > 0 || done < more.len() {
        if *deaf {
            outbox.clear();
            return Ok(more.len());
        }
        let mut slices: Slices<'_> = std::array::from_fn(|_| IoSlice::new(&[]));
        let count = outbox.gather(&more[done..], &mut slices);
        match stream.write(&slices[..count])? {
            Write::Bytes(len) => done += outbox.wrote(len),
            Write::Full => break,
            Write::End => *deaf = true,
        }
    }
    Ok(done)
}

/// The time until a deadline in clock ticks; none without one.
fn time_left(deadline: Option<u64>) -> Result<Option<Duration>, WaitFailure> {
    let Some(deadline) = deadline else { return Ok(None) };
    match deadline.checked_sub(clock::ticks()) {
        None | Some(0) => Err(WaitFailure::DeadlinePassed),
        Some(left) => Ok(Some(Duration::from_nanos(clock::nanoseconds(left)))),
    }
}
