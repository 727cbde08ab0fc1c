//! What travels on a socket, by hand: written from `docs/abi.md`, section 8, with none of the project's code.

use std::io::{self, Read, Write};

use super::{PATIENCE, Raw};

pub(crate) const HELLO_LEN: usize = 64;
pub(crate) const HEADER_LEN: usize = 16;

pub(crate) const MESSAGE: u8 = 1;
pub(crate) const CANCEL: u8 = 3;
pub(crate) const SHUTDOWN: u8 = 9;

pub(crate) const OPEN: u8 = 0x01;
pub(crate) const FIN: u8 = 0x02;
pub(crate) const LENT: u8 = 0x04;
pub(crate) const ERROR: u8 = 0x08;
pub(crate) const NO_REPLY: u8 = 0x10;

/// A hello without shared memory.
pub(crate) fn hello(ring_capacity: u32, cap: u64) -> Vec<u8> {
    let mut bytes = vec![0; HELLO_LEN];
    bytes[0..8].copy_from_slice(b"BRZWHELO");
    bytes[8..10].copy_from_slice(&1u16.to_le_bytes());
    bytes[10..12].copy_from_slice(&(HELLO_LEN as u16).to_le_bytes());
    bytes[16..20].copy_from_slice(&ring_capacity.to_le_bytes());
    bytes[20..24].copy_from_slice(&512u32.to_le_bytes());
    bytes[32..40].copy_from_slice(&cap.to_le_bytes());
    bytes
}

/// What precedes each body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) len: u32,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) reserved: u16,
    pub(crate) stream: u32,
    pub(crate) tag: u32,
}

impl Header {
    pub(crate) fn request(stream: u32, method: u32, len: usize) -> Self {
        let flags = OPEN | FIN;
        Self { len: len as u32, kind: MESSAGE, flags, reserved: 0, stream, tag: method }
    }

    pub(crate) fn reply(stream: u32, len: usize) -> Self {
        Self { len: len as u32, kind: MESSAGE, flags: FIN, reserved: 0, stream, tag: 0 }
    }

    pub(crate) fn shutdown() -> Self {
        Self { len: 0, kind: SHUTDOWN, flags: 0, reserved: 0, stream: 0, tag: 0 }
    }

    pub(crate) fn bytes(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0..4].copy_from_slice(&self.len.to_le_bytes());
        bytes[4] = self.kind;
        bytes[5] = self.flags;
        bytes[6..8].copy_from_slice(&self.reserved.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.stream.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.tag.to_le_bytes());
        bytes
    }

    pub(crate) fn read(bytes: &[u8; HEADER_LEN]) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let reserved = u16::from_le_bytes([bytes[6], bytes[7]]);
        let (kind, flags) = (bytes[4], bytes[5]);
        Self { len: word(0), kind, flags, reserved, stream: word(8), tag: word(12) }
    }
}

/// A request with its body.
pub(crate) fn request(stream: u32, method: u32, body: &[u8]) -> Vec<u8> {
    [&Header::request(stream, method, body.len()).bytes()[..], body].concat()
}

/// A reply with its body.
pub(crate) fn reply(stream: u32, body: &[u8]) -> Vec<u8> {
    [&Header::reply(stream, body.len()).bytes()[..], body].concat()
}

/// Greets as a client, and takes the server's hello.
#[track_caller]
pub(crate) fn greet(peer: &mut Raw, cap: u64) {
    peer.set_read_timeout(PATIENCE);
    peer.write_all(&hello(64, cap)).expect("a new socket has room");
    let mut answer = [0; HELLO_LEN];
    peer.read_exact(&mut answer).expect("the server's hello");
    assert_eq!(answer[40..44], [0; 4], "refused");
    assert_eq!(answer[24..32], [0; 8], "a control segment on a socket");
}

/// Takes a client's hello, and greets as a server.
#[track_caller]
pub(crate) fn welcome(peer: &mut Raw, cap: u64) {
    peer.set_read_timeout(PATIENCE);
    let mut said = [0; HELLO_LEN];
    peer.read_exact(&mut said).expect("the client's hello");
    peer.write_all(&hello(64, cap)).expect("a new socket has room");
}

/// Reads a whole frame; `None` at the end, and where a frame breaks off.
pub(crate) fn next(peer: &mut Raw) -> io::Result<Option<(Header, Vec<u8>)>> {
    let mut header = [0; HEADER_LEN];
    let mut read = |buffer: &mut [u8]| match peer.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Ok(false),
            _ => Err(error),
        },
    };
    if !read(&mut header)? {
        return Ok(None);
    }
    let header = Header::read(&header);
    let mut body = vec![0; header.len as usize];
    Ok(read(&mut body)?.then_some((header, body)))
}
