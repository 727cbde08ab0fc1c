//! One process's end of a session whose messages travel on a socket (`docs/abi.md`, section 8).

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use breezeway_os::segment::SegmentError;
use breezeway_os::spin::SpinBudget;
use breezeway_os::{Deadline, Origin, WaitPolicy, Waiting, clock, cpu, ready};
use breezeway_proto::frame::{self, LONGEST_BODY};
use breezeway_proto::{Head, RawHead};
use breezeway_shm::statistics::{Field, Meter, WaitsFor};
use breezeway_shm::{Filling, ForeignBytes, Message, SendError, SocketError, Want};
use rustix::event::PollFlags;
use rustix::io::ioctl_fionread;

use super::error::Unreceived;
use super::receive_buffer::ReceiveBuffer;
use super::send_buffer::{CHUNK, LARGE, SendBuffer, Slices};
use super::stream_socket::{Read, StreamSocket, Write};
use super::{Body, LinkError, Notice, WaitFailure};
use crate::carrier::Carrier;
use crate::wire::Wire;

/// Unwritten bytes from which a message waits until earlier ones are out.
const MAX_UNWRITTEN: usize = 64 * 1024;
/// Limit of bytes within TLS that one poll for a message reads and that bring no plaintext.
const MAX_WITHOUT_PLAINTEXT: usize = 64 * 1024;
/// Time for which a message that has begun waits for private memory.
pub(crate) const SHORTAGE_PATIENCE: Duration = Duration::from_secs(1);

/// A socket with its received and its unsent bytes.
pub(crate) struct SocketLink {
    pub(super) origin: Origin,
    socket: StreamSocket,
    carrier: Carrier,
    policy: WaitPolicy,
    budget: SpinBudget,
    cap: usize,
    received: ReceiveBuffer,
    unsent: SendBuffer,
    /// The current frame's head, if one was taken and not finished.
    current: Option<RawHead>,
    /// Space reserved for the next message.
    space: Option<Vec<u8>>,
    /// True if a read may find something: after a read that did not fill its room, only an event
    /// that wakes a sleeper sets this.
    may_read: bool,
    /// True if the peer's end of file was seen.
    closed: bool,
    /// True if the peer's process is gone: bytes that it has sent are still there, and no more will
    /// come.
    gone: bool,
    /// True if the peer reads no more: written bytes are lost, and its end of file follows.
    write_closed: bool,
    /// End of the wait for memory of the frame that has begun; set while there is none for it.
    short_until: Option<Deadline>,
    /// A message that found no memory in time.
    unreceived: Option<Unreceived>,
    /// Meter of the session.
    pub(super) meter: Meter,
}

impl SocketLink {
    pub(crate) fn new(
        wire: Wire,
        carrier: Carrier,
        cap: u64,
        waiting: Waiting,
        meter: Meter,
    ) -> Self {
        clock::calibrate();
        Self {
            origin: Origin::here(),
            socket: StreamSocket::new(wire, carrier),
            carrier,
            policy: waiting.policy,
            budget: SpinBudget::new(clock::ticks_in(waiting.spin_bound)),
            cap: usize::try_from(cap.min(LONGEST_BODY)).unwrap_or(usize::MAX),
            received: ReceiveBuffer::new(),
            unsent: SendBuffer::default(),
            current: None,
            space: None,
            may_read: true,
            closed: false,
            gone: false,
            write_closed: false,
            short_until: None,
            unreceived: None,
            meter,
        }
    }

    pub(super) fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Returns the size of the largest message.
    pub(super) fn cap(&self) -> usize {
        self.cap
    }

    // ---- sending ----

    /// Reserves space for a message of `len` bytes.
    pub(super) fn reserve(&mut self, len: usize) -> Result<(), SendError> {
        self.abandon();
        if !self.origin.is_here() {
            return Err(SocketError::Forked.into());
        }
        self.check_len(len)?;
        if len > CHUNK {
            // Bytes that were just read there are in the caches.
            let larger = |own: &[u8], spare: &[u8]| own.len() >= len && own.len() > spare.len();
            self.received.exchange(self.unsent.spare(), larger);
        }
        self.space = Some(self.unsent.space(len)?);
        Ok(())
    }

    pub(super) fn check_len(&self, len: usize) -> Result<(), SendError> {
        let cap = self.cap;
        if len > cap { Err(SendError::TooLarge { len, cap }) } else { Ok(()) }
    }

    /// Returns the reserved space and the current message's body.
    pub(super) fn fill(&mut self) -> Filling<'_> {
        let received = ForeignBytes::stable(self.received.body());
        Filling::private(received, self.space.as_deref_mut().unwrap_or_default())
    }

    /// Keeps the first `len` bytes of the reserved space, if there are more.
    pub(super) fn truncate(&mut self, len: usize) {
        if let Some(space) = &mut self.space {
            space.truncate(len);
        }
    }

    /// Gives reserved space back.
    pub(super) fn abandon(&mut self) {
        if let Some(space) = self.space.take() {
            self.unsent.give_back(space);
        }
    }

    /// Sends a message. The part of a large one that the socket takes at once is written without a
    /// copy; the rest is kept for [`Self::write_now`].
    pub(super) fn send(&mut self, head: Head, body: Body<'_>) -> Result<(), SendError> {
        self.check_sending()?;
        match body {
            Body::Bytes(bytes) => {
                self.check_len(bytes.len())?;
                self.send_bytes(head, bytes)
            }
            Body::Space => {
                let space = self.space.take().expect("space is sent once");
                self.push_body(head, space);
                Ok(())
            }
            Body::Received => self.send_back(head),
        }
    }

    /// Adds a frame. A large body is written without a copy.
    pub(super) fn push_body(&mut self, head: Head, body: Vec<u8>) {
        self.count_sent(head, body.len());
        self.unsent.push(&frame::encode(head, body.len()));
        self.unsent.push_space(body);
    }

    pub(super) fn check_sending(&self) -> Result<(), SendError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked.into());
        }
        // The consumption of a socket's peer is not counted.
        let full = SendError::Full { unconsumed: 0, until: Want::Consumed(0) };
        if self.is_backlogged() {
            self.meter.add(Field::RingFull, 1);
            return Err(full);
        }
        Ok(())
    }

    fn count_sent(&self, head: Head, len: usize) {
        self.meter.sent(head.kind as u8, head.flags.bits(), len);
    }

    fn send_bytes(&mut self, head: Head, bytes: &[u8]) -> Result<(), SendError> {
        // Bytes that the socket does not take are kept: from the header's first byte on they must
        // be.
        if bytes.len() >= LARGE {
            self.unsent.reserve(bytes.len())?;
        }
        self.count_sent(head, bytes.len());
        self.unsent.push(&frame::encode(head, bytes.len()));
        let written = if bytes.len() < LARGE {
            0
        } else {
            write(&mut self.socket, &mut self.unsent, &mut self.write_closed, bytes)?
        };
        self.unsent.push_reserved(&bytes[written..]);
        Ok(())
    }

    /// Sends the current message's own body back.
    fn send_back(&mut self, head: Head) -> Result<(), SendError> {
        let len = self.received.body().len();
        if len >= LARGE {
            self.received.reserve_copy(self.unsent.spare())?;
        }
        self.meter.sent(head.kind as u8, head.flags.bits(), len);
        self.unsent.push(&frame::encode(head, len));
        let body = self.received.body();
        let written = if len < LARGE {
            0
        } else {
            write(&mut self.socket, &mut self.unsent, &mut self.write_closed, body)?
        };
        if len - written < LARGE {
            self.unsent.push(&body[written..]);
            return Ok(());
        }
        let (bytes, rest) = self.received.take_body(len - written);
        self.current = None;
        self.unsent.push_rest(bytes, rest);
        Ok(())
    }

    /// Returns true if so much is unwritten that nothing should be added.
    pub(super) fn is_backlogged(&self) -> bool {
        self.unsent.len() >= MAX_UNWRITTEN
    }

    /// Returns true if the peer reads no more.
    pub(super) fn is_write_closed(&self) -> bool {
        self.write_closed
    }

    /// Returns the number of bytes that are still to be written; those within TLS count as one.
    pub(super) fn unwritten(&self) -> usize {
        self.unsent.len() + usize::from(self.socket.has_unwritten())
    }

    /// Returns true if bytes are still to be written.
    pub(super) fn has_unwritten(&self) -> bool {
        self.unsent.len() > 0 || self.socket.has_unwritten()
    }

    fn check_origin(&self) -> Result<(), LinkError> {
        if self.origin.is_here() { Ok(()) } else { Err(LinkError::Forked) }
    }

    /// Writes as much as the socket takes.
    fn write(&mut self) -> Result<(), LinkError> {
        self.check_origin()?;
        write(&mut self.socket, &mut self.unsent, &mut self.write_closed, &[])?;
        self.meter.add(Field::Doorbells, 1);
        self.meter.set(Field::Unwritten, self.unsent.len() as u64);
        Ok(())
    }

    /// Writes as much as the socket takes. If that leaves too much, nothing is read either until
    /// the socket is reported ready.
    pub(super) fn write_now(&mut self) -> Result<(), LinkError> {
        if self.has_unwritten() {
            self.write()?;
            self.may_read &= !self.is_backlogged();
        }
        Ok(())
    }

    /// Waits until messages can be sent again.
    pub(super) fn wait_for_room(&mut self, deadline: Deadline) -> Result<(), WaitFailure> {
        self.meter.waits(WaitsFor::Room);
        let outcome = self.write_all(deadline);
        self.meter.waited();
        outcome?;
        if self.is_backlogged() { Err(WaitFailure::ReceiveBufferFull) } else { Ok(()) }
    }

    /// Writes everything, sleeping for room. Reads while it waits, so that a peer that waits for
    /// its own room gets it. If the receive buffer is full, leaves the rest to the next wait.
    pub(super) fn write_all(&mut self, deadline: Deadline) -> Result<(), WaitFailure> {
        loop {
            self.write()?;
            if !self.has_unwritten() || self.received.len() > 2 * self.cap + MAX_UNWRITTEN {
                return Ok(());
            }
            // An end of file stays readable for ever, and would end each sleep at once.
            let wanted = if self.closed { PollFlags::OUT } else { PollFlags::IN | PollFlags::OUT };
            let may_read = if self.closed || !self.socket.has_buffered() {
                self.poll(wanted, deadline)? != PollFlags::OUT
            } else {
                true
            };
            if may_read && !self.closed {
                self.read_until(deadline, false)?;
            }
        }
    }

    // ---- receiving ----

    /// Reads into the buffer once. Returns the number of bytes that brought no plaintext, which
    /// only TLS has.
    fn read(&mut self, blocking: bool) -> Result<usize, LinkError> {
        // Bytes that were just written from there are in the caches, and with one call at a time
        // one body is in flight.
        self.received.exchange(self.unsent.spare(), |own, spare| spare.len() > own.len());
        let room = match self.received.room(self.cap) {
            Ok(room) => room,
            Err(error) => return self.lacks_memory(error),
        };
        self.short_until = None;
        match self.socket.read(room, blocking)? {
            Read::NoPlaintext(len) => {
                self.may_read = true;
                return Ok(len);
            }
            Read::Bytes { len, more } => {
                self.received.filled(len);
                // No further event announces the end behind these bytes.
                self.may_read = more || self.gone;
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
        Ok(0)
    }

    /// Handles a lack of memory for the next bytes. A frame that has begun waits for memory for a
    /// while, and is dropped then; before its header has come, bytes wait in the socket. Bytes of a
    /// peer that is gone are waited for as long at most, and only if the rest of a frame is there.
    #[cold]
    fn lacks_memory(&mut self, error: SegmentError) -> Result<usize, LinkError> {
        let now = || Deadline::after(Duration::ZERO);
        self.gone |= ready(self.socket(), PollFlags::RDHUP, now()).unwrap_or(false);
        let has_frame = self.current.is_some() || self.has_frame()?;
        let waits = has_frame || self.waits_for_memory();
        let is_cut = self.gone && !self.has_rest();
        if !waits
            && !is_cut
            && let Some(frame) = self.received.drop_frame(self.cap)
        {
            self.short_until = None;
            self.unreceived = Some(Unreceived { frame, error });
        } else if is_cut || self.gone && !waits {
            (self.may_read, self.closed) = (false, true);
        } else {
            return Err(LinkError::Shortage(error));
        }
        Ok(0)
    }

    /// Returns true until a shortage has lasted for too long.
    fn waits_for_memory(&mut self) -> bool {
        let until = || Deadline::after(SHORTAGE_PATIENCE);
        !self.short_until.get_or_insert_with(until).has_passed()
    }

    /// Returns true if the socket may hold the rest of the frame that has begun.
    fn has_rest(&self) -> bool {
        // TLS holds other bytes.
        self.carrier == Carrier::Tls
            || ioctl_fionread(self.socket())
                .is_ok_and(|bytes| bytes >= self.received.missing(self.cap) as u64)
    }

    /// Reads once for a waiting caller. A socket that is always readable, and brings nothing, keeps
    /// no caller beyond the deadline.
    fn read_until(&mut self, deadline: Deadline, blocking: bool) -> Result<(), WaitFailure> {
        if self.read(blocking)? > 0 && deadline.has_passed() {
            return Err(WaitFailure::DeadlinePassed);
        }
        Ok(())
    }

    /// Returns true if a whole message is there.
    pub(super) fn has_frame(&self) -> Result<bool, LinkError> {
        Ok(self.unreceived.is_some() || self.received.has_frame(self.cap)?)
    }

    /// Takes the next message, if all of it has come. An error names one that found no memory in
    /// time.
    pub(super) fn take(&mut self) -> Result<bool, LinkError> {
        if self.current.is_some() {
            return Ok(true);
        }
        self.check_origin()?;
        let mut without_plaintext = 0;
        loop {
            self.current = self.received.next(self.cap)?;
            if let Some(head) = self.current {
                let len = self.received.body().len();
                self.meter.received(head.kind, head.flags, len);
                return Ok(true);
            }
            if let Some(unreceived) = self.unreceived.take() {
                return Err(LinkError::Unreceived(unreceived));
            }
            if !self.may_read || self.closed || without_plaintext > MAX_WITHOUT_PLAINTEXT {
                return Ok(false);
            }
            without_plaintext += self.read(false)?;
        }
    }

    /// Takes the next message with the memory that [`Self::detach`] needs.
    pub(super) fn take_to_keep(&mut self) -> Result<bool, LinkError> {
        if !self.take()? {
            return Ok(false);
        }
        match self.reserve_detached() {
            Ok(()) => {
                self.short_until = None;
                Ok(true)
            }
            Err(error) if self.waits_for_memory() => Err(LinkError::Shortage(error)),
            Err(error) => {
                self.short_until = None;
                let frame = (self.head(), self.received.body().len());
                self.finish();
                Err(LinkError::Unreceived(Unreceived { frame, error }))
            }
        }
    }

    /// Returns true if a message was taken and not finished.
    pub(super) fn has_current(&self) -> bool {
        self.current.is_some()
    }

    /// Returns the current message's head.
    pub(super) fn head(&self) -> RawHead {
        self.current.unwrap_or_default()
    }

    /// Returns the current message's body.
    pub(super) fn body(&self) -> ForeignBytes<'_> {
        ForeignBytes::stable(self.received.body())
    }

    /// Takes the memory that [`Self::detach`] needs for a large message.
    pub(super) fn reserve_detached(&mut self) -> Result<(), SegmentError> {
        if self.received.body().len() < LARGE {
            return Ok(());
        }
        self.received.reserve_copy(&mut Vec::new())
    }

    /// Forgets the current message and returns its body: a large one in the memory that it came to,
    /// a smaller one as a copy.
    pub(super) fn detach(&mut self) -> Message {
        assert!(self.current.is_some(), "there is no current message to be detached");
        let len = self.received.body().len();
        if len < LARGE {
            let message = Message::from(self.received.body().to_vec());
            self.finish();
            return message;
        }
        let (bytes, body) = self.received.take_body(len);
        self.current = None;
        let mut message = Message::from(bytes);
        message.skip(body);
        message
    }

    /// Forgets the current message.
    pub(super) fn finish(&mut self) {
        if self.current.take().is_some() {
            self.received.finish();
        }
    }

    // ---- waiting ----

    /// Returns the socket. Only the link reads or writes it.
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns true if the peer's end of file was seen. Messages that it sent before can still be
    /// taken.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns true if an end of file, a hang-up or a failed write was seen.
    pub(super) fn is_peer_gone(&self) -> bool {
        self.closed || self.gone || self.write_closed
    }

    /// Takes note of an event of the socket.
    pub(super) fn notice(&mut self, notice: Notice) {
        self.may_read = true;
        self.gone |= notice == Notice::PeerGone;
    }

    /// Sleeps until one of the `wanted` events has occurred, or the peer is gone; returns the
    /// events.
    fn poll(&self, wanted: PollFlags, deadline: Deadline) -> Result<PollFlags, WaitFailure> {
        match self.socket.poll(wanted, deadline)? {
            found if found.is_empty() => Err(WaitFailure::DeadlinePassed),
            found => Ok(found),
        }
    }

    /// Returns true if nothing is left to be done until the socket is ready.
    pub(super) fn may_sleep(&self) -> Result<bool, LinkError> {
        Ok(!self.may_read && (self.is_backlogged() || !(self.closed || self.has_frame()?)))
    }

    /// Waits for a message according to the wait policy.
    pub(super) fn wait(&mut self, deadline: Deadline) -> Result<(), WaitFailure> {
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
            Some(ticks) => self.spin_counted(start, ticks, deadline)?,
            None => false,
        };
        if !came {
            let outcome = self.sleep(deadline);
            self.meter.waited();
            outcome?;
        }
        self.budget.learn(clock::ticks().wrapping_sub(start));
        Ok(())
    }

    /// Reads without sleeping, and counts the result.
    fn spin_counted(
        &mut self,
        start: u64,
        ticks: u64,
        deadline: Deadline,
    ) -> Result<bool, WaitFailure> {
        let came = self.spin(start, ticks, deadline)?;
        let took = clock::nanoseconds(clock::ticks().wrapping_sub(start));
        self.meter.add(Field::SpinTime, took);
        self.meter.add(Field::Spun, u64::from(came));
        Ok(came)
    }

    /// Reads without sleeping for at most `ticks`, and once more after yielding the CPU. Returns
    /// true if a message has come.
    fn spin(&mut self, start: u64, ticks: u64, deadline: Deadline) -> Result<bool, WaitFailure> {
        loop {
            if self.advance(false, deadline)? {
                return Ok(true);
            }
            let now = clock::ticks();
            if deadline.has_passed_at(now) {
                return Err(WaitFailure::DeadlinePassed);
            }
            let spent = now.wrapping_sub(start) >= ticks;
            if self.policy == WaitPolicy::Adaptive {
                // A peer on this CPU can answer; on another CPU this costs less than a read.
                thread::yield_now();
            }
            if spent {
                return self.advance(false, deadline);
            }
        }
    }

    /// Sleeps until a message has come.
    fn sleep(&mut self, deadline: Deadline) -> Result<(), WaitFailure> {
        self.meter.sleeps(WaitsFor::Data);
        loop {
            let blocking = deadline == Deadline::NEVER && !self.has_unwritten();
            if !blocking && !self.socket.has_buffered() {
                let mut wanted = PollFlags::IN;
                wanted.set(PollFlags::OUT, self.has_unwritten());
                self.poll(wanted, deadline)?;
            }
            if self.advance(blocking, deadline)? {
                return Ok(());
            }
        }
    }

    /// Moves bytes both ways once. Returns true if a message has come.
    fn advance(&mut self, blocking: bool, deadline: Deadline) -> Result<bool, WaitFailure> {
        if self.has_unwritten() {
            self.write()?;
        }
        self.read_until(deadline, blocking)?;
        if self.has_frame()? {
            return Ok(true);
        }
        if self.closed { Err(WaitFailure::Closed) } else { Ok(false) }
    }
}

impl Drop for SocketLink {
    fn drop(&mut self) {
        if self.origin.is_here() {
            self.socket.shut_down();
        }
    }
}

/// Writes the unsent bytes and then `more`, as far as the socket takes them. Returns the number of
/// bytes of `more` that are out.
fn write(
    socket: &mut StreamSocket,
    unsent: &mut SendBuffer,
    write_closed: &mut bool,
    more: &[u8],
) -> Result<usize, SocketError> {
    let mut done = 0;
    while unsent.len() > 0 || done < more.len() {
        if *write_closed {
            unsent.clear();
            return Ok(more.len());
        }
        let mut slices: Slices<'_> = std::array::from_fn(|_| IoSlice::new(&[]));
        let count = unsent.gather(&more[done..], &mut slices);
        match socket.write(&slices[..count])? {
            Write::Bytes(len) => done += unsent.wrote(len),
            Write::Full => break,
            Write::End => *write_closed = true,
        }
    }
    if let Write::End = socket.flush()? {
        *write_closed = true;
    }
    Ok(done)
}

#[cfg(test)]
mod tests;
