//! Hellos and frames, the bytes on a socket without shared memory (section 8).

use std::io::{self, Read, Write};

use super::hello::{Hello, Terms};
use super::layout::hello::{CONTROL_SIZE_AT, LEN as HELLO_LEN, STATUS_AT};
use super::layout::{flag, frame::HEADER_LEN, kind};
use crate::connection::Connection;
use crate::socket::PATIENCE;

/// A hello without shared memory.
pub fn hello(ring_capacity: u32, payload_cap: u64) -> Vec<u8> {
    let terms = Terms { ring_capacity, payload_cap, ..Terms::default() };
    Hello::new(&terms).with(CONTROL_SIZE_AT, &[0; 8]).0
}

/// Header of each frame, before its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the body, or another number.
    pub len: u32,
    /// Kind.
    pub kind: u8,
    /// Flag bits.
    pub flags: u8,
    /// Waiting time of the sender, coded as in section 4.4.
    pub time: u16,
    /// Stream number.
    pub stream: u32,
    /// Method or error code.
    pub tag: u32,
}

impl Header {
    /// The header of a request.
    pub fn request(stream: u32, method: u32, len: usize) -> Self {
        let flags = flag::OPEN | flag::FIN;
        Self { len: len as u32, kind: kind::MESSAGE, flags, time: 0, stream, tag: method }
    }

    /// The header of a reply.
    pub fn reply(stream: u32, len: usize) -> Self {
        Self { len: len as u32, kind: kind::MESSAGE, flags: flag::FIN, time: 0, stream, tag: 0 }
    }

    /// The last header of a side that ends in order.
    pub fn shutdown() -> Self {
        Self { len: 0, kind: kind::SHUTDOWN, flags: 0, time: 0, stream: 0, tag: 0 }
    }

    /// Returns the bytes of the header on the wire.
    pub fn bytes(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0..4].copy_from_slice(&self.len.to_le_bytes());
        bytes[4] = self.kind;
        bytes[5] = self.flags;
        bytes[6..8].copy_from_slice(&self.time.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.stream.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.tag.to_le_bytes());
        bytes
    }

    /// Reads the honest side's next frame.
    pub fn read(bytes: &[u8; HEADER_LEN]) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let time = u16::from_le_bytes([bytes[6], bytes[7]]);
        let (kind, flags) = (bytes[4], bytes[5]);
        Self { len: word(0), kind, flags, time, stream: word(8), tag: word(12) }
    }
}

/// A request with its body.
pub fn request(stream: u32, method: u32, body: &[u8]) -> Vec<u8> {
    [&Header::request(stream, method, body.len()).bytes()[..], body].concat()
}

/// A reply with its body.
pub fn reply(stream: u32, body: &[u8]) -> Vec<u8> {
    [&Header::reply(stream, body.len()).bytes()[..], body].concat()
}

/// Greets as a client, and takes the server's hello.
#[track_caller]
pub fn greet(peer: &mut Connection, cap: u64) {
    peer.set_read_timeout(PATIENCE);
    peer.write_all(&hello(64, cap)).expect("a new socket has room");
    let mut answer = [0; HELLO_LEN];
    peer.read_exact(&mut answer).expect("the server's hello");
    assert_eq!(answer[STATUS_AT..STATUS_AT + 4], [0; 4], "refused");
    assert_eq!(
        answer[CONTROL_SIZE_AT..CONTROL_SIZE_AT + 8],
        [0; 8],
        "a control segment on a socket"
    );
}

/// Takes a client's hello, and greets as a server.
#[track_caller]
pub fn welcome(peer: &mut Connection, cap: u64) {
    peer.set_read_timeout(PATIENCE);
    let mut said = [0; HELLO_LEN];
    peer.read_exact(&mut said).expect("the client's hello");
    peer.write_all(&hello(64, cap)).expect("a new socket has room");
}

/// Reads a whole frame; `None` at the end, and where a frame breaks off.
pub fn next(peer: &mut Connection) -> io::Result<Option<(Header, Vec<u8>)>> {
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
