//! Receiving half of a link on a socket: bytes into frames, also while memory is short.

use std::time::Duration;

use breezeway_os::segment::SegmentError;
use breezeway_os::{Deadline, ready};
use breezeway_proto::RawHead;
use breezeway_shm::{ForeignBytes, Message};
use rustix::event::PollFlags;
use rustix::io::ioctl_fionread;

use super::send_buffer::LARGE;
use super::{SHORTAGE_PATIENCE, SocketLink};
use crate::carrier::plain::Read;
use crate::carrier::{Carrier, LinkError, Unreceived};

/// Limit of bytes within TLS that one poll for a message reads and that bring no plaintext.
const MAX_WITHOUT_PLAINTEXT: usize = 64 * 1024;

impl SocketLink {
    /// Reads into the buffer once. Returns the number of bytes that brought no plaintext, which
    /// only TLS has.
    pub(super) fn read(&mut self, blocking: bool) -> Result<usize, LinkError> {
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
    pub(super) fn lacks_memory(&mut self, error: SegmentError) -> Result<usize, LinkError> {
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
    pub(super) fn read_until(
        &mut self,
        deadline: Deadline,
        blocking: bool,
    ) -> Result<(), LinkError> {
        if self.read(blocking)? > 0 && deadline.has_passed() {
            return Err(LinkError::DeadlinePassed);
        }
        Ok(())
    }

    /// Returns true if a whole message is there.
    pub(crate) fn has_frame(&self) -> Result<bool, LinkError> {
        Ok(self.unreceived.is_some() || self.received.has_frame(self.cap)?)
    }

    /// Takes the next message, if all of it has come, with the memory to keep it if messages are
    /// [kept](Self::keep_messages). An error names one that found no memory in time.
    pub(crate) fn take(&mut self) -> Result<bool, LinkError> {
        Ok(self.take_frame()? && (!self.keeps || self.reserve_to_keep()?))
    }

    fn take_frame(&mut self) -> Result<bool, LinkError> {
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

    /// Takes the memory that [`Self::detach`] needs for the current message; drops a message that
    /// finds none in time.
    fn reserve_to_keep(&mut self) -> Result<bool, LinkError> {
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
    pub(crate) fn has_current(&self) -> bool {
        self.current.is_some()
    }

    /// Returns the current message's head.
    pub(crate) fn head(&self) -> RawHead {
        self.current.unwrap_or_default()
    }

    /// Returns the current message's body.
    pub(crate) fn body(&self) -> ForeignBytes<'_> {
        ForeignBytes::stable(self.received.body())
    }

    /// Takes the memory that [`Self::detach`] needs for a large message.
    pub(crate) fn reserve_detached(&mut self) -> Result<(), SegmentError> {
        if self.received.body().len() < LARGE {
            return Ok(());
        }
        self.received.reserve_copy(&mut Vec::new())
    }

    /// Forgets the current message and returns its body: a large one in the memory that it came to,
    /// a smaller one as a copy.
    pub(crate) fn detach(&mut self) -> Message {
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
    pub(crate) fn finish(&mut self) {
        if self.current.take().is_some() {
            self.received.finish();
        }
    }
}
