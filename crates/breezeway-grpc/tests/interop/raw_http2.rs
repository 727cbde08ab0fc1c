//! A client of HTTP/2 that writes its frames by hand, at the socket of a server.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const EMPTY_CALL: &str = "/grpc.testing.TestService/EmptyCall";
pub(crate) const FULL_DUPLEX_CALL: &str = "/grpc.testing.TestService/FullDuplexCall";
/// A message without a field.
pub(crate) const EMPTY: &[u8] = &[0; 5];

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A literal field that enters the table.
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    let [name_len, value_len] = [name, value].map(|string| u8::try_from(string.len()).unwrap());
    assert!(name_len < 127 && value_len < 127);
    [&[0x40, name_len], name.as_bytes(), &[value_len], value.as_bytes()].concat()
}

/// The header block of a call: POST, http, and the rest as literals.
pub(crate) fn block(path: &str, authority: Option<&str>) -> Vec<u8> {
    let mut block = vec![0x83, 0x86];
    block.extend(field(":path", path));
    block.extend(authority.map(|authority| field(":authority", authority)).unwrap_or_default());
    block.extend(field("te", "trailers"));
    block.extend(field("content-type", "application/grpc"));
    block
}

/// A call with its only message.
pub(crate) fn call(stream: u32, block: &[u8]) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, stream, block);
    [head, frame(DATA, END_STREAM, stream, EMPTY)].concat()
}

/// A frame that a server has sent.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Received {
    pub(crate) fn is_ping(&self) -> bool {
        self.kind == PING && self.flags & ACK == 0
    }

    /// Returns the answer to this PING.
    pub(crate) fn pong(&self) -> Vec<u8> {
        frame(PING, ACK, 0, &self.payload)
    }

    pub(crate) fn ends(&self, stream: u32) -> bool {
        self.stream == stream && matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }
}

pub(crate) struct Client(pub(crate) UnixStream);

impl Client {
    pub(crate) fn connect(address: &str) -> Self {
        let (_, path) = address.split_once(':').unwrap();
        let socket = UnixStream::connect(path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(socket)
    }

    /// Connects and sends the beginning of HTTP/2.
    pub(crate) fn begin(address: &str) -> Self {
        let client = Self::connect(address);
        client.write(&[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat());
        client
    }

    pub(crate) fn write(&self, bytes: &[u8]) {
        (&self.0).write_all(bytes).unwrap();
    }

    pub(crate) fn read(&self) -> Received {
        self.read_unless_closed().expect("the server has closed the connection")
    }

    /// Reads the next frame; `None` at the end of the connection.
    pub(crate) fn read_unless_closed(&self) -> Option<Received> {
        let mut head = [0; 9];
        match (&self.0).read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return None,
            read => read.unwrap(),
        }
        let [a, b, c, kind, flags, s0, s1, s2, s3] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        (&self.0).read_exact(&mut payload).unwrap();
        Some(Received { kind, flags, stream: u32::from_be_bytes([s0, s1, s2, s3]), payload })
    }

    /// Reads up to the first frame that is wanted; the end of the connection must not come before.
    pub(crate) fn read_until(&self, wanted: impl Fn(&Received) -> bool) -> Received {
        loop {
            let received = self.read();
            if wanted(&received) {
                return received;
            }
            assert_ne!(received.kind, GOAWAY, "{}", received.payload.escape_ascii());
        }
    }

    /// Reads up to the server's next PING.
    pub(crate) fn next_ping(&self) -> Received {
        loop {
            let received = self.read();
            if received.is_ping() {
                return received;
            }
        }
    }

    /// Answers PINGs until the server closes the connection.
    pub(crate) fn answer_pings(&self) {
        while let Some(received) = self.read_unless_closed() {
            if received.is_ping() && (&self.0).write_all(&received.pong()).is_err() {
                return;
            }
        }
    }

    /// Reads up to the end of a call, which must be answered.
    pub(crate) fn answered(&self, stream: u32) {
        let of_stream = |received: &Received| received.stream == stream;
        let first = self.read_until(of_stream);
        assert_eq!(first.kind, HEADERS, "{first:?}");
        if !first.ends(stream) {
            self.read_until(|received| received.ends(stream));
        }
    }
}
