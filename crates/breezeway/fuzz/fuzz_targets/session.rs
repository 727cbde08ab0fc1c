//! What a peer has written by the time it hangs up, to the serving and to the calling end of a
//! session.
#![no_main]

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use arbitrary::Arbitrary;
use breezeway::{Call, ForeignBytes, ServerSession, Session, SessionOptions, WaitPolicy};
use breezeway_adversary::native::layout::{control, entry, flag, kind};
use breezeway_adversary::native::{Descriptor, Entry, Hello, Ring, Terms};
use breezeway_adversary::offered::{File, Number};
use breezeway_adversary::{Shared, socket};
use libfuzzer_sys::fuzz_target;

const TERMS: Terms = Terms { ring_capacity: 64, lend_count: 64, payload_cap: 1 << 20 };

#[derive(Arbitrary, Debug)]
enum Write {
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
}

#[derive(Arbitrary, Debug)]
enum Use {
    Call(u16),
    Send(u16),
    Post(u16),
    Receive,
    Reserve(u32),
}

#[derive(Arbitrary, Debug)]
struct Input {
    to_server: bool,
    writes: Vec<Write>,
    uses: Vec<Use>,
}

fuzz_target!(|input: Input| {
    let (honest, socket) = UnixStream::pair().unwrap();
    let ring = Ring::new(&TERMS);
    socket::send(&socket, &Hello::new(&TERMS).0, &[ring.shared.fd.as_fd()]).unwrap();
    let mut peer = Peer { socket, ring, segments: 0, is_client: input.to_server };
    for write in input.writes.iter().take(TERMS.ring_capacity as usize) {
        peer.apply(write);
    }
    peer.socket.shutdown(std::net::Shutdown::Write).unwrap();
    let options = SessionOptions::new()
        .wait(WaitPolicy::Park)
        .ring_capacity(TERMS.ring_capacity)
        .cap(TERMS.payload_cap);
    if input.to_server {
        let session = ServerSession::from_socket(honest.into(), &options).expect("a good hello");
        // How it ends does not matter, as long as it does.
        let _ = session.serve(&|call: Call<'_>| {
            read(call.request());
            let len = call.request().len();
            match call.method() % 4 {
                0 => call.done(),
                1 => Err("a failure".into()),
                2 => call.reply(&[7; 200]),
                _ => {
                    let mut space = call.reserve(len)?;
                    space.write_request(0);
                    space.commit()
                }
            }
        });
    } else {
        let mut session = Session::from_socket(honest.into(), &options).expect("a good hello");
        for usage in input.uses.iter().take(100) {
            use_session(&mut session, usage);
        }
    }
});

/// A peer that writes everything before the honest side reads anything.
struct Peer {
    socket: UnixStream,
    ring: Ring,
    /// How many it has sent.
    segments: u32,
    is_client: bool,
}

impl Peer {
    /// The flags of a message that this peer may send, but for those that the input changes.
    fn flags(&self, changed: u8) -> u8 {
        let usual = if self.is_client { flag::OPEN | flag::FIN } else { flag::FIN };
        usual ^ (changed & flag::DEFINED)
    }

    /// What the honest side makes of the bytes is its matter: the socket may be full of them.
    fn send(&self, byte: u8, fds: &[impl AsFd]) {
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        let _ = socket::send(&self.socket, &[byte], &fds);
    }

    fn apply(&mut self, write: &Write) {
        match write {
            Write::Entry(entry) => self.ring.publish(entry),
            Write::Message { flags, stream, len, body, released } => {
                let len = usize::from(*len) % (entry::BODY_MAX + 1);
                let body = body.iter().copied().cycle().take(len).collect();
                self.ring.publish(&Entry {
                    kind: kind::MESSAGE,
                    flags: self.flags(*flags),
                    len: len as u16,
                    stream: u32::from(*stream),
                    tag: u32::from(*stream / 2),
                    released: u16::from(*released),
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
        }
    }
}

fn use_session(session: &mut Session, usage: &Use) {
    let bytes = vec![3; 70_000];
    match usage {
        Use::Call(len) => {
            if let Ok(reply) = session.call(0, &bytes[..usize::from(*len)]) {
                read(reply.bytes());
            }
        }
        Use::Send(len) => drop(session.send(1, &bytes[..usize::from(*len)])),
        Use::Post(len) => drop(session.post(2, &bytes[..usize::from(*len)])),
        Use::Receive => {
            if let Ok(reply) = session.receive() {
                read(reply.bytes());
            }
        }
        Use::Reserve(len) => {
            if let Ok(mut space) = session.reserve(*len as usize % (1 << 21)) {
                space.bytes_mut().fill(9);
                let _ = space.send(3);
            }
        }
    }
    assert!(session.in_flight() <= session.max_in_flight());
}

fn read(bytes: ForeignBytes<'_>) {
    let all = bytes.to_vec();
    assert!(all.len() <= 1 << 20);
    let mut read = Vec::new();
    bytes.reader().read_to_end(&mut read).unwrap();
    assert_eq!(read, all);
    assert_eq!(bytes.u64_le_at(all.len()), None);
}
