//! Sending half of a link on a socket: frames, and the bytes that the socket has not taken.

use std::io::IoSlice;

use breezeway_os::Deadline;
use breezeway_os::memory::zeroed;
use breezeway_proto::Head;
use breezeway_proto::frame;
use breezeway_shm::statistics::{Field, WaitsFor};
use breezeway_shm::{Filling, ForeignBytes, SendError, SocketError, Want};
use rustix::event::PollFlags;

use super::SocketLink;
use super::send_buffer::{CHUNK, LARGE, SendBuffer, Slices};
use super::socket::StreamSocket;
use crate::carrier::plain::Write;
use crate::carrier::{Body, LinkError};

/// Unwritten bytes from which a message waits until earlier ones are out.
const MAX_UNWRITTEN: usize = 64 * 1024;

impl SocketLink {
    /// Reserves space for a message of `len` bytes.
    pub(crate) fn reserve(&mut self, len: usize) -> Result<(), SendError> {
        self.truncate(0);
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

    fn check_len(&self, len: usize) -> Result<(), SendError> {
        let cap = self.cap;
        if len > cap { Err(SendError::TooLarge { len, cap }) } else { Ok(()) }
    }

    /// Returns the reserved space and the current message's body.
    pub(crate) fn fill(&mut self) -> Filling<'_> {
        let received = ForeignBytes::stable(self.received.body());
        Filling::private(received, self.space.as_deref_mut().unwrap_or_default())
    }

    /// Keeps the first `len` bytes of the reserved space, if there are more; 0 also gives its
    /// memory back.
    pub(crate) fn truncate(&mut self, len: usize) {
        match &mut self.space {
            Some(space) if len == 0 => self.unsent.give_back(std::mem::take(space)),
            Some(space) => space.truncate(len),
            None => {}
        }
    }

    /// Sends a message. The part of a large one that the socket takes at once is written without a
    /// copy; the rest is kept for [`Self::write_now`].
    pub(crate) fn send(&mut self, head: Head, body: Body<'_>) -> Result<(), SendError> {
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

    /// Reserves private memory for a message of `len` bytes, which any thread may fill.
    pub(crate) fn reserve_private(&self, len: usize) -> Result<Vec<u8>, SendError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked.into());
        }
        self.check_len(len)?;
        Ok(zeroed(len)?)
    }

    /// Sends a message from private memory, which is empty afterwards.
    pub(crate) fn send_private(&mut self, head: Head, body: &mut Vec<u8>) -> Result<(), SendError> {
        self.check_sending()?;
        self.check_len(body.len())?;
        self.push_body(head, std::mem::take(body));
        Ok(())
    }

    /// Adds a frame. A large body is written without a copy.
    fn push_body(&mut self, head: Head, body: Vec<u8>) {
        self.count_sent(head, body.len());
        self.unsent.push(&frame::encode(head, body.len()));
        self.unsent.push_space(body);
    }

    fn check_sending(&self) -> Result<(), SendError> {
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
    #[inline(always)]
    pub(super) fn is_backlogged(&self) -> bool {
        self.unsent.len() >= MAX_UNWRITTEN
    }

    /// Returns the number of bytes that are still to be written; those within TLS count as one.
    #[inline(always)]
    pub(super) fn unwritten(&self) -> usize {
        self.unsent.len() + usize::from(self.socket.has_unwritten())
    }

    pub(super) fn check_origin(&self) -> Result<(), LinkError> {
        if self.origin.is_here() { Ok(()) } else { Err(LinkError::Forked) }
    }

    /// Writes as much as the socket takes.
    pub(super) fn write(&mut self) -> Result<(), LinkError> {
        self.check_origin()?;
        write(&mut self.socket, &mut self.unsent, &mut self.write_closed, &[])?;
        self.meter.add(Field::Doorbells, 1);
        self.meter.set(Field::Unwritten, self.unsent.len() as u64);
        Ok(())
    }

    /// Writes as much as the socket takes. If that leaves too much, nothing is read either until
    /// the socket is reported ready.
    pub(crate) fn write_now(&mut self) -> Result<(), LinkError> {
        if self.unwritten() > 0 {
            self.write()?;
            self.may_read &= !self.is_backlogged();
        }
        Ok(())
    }

    /// Waits until messages can be sent again.
    pub(crate) fn wait_for_room(&mut self, deadline: Deadline) -> Result<(), LinkError> {
        self.meter.waits(WaitsFor::Room);
        let outcome = self.write_all(deadline);
        self.meter.waited();
        outcome?;
        if self.is_backlogged() { Err(LinkError::ReceiveBufferFull) } else { Ok(()) }
    }

    /// Writes everything, sleeping for room. Reads while it waits, so that a peer that waits for
    /// its own room gets it. If the receive buffer is full, leaves the rest to the next wait.
    pub(crate) fn write_all(&mut self, deadline: Deadline) -> Result<(), LinkError> {
        loop {
            self.write()?;
            if self.unwritten() == 0 || self.received.len() > 2 * self.cap + MAX_UNWRITTEN {
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
