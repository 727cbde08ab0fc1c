//! The heads of HTTP/2's frames (RFC 9113, section 4.1).

pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;
/// Size of a dependency and a weight.
const PRIORITY_LEN: usize = 5;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Length of the payload.
    pub(crate) len: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl Head {
    pub(crate) const LEN: usize = 9;

    /// Reads the head at the beginning of bytes, if it is there as a whole.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, kind, flags, s0, s1, s2, s3] = bytes.first_chunk()?;
        let len = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes([s0, s1, s2, s3]) & (u32::MAX >> 1);
        Some(Self { len, kind, flags, stream })
    }

    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&(self.len as u32).to_be_bytes()[1..]);
        bytes.extend_from_slice(&[self.kind, self.flags]);
        bytes.extend_from_slice(&self.stream.to_be_bytes());
    }

    /// Returns the length of the whole frame.
    pub(crate) fn frame_len(&self) -> usize {
        Self::LEN + self.len
    }

    /// Returns true if the payload is a header block or a part of one.
    pub(crate) fn has_block(&self) -> bool {
        matches!(self.kind, HEADERS | CONTINUATION)
    }

    /// Returns the part of a header block in a payload, without padding and priority; `None` if
    /// there is less than these take.
    pub(crate) fn fragment<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        if self.kind == CONTINUATION {
            return Some(payload);
        }
        let mut rest = payload;
        let mut padding = 0;
        if self.flags & PADDED != 0 {
            let (&len, more) = rest.split_first()?;
            (padding, rest) = (usize::from(len), more);
        }
        if self.flags & PRIORITY != 0 {
            rest = rest.get(PRIORITY_LEN..)?;
        }
        rest.get(..rest.len().checked_sub(padding)?)
    }
}
