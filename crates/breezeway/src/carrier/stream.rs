//! One process's end of a session whose messages travel on a socket (`docs/abi.md`, section 8).

mod receive_buffer;
mod receiving;
mod send_buffer;
mod sending;
mod socket;
mod waiting;

use std::time::Duration;

use breezeway_os::spin::Spinner;
use breezeway_os::{Deadline, Origin, Waiting};
use breezeway_proto::RawHead;
use breezeway_proto::frame::LONGEST_BODY;
use breezeway_shm::statistics::Meter;

use receive_buffer::ReceiveBuffer;
use send_buffer::SendBuffer;
use socket::StreamSocket;

use super::wire::Wire;
use super::{Carrier, Unreceived};

/// Time for which a message that has begun waits for private memory.
pub(crate) const SHORTAGE_PATIENCE: Duration = Duration::from_secs(1);

/// A socket with its received and its unsent bytes.
pub(crate) struct SocketLink {
    pub(crate) origin: Origin,
    socket: StreamSocket,
    pub(crate) carrier: Carrier,
    spinner: Spinner,
    pub(crate) cap: usize,
    received: ReceiveBuffer,
    unsent: SendBuffer,
    /// The current frame's head, if one was taken and not finished.
    current: Option<RawHead>,
    /// True if each message is taken with the memory to keep it.
    keeps: bool,
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
    pub(crate) meter: Meter,
}

impl SocketLink {
    pub(crate) fn new(
        wire: Wire,
        carrier: Carrier,
        cap: u64,
        waiting: Waiting,
        meter: Meter,
    ) -> Self {
        Self {
            origin: Origin::here(),
            socket: StreamSocket::new(wire, carrier),
            carrier,
            spinner: Spinner::new(waiting),
            cap: usize::try_from(cap.min(LONGEST_BODY)).unwrap_or(usize::MAX),
            received: ReceiveBuffer::new(),
            unsent: SendBuffer::default(),
            current: None,
            keeps: false,
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

    /// Takes each message from now on with the memory that [`Self::detach`] needs.
    pub(crate) fn keep_messages(&mut self) {
        self.keeps = true;
    }
}

impl Drop for SocketLink {
    fn drop(&mut self) {
        if self.origin.is_here() {
            self.socket.shut_down();
        }
    }
}

#[cfg(test)]
mod tests;
