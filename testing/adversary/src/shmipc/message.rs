//! Messages on the socket: eight bytes of header, and a body.

/// The types of messages.
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub mod kind {
    pub const SHARE_MEMORY_BY_FILE_PATH: u8 = 0;
    pub const POLLING: u8 = 1;
    pub const STREAM_CLOSE: u8 = 2;
    pub const FALLBACK_DATA: u8 = 3;
    pub const EXCHANGE_PROTOCOL_VERSION: u8 = 4;
    pub const SHARE_MEMORY_BY_MEMFD: u8 = 5;
    pub const ACK_SHARE_MEMORY: u8 = 6;
    pub const ACK_READY_RECEIVE_FD: u8 = 7;
    pub const HOT_RESTART: u8 = 8;
    pub const HOT_RESTART_ACK: u8 = 9;
}

/// Bytes of a header.
pub const HEADER_LEN: usize = 8;

/// Message that announces elements in a queue.
pub const WAKE: [u8; HEADER_LEN] = [0, 0, 0, 8, 0x77, 0x58, 3, kind::POLLING];

/// Returns a message: a header, and its body. The length is that of both.
pub fn message(version: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    message_of_length((HEADER_LEN + body.len()) as u32, version, kind, body)
}

/// A message with a length that may be a lie.
pub fn message_of_length(length: u32, version: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend([0x77, 0x58, version, kind]);
    bytes.extend(body);
    bytes
}

/// The names of both regions, as they follow the header.
pub fn names(queue: &str, buffer: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for name in [queue, buffer] {
        body.extend((name.len() as u16).to_be_bytes());
        body.extend(name.as_bytes());
    }
    body
}
