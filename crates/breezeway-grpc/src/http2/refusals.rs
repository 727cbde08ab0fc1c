//! Log of h2's refusals: it ends a stream or a connection with a code, and logs its reason only at
//! debug level.

use breezeway::Peer;

use super::frame::{self, Head};

/// Bytes of a GOAWAY frame that are read: its code and the beginning of its text.
const MOST: usize = 64;

/// Codes for a peer that breaks a rule or exceeds a limit (RFC 9113, section 7).
const CODES: [(u32, &str); 6] = [
    (0x1, "PROTOCOL_ERROR"),
    (0x3, "FLOW_CONTROL_ERROR"),
    (0x6, "FRAME_SIZE_ERROR"),
    (0x7, "REFUSED_STREAM"),
    (0x9, "COMPRESSION_ERROR"),
    (0xb, "ENHANCE_YOUR_CALM"),
];

/// Watches the frames to one client, and logs the first refusals.
#[derive(Default)]
pub(crate) struct Refusals {
    /// Beginning of a frame, as far as it has arrived.
    frame: Vec<u8>,
    /// Bytes of an irrelevant frame that are still to be skipped.
    skip: usize,
    has_logged_stream: bool,
}

/// A frame that refuses a stream or the connection.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Stream(u32, &'static str),
    Connection(&'static str, String),
}

impl Refusals {
    /// Examines bytes that were written to a client.
    pub(crate) fn sent(&mut self, bytes: &[u8], peer: &Peer) {
        self.read(bytes, |refusal| match refusal {
            Refusal::Stream(stream, code) => tracing::warn!(
                ?peer,
                stream,
                code,
                "HTTP/2: a request is refused, as may be others of its connection, which are not \
                 logged; the log of h2 has the reason at the level debug"
            ),
            Refusal::Connection(code, text) => tracing::warn!(
                ?peer,
                code,
                text,
                "HTTP/2: a connection is ended; the log of h2 has the reason at the level debug"
            ),
        });
    }

    fn read(&mut self, mut bytes: &[u8], mut log: impl FnMut(Refusal)) {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let passed = self.skip.min(bytes.len());
                (self.skip, bytes) = (self.skip - passed, &bytes[passed..]);
                continue;
            }
            let wanted =
                Head::read(&self.frame).map_or(Head::LEN, |head| Head::LEN + read_of(head));
            let taken = (wanted - self.frame.len()).min(bytes.len());
            self.frame.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            let Some(head) = Head::read(&self.frame) else { continue };
            if self.frame.len() == Head::LEN + read_of(head) {
                if let Some(refusal) = refusal(head, &self.frame[Head::LEN..])
                    && !(matches!(refusal, Refusal::Stream(..))
                        && std::mem::replace(&mut self.has_logged_stream, true))
                {
                    log(refusal);
                }
                self.skip = head.len - read_of(head);
                self.frame.clear();
            }
        }
    }
}

/// Returns how many bytes of a frame's payload are read.
fn read_of(head: Head) -> usize {
    if matches!(head.kind, frame::RST_STREAM | frame::GOAWAY) { head.len.min(MOST) } else { 0 }
}

fn refusal(head: Head, payload: &[u8]) -> Option<Refusal> {
    match head.kind {
        frame::RST_STREAM => Some(Refusal::Stream(head.stream, name_of(payload)?)),
        frame::GOAWAY => {
            let name = name_of(payload.get(4..)?)?;
            let text = payload.get(8..)?.escape_ascii().to_string();
            Some(Refusal::Connection(name, text))
        }
        _ => None,
    }
}

/// Returns the name of the code at the beginning of bytes, if it is that of a refusal.
fn name_of(bytes: &[u8]) -> Option<&'static str> {
    let code = u32::from_be_bytes(*bytes.first_chunk()?);
    CODES.iter().find(|(refusing, _)| *refusing == code).map(|&(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Head { len: payload.len(), kind, flags: 0, stream }.write(&mut bytes);
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn refusals_are_found_however_the_bytes_are_cut() {
        let bytes = [
            frame(4, 0, &[0; 12]),
            frame(0, 1, &[7; 3000]),
            frame(frame::RST_STREAM, 1, &[0, 0, 0, 8]),
            frame(frame::RST_STREAM, 3, &[0, 0, 0, 1]),
            frame(frame::RST_STREAM, 5, &[0, 0, 0, 1]),
            frame(frame::GOAWAY, 0, b"\0\0\0\x05\0\0\0\0"),
            frame(frame::GOAWAY, 0, b"\0\0\0\x05\0\0\0\x0btoo_many_resets"),
        ];
        let expected = [
            Refusal::Stream(3, "PROTOCOL_ERROR"),
            Refusal::Connection("ENHANCE_YOUR_CALM", "too_many_resets".to_owned()),
        ];
        let bytes = bytes.concat();
        for size in [1, 2, 5, 9, 10, 64, bytes.len()] {
            let (mut refusals, mut found) = (Refusals::default(), Vec::new());
            for piece in bytes.chunks(size) {
                refusals.read(piece, |refusal| found.push(refusal));
            }
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }
}
