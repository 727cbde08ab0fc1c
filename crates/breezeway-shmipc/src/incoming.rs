//! Bytes of the socket, split into messages. A declared length allocates nothing: fallback data is
//! passed on as it arrives.

use std::os::fd::BorrowedFd;

use breezeway_os::scm::{self, Received};
use breezeway_os::shortage;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::violation::Violation;
use crate::wire::{FALLBACK_HEADER, HEADER, Header, MessageType};

/// Bytes read at once.
const ROOM: usize = 16 * 1024;

/// A message, or a part of one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    /// There are elements in the queue.
    Polling,
    /// The end of a stream.
    StreamClose(u32),
    /// Bytes for this stream follow.
    FallbackFor(u32),
    /// Some of those bytes.
    FallbackBytes(&'a [u8]),
    /// A new server has taken over.
    HotRestart(u64),
    /// A session with the new server exists.
    HotRestartAck(u64),
}

/// Bytes that were read and not parsed yet.
pub(crate) struct Incoming {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes of the present fallback message that are still to come.
    payload_left: usize,
    /// True if the last read returned less than there was room for.
    emptied: bool,
    /// Number of received descriptors, though a session passes none.
    descriptors: usize,
}

impl Incoming {
    /// Creates an empty buffer.
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; ROOM].into_boxed_slice(),
            start: 0,
            end: 0,
            payload_left: 0,
            emptied: true,
            descriptors: 0,
        }
    }

    /// Reads by `recvmsg`. Returns the number of bytes, 0 at the end of the connection. Descriptors
    /// from the peer are closed without blocking, and are reported as a violation with the next
    /// message.
    pub(crate) fn read(
        &mut self,
        socket: BorrowedFd<'_>,
        flags: RecvFlags,
    ) -> Result<usize, Errno> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        self.emptied = true;
        let room = &mut self.buffer[self.end..];
        let asked = room.len();
        let mut descriptors = Vec::new();
        let received =
            shortage::retry(|| scm::receive(socket, &mut *room, &mut descriptors, flags));
        let Received { bytes, is_cut, .. } = received?;
        self.descriptors += descriptors.len() + usize::from(is_cut);
        self.emptied = bytes < asked;
        self.end += bytes;
        Ok(bytes)
    }

    /// Returns true if the last read returned less than there was room for.
    #[cfg(feature = "tokio")]
    pub(crate) fn was_emptied(&self) -> bool {
        self.emptied
    }

    /// Returns the next message, if enough of it has arrived.
    pub(crate) fn next(&mut self) -> Result<Option<Message<'_>>, Violation> {
        if self.descriptors > 0 {
            return Err(Violation::UnexpectedDescriptors(self.descriptors));
        }
        if self.payload_left > 0 {
            return Ok(self.payload().map(Message::FallbackBytes));
        }
        let Some(header) = self.peek::<HEADER>(0) else { return Ok(None) };
        let header = Header::decode(header)?;
        match header.kind {
            MessageType::Polling => {
                self.start += HEADER;
                Ok(Some(Message::Polling))
            }
            MessageType::StreamClose => {
                Ok(self.field::<4>().map(u32::from_be_bytes).map(Message::StreamClose))
            }
            MessageType::HotRestart => {
                Ok(self.field::<8>().map(u64::from_be_bytes).map(Message::HotRestart))
            }
            MessageType::HotRestartAck => {
                Ok(self.field::<8>().map(u64::from_be_bytes).map(Message::HotRestartAck))
            }
            MessageType::Fallback => self.fallback(header.length),
            kind => Err(Violation::MessageType(kind as u8)),
        }
    }

    /// Parses the start of fallback data: number of the stream, a status that upstream always
    /// writes as 0, and then the bytes.
    fn fallback(&mut self, length: u32) -> Result<Option<Message<'_>>, Violation> {
        let payload = (length as usize).checked_sub(FALLBACK_HEADER);
        let payload = payload
            .ok_or(Violation::MessageLength { kind: MessageType::Fallback as u8, length })?;
        let Some(fields) = self.field::<8>() else { return Ok(None) };
        let [a, b, c, d, ..] = fields;
        self.payload_left = payload;
        Ok(Some(Message::FallbackFor(u32::from_be_bytes([a, b, c, d]))))
    }

    /// Takes the header and the field behind it, once both have arrived.
    fn field<const N: usize>(&mut self) -> Option<[u8; N]> {
        let field = self.peek::<N>(HEADER)?;
        self.start += HEADER + N;
        Some(field)
    }

    fn payload(&mut self) -> Option<&[u8]> {
        let count = self.payload_left.min(self.end - self.start);
        let bytes = self.start..self.start + count;
        self.start += count;
        self.payload_left -= count;
        (count > 0).then(|| &self.buffer[bytes])
    }

    fn peek<const N: usize>(&self, skip: usize) -> Option<[u8; N]> {
        self.buffer[self.start..self.end].get(skip..)?.first_chunk().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    fn incoming(bytes: &[u8]) -> Incoming {
        let mut incoming = Incoming::new();
        incoming.buffer[..bytes.len()].copy_from_slice(bytes);
        incoming.end = bytes.len();
        incoming
    }

    #[test]
    fn messages_are_cut_where_they_end() {
        let mut bytes = wire::bare(MessageType::Polling, 99).to_vec();
        bytes.extend(wire::stream_close(3, 9));
        bytes.extend(wire::fallback_header(3, 5, 2));
        bytes.extend(*b"ab");
        bytes.extend(wire::hot_restart(MessageType::HotRestart, 2, 77));
        let mut incoming = incoming(&bytes);
        assert_eq!(incoming.next(), Ok(Some(Message::Polling)));
        assert_eq!(incoming.next(), Ok(Some(Message::StreamClose(9))));
        assert_eq!(incoming.next(), Ok(Some(Message::FallbackFor(5))));
        assert_eq!(incoming.next(), Ok(Some(Message::FallbackBytes(b"ab"))));
        assert_eq!(incoming.next(), Ok(Some(Message::HotRestart(77))));
        assert_eq!(incoming.next(), Ok(None));
    }

    #[test]
    fn a_message_is_waited_for_until_it_is_whole() {
        let bytes = wire::stream_close(3, 9);
        for cut in 0..bytes.len() {
            let mut incoming = incoming(&bytes[..cut]);
            assert_eq!(incoming.next(), Ok(None), "{cut} bytes");
        }
    }

    #[test]
    fn fallback_bytes_are_handed_on_as_they_come() {
        let mut bytes = wire::fallback_header(3, 5, usize::from(u16::MAX)).to_vec();
        bytes.extend(*b"abc");
        let mut incoming = incoming(&bytes);
        assert_eq!(incoming.next(), Ok(Some(Message::FallbackFor(5))));
        assert_eq!(incoming.next(), Ok(Some(Message::FallbackBytes(b"abc"))));
        assert_eq!(incoming.next(), Ok(None));
    }

    #[test]
    fn the_declared_length_of_fixed_messages_does_not_matter() {
        let mut bytes = wire::bare(MessageType::Polling, 3);
        bytes[..4].copy_from_slice(&12_345_u32.to_be_bytes());
        assert_eq!(incoming(&bytes).next(), Ok(Some(Message::Polling)));
    }

    #[test]
    fn messages_of_the_handshake_have_no_place_afterwards() {
        for kind in [
            MessageType::Files,
            MessageType::Version,
            MessageType::Memfds,
            MessageType::Mapped,
            MessageType::ReadyForDescriptors,
        ] {
            let found = incoming(&wire::bare(kind, 3)).next().unwrap_err();
            assert_eq!(found, Violation::MessageType(kind as u8));
        }
    }

    #[test]
    fn fallback_data_shorter_than_its_header_is_refused() {
        for length in [0, 7, 8, 15] {
            let mut bytes = wire::fallback_header(3, 5, 0);
            bytes[..4].copy_from_slice(&u32::to_be_bytes(length));
            let refused = Violation::MessageLength { kind: 3, length };
            assert_eq!(incoming(&bytes).next(), Err(refused));
        }
    }
}
