//! A whole shared session on a socket, step by step: a hostile peer sends any bytes, nearly frames,
//! in pieces, and reads or not, between any two steps of the honest side.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use arbitrary::Arbitrary;
use breezeway::{Carrier, fuzzing};
use breezeway_adversary::native::frame::{Header, hello};
use breezeway_adversary::native::layout::{flag, hello as at, kind};
use breezeway_adversary::offered::{File, Number};
use breezeway_adversary::socket;

use crate::typed;
use crate::using::{Honest, Use, options};

#[derive(Arbitrary, Debug)]
enum Step {
    Frame {
        header: AnyHeader,
        body: Vec<u8>,
    },
    Message {
        flags: u8,
        stream: u8,
        metadata: Option<u8>,
        len: u16,
        missing: u8,
    },
    Window {
        stream: u8,
        messages: u8,
        bytes: u16,
    },
    Control {
        kind: u8,
        stream: u8,
        code: u8,
    },
    Bytes(Vec<u8>),
    /// Zeros, which also end a body that was cut.
    Fill(u16),
    Descriptors {
        byte: u8,
        fds: Vec<File>,
    },
    Read(u16),
    HangUp {
        both: bool,
    },
    Honest(Use),
    /// The usual reaction to the received frames.
    Turn,
}

#[derive(Arbitrary, Debug)]
struct AnyHeader {
    len: Number,
    kind: u8,
    flags: u8,
    time: u16,
    stream: u32,
    tag: u32,
}

#[derive(Arbitrary, Debug)]
struct Input {
    to_server: bool,
    steps: Vec<Step>,
}

struct Peer {
    socket: UnixStream,
    is_client: bool,
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some(input) = typed::<Input>(data) else { return };
    let (honest, socket) = UnixStream::pair().unwrap();
    let mut hello = hello(64, 1 << 20);
    hello[at::STREAM_MESSAGES_AT..][..4].copy_from_slice(&4u32.to_le_bytes());
    hello[at::STREAM_BYTES_AT..][..8].copy_from_slice(&1000u64.to_le_bytes());
    hello[at::MAX_STREAMS_AT..][..2].copy_from_slice(&4u16.to_le_bytes());
    hello[at::MAX_METADATA_AT..][..4].copy_from_slice(&64u32.to_le_bytes());
    let mut peer = Peer { socket, is_client: input.to_server };
    peer.send(&hello);
    let (honest, options) = (honest.into(), options());
    let mut honest = match input.to_server {
        true => Honest::server(fuzzing::server(honest, Carrier::Unix, &options).unwrap()),
        false => Honest::client(fuzzing::client(honest, Carrier::Unix, &options).unwrap()),
    };
    for step in input.steps.iter().take(300) {
        let goes_on = match step {
            Step::Honest(usage) => honest.apply(usage),
            Step::Turn => honest.apply(&Use::Turn) && honest.apply(&Use::Accept),
            step => {
                peer.apply(step);
                true
            }
        };
        if !goes_on {
            break;
        }
    }
}

impl Peer {
    /// As much as the socket takes.
    fn send(&mut self, bytes: &[u8]) {
        let _ = socket::send(&self.socket, bytes, &[]);
    }

    fn send_frame(&mut self, header: Header, body: &[u8]) {
        self.send(&[&header.bytes()[..], body].concat());
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Frame { header, body } => {
                let &AnyHeader { ref len, kind, flags, time, stream, tag } = header;
                let len = if len.0 % 2 == 0 { body.len() as u32 } else { len.0 as u32 };
                self.send_frame(Header { len, kind, flags, time, stream, tag }, body);
            }
            Step::Message { flags, stream, metadata, len, missing } => {
                let usual = if self.is_client { flag::OPEN | flag::FIN } else { flag::FIN };
                let mut body = Vec::new();
                if let Some(len) = metadata {
                    body.extend(u16::from(*len).to_le_bytes());
                    body.resize(2 + usize::from(*len), 5);
                }
                body.resize(body.len() + usize::from(*len), 6);
                let header = Header {
                    flags: usual ^ flags,
                    ..Header::request((*stream).into(), (*stream / 2).into(), body.len())
                };
                body.truncate(body.len().saturating_sub((*missing).into()));
                self.send_frame(header, &body);
            }
            Step::Window { stream, messages, bytes } => {
                let header = Header {
                    kind: kind::WINDOW,
                    flags: 0,
                    tag: (*messages).into(),
                    ..Header::request((*stream).into(), 0, 8)
                };
                self.send_frame(header, &u64::from(*bytes).to_le_bytes());
            }
            Step::Control { kind, stream, code } => {
                let kinds = [kind::RESET, kind::CANCEL, kind::GO_AWAY, kind::SHUTDOWN];
                let (kind, tag) = (kinds[usize::from(kind % 4)], (*code).into());
                let header =
                    Header { kind, flags: 0, tag, ..Header::request((*stream).into(), 0, 0) };
                self.send_frame(header, &[]);
            }
            Step::Bytes(bytes) => self.send(bytes),
            Step::Fill(len) => self.send(&vec![0; usize::from(*len)]),
            Step::Descriptors { byte, fds } => {
                let fds: Vec<_> = fds.iter().take(3).map(|fd| fd.open()).collect();
                let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
                let _ = socket::send(&self.socket, &[*byte], &fds);
            }
            Step::Read(len) => self.read(usize::from(*len)),
            Step::HangUp { both } => {
                let how = if *both { std::net::Shutdown::Both } else { std::net::Shutdown::Write };
                let _ = self.socket.shutdown(how);
            }
            Step::Honest(_) | Step::Turn => unreachable!("the honest side's steps"),
        }
    }

    fn read(&mut self, len: usize) {
        self.socket.set_nonblocking(true).unwrap();
        let _ = self.socket.read(&mut vec![0; len]);
    }
}
