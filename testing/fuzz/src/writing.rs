//! A hostile peer's writes to its segments and its socket, step by step.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use arbitrary::Arbitrary;
use breezeway_adversary::native::layout::{control, entry, flag, hello, kind};
use breezeway_adversary::native::{Descriptor, Entry, Hello, Ring, Terms};
use breezeway_adversary::offered::{File, Number};
use breezeway_adversary::{Shared, socket};

/// Values of the peer's hello.
pub(crate) const TERMS: Terms = Terms { ring_capacity: 64, lend_count: 64, payload_cap: 1 << 20 };

/// One thing that a peer does.
#[derive(Arbitrary, Debug)]
pub(crate) enum Write {
    Entry(Entry),
    /// A message as this peer may send it, on a stream that is likely.
    Message {
        flags: u8,
        stream: u8,
        len: u8,
        body: [u8; 24],
        released: u8,
    },
    Lend {
        flags: u8,
        stream: u8,
        descriptor: Descriptor,
    },
    AddSegment {
        large: bool,
    },
    SegmentEntry {
        kind: u8,
        number: u8,
        size: Number,
    },
    Cancel,
    Shutdown,
    Socket {
        byte: u8,
        fds: Vec<File>,
    },
    SetByte {
        at: u16,
        value: u8,
    },
    SetHeader {
        word: u8,
        value: Number,
    },
    SetReleased {
        word: u8,
        value: u64,
    },
    SetConsumed(u8),
    SetSequence {
        ahead: i8,
        value: Number,
        near: bool,
    },
    Window {
        stream: u8,
        messages: u8,
        bytes: u16,
    },
    Reset {
        stream: u8,
        code: u8,
    },
    GoAway,
}

/// A peer with a control segment of its own, which reads nothing.
pub(crate) struct Peer {
    pub(crate) socket: UnixStream,
    ring: Ring,
    /// Number of segments that it has sent.
    segments: u32,
    is_client: bool,
}

impl Peer {
    /// Returns a peer that has sent its hello, and no more.
    pub(crate) fn new(socket: UnixStream, is_client: bool) -> Self {
        let ring = Ring::new(&TERMS);
        let hello = Hello::new(&TERMS)
            .with(hello::STREAM_MESSAGES_AT, &4u32.to_le_bytes())
            .with(hello::STREAM_BYTES_AT, &1000u64.to_le_bytes())
            .with(hello::MAX_STREAMS_AT, &4u16.to_le_bytes())
            .with(hello::MAX_METADATA_AT, &64u32.to_le_bytes());
        socket::send(&socket, &hello.0, &[ring.shared.fd.as_fd()]).expect("a new socket has room");
        Self { socket, ring, segments: 0, is_client }
    }

    /// Returns the flags of a message that this peer may send, with those of `changed` flipped.
    fn flags(&self, changed: u8) -> u8 {
        let usual = if self.is_client { flag::OPEN | flag::FIN } else { flag::FIN };
        usual ^ changed
    }

    /// Sends a byte, which the honest side may not read: a full socket is ignored.
    fn send(&self, byte: u8, fds: &[impl AsFd]) {
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        let _ = socket::send(&self.socket, &[byte], &fds);
    }

    /// Does one step.
    pub(crate) fn apply(&mut self, write: &Write) {
        match write {
            Write::Entry(entry) => self.ring.publish(entry),
            Write::Message { flags, stream, len, body, released } => {
                let len = usize::from(*len) % (entry::BODY_MAX + 1);
                let mut body: Vec<_> = body.iter().copied().cycle().take(len).collect();
                let flags = self.flags(*flags);
                if flags & flag::METADATA != 0 && len > 2 && body[1] % 2 == 0 {
                    // A block that lies within the body, if for the most part longer than agreed.
                    (body[0], body[1]) = (body[0] % (len - 1) as u8, 0);
                }
                self.ring.publish(&Entry {
                    kind: kind::MESSAGE,
                    flags,
                    len: len as u16,
                    stream: u32::from(*stream),
                    tag: u32::from(*stream / 2),
                    released: u16::from(*released),
                    time: 0,
                    body,
                });
            }
            Write::Lend { flags, stream, descriptor } => {
                let stream = u32::from(*stream);
                let message = Entry::request(stream, stream / 2, &[]).lending(*descriptor);
                let flags = self.flags(*flags) | flag::LENT;
                self.ring.publish(&Entry { flags, ..message });
            }
            Write::AddSegment { large } => {
                let shared = Shared::fit(if *large { 65_536 } else { 4096 });
                self.send(1, &[&shared.fd]);
                self.ring.publish(&Entry::segment_add(self.segments, shared.len() as u64));
                self.segments += 1;
            }
            Write::SegmentEntry { kind, number, size } => {
                let kind = [kind::SEGMENT_ADD, kind::SEGMENT_RETIRE][usize::from(kind % 2)];
                let size = size.0.to_le_bytes();
                self.ring.publish(&Entry::session(kind, (*number).into(), &size));
            }
            Write::Cancel => self.ring.publish(&Entry::session(kind::CANCEL, 0, &[])),
            Write::Shutdown => self.ring.publish(&Entry::session(kind::SHUTDOWN, 0, &[])),
            Write::Socket { byte, fds } => {
                let fds: Vec<_> = fds.iter().take(3).map(|fd| fd.open()).collect();
                self.send(*byte, &fds);
            }
            Write::SetByte { at, value } => {
                let shared = &self.ring.shared;
                shared.store_byte(usize::from(*at) % shared.len(), *value);
            }
            Write::SetHeader { word, value } => {
                let words = [
                    control::CONSUMED_AT,
                    control::DATA_WAKE_AT,
                    control::SPACE_WAKE_AT,
                    control::CPU_AT,
                ];
                self.ring.shared.store(words[usize::from(word % 4)], value.0);
            }
            Write::SetReleased { word, value } => {
                self.ring.shared.store(control::RELEASED_AT + 8 * usize::from(word % 16), *value);
            }
            Write::SetConsumed(count) => {
                self.ring.shared.store(control::CONSUMED_AT, u64::from(*count));
            }
            Write::SetSequence { ahead, value, near } => {
                let position = self.ring.tail.saturating_add_signed((*ahead).into());
                self.ring.commit(position, if *near { position + 1 } else { value.0 });
            }
            Write::Window { stream, messages, bytes } => {
                let body = u64::from(*bytes).to_le_bytes();
                let window = Entry::session(kind::WINDOW, (*messages).into(), &body);
                self.ring.publish(&Entry { stream: (*stream).into(), ..window });
            }
            Write::Reset { stream, code } => {
                let reset = Entry::session(kind::RESET, (*code).into(), &[]);
                self.ring.publish(&Entry { stream: (*stream).into(), ..reset });
            }
            Write::GoAway => self.ring.publish(&Entry::session(kind::GO_AWAY, 0, &[])),
        }
    }
}
