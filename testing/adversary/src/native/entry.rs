//! Ring entries, valid and invalid (section 4): those that the peer writes, and those that it
//! reads.

use super::descriptor::Descriptor;
use super::layout::{entry, flag, kind};

/// An entry to be written; no field is beyond lying.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Kind.
    pub kind: u8,
    /// Flag bits.
    pub flags: u8,
    /// Number of used body bytes, as the peer claims it.
    pub len: u16,
    /// Stream number.
    pub stream: u32,
    /// Method, error code, or segment number.
    pub tag: u32,
    /// 1 + the lend number that is released, or 0.
    pub released: u16,
    /// Waiting time of the sender, coded as in section 4.4.
    pub time: u16,
    /// The body's bytes, at most 104; the rest is zero.
    pub body: Vec<u8>,
}

impl Entry {
    fn message(flags: u8, stream: u32, tag: u32, body: &[u8]) -> Self {
        let len = body.len() as u16;
        let kind = kind::MESSAGE;
        Self { kind, flags, len, stream, tag, released: 0, time: 0, body: body.to_vec() }
    }

    /// A request as a client makes it.
    pub fn request(stream: u32, method: u32, body: &[u8]) -> Self {
        Self::message(flag::OPEN | flag::FIN, stream, method, body)
    }

    /// A reply as a server makes it.
    pub fn reply(stream: u32, body: &[u8]) -> Self {
        Self::message(flag::FIN, stream, 0, body)
    }

    /// An entry that concerns the session.
    pub fn session(kind: u8, tag: u32, body: &[u8]) -> Self {
        Self { kind, ..Self::message(0, 0, tag, body) }
    }

    /// Announces a segment.
    pub fn segment_add(number: u32, size: u64) -> Self {
        Self::session(kind::SEGMENT_ADD, number, &size.to_le_bytes())
    }

    /// Returns the entry that retires a wholly free segment.
    pub fn segment_retire(number: u32) -> Self {
        Self::session(kind::SEGMENT_RETIRE, number, &[])
    }

    /// Returns the same message with a descriptor as its body.
    pub fn lending(self, descriptor: Descriptor) -> Self {
        let body = descriptor.bytes();
        Self { flags: self.flags | flag::LENT, len: body.len() as u16, body, ..self }
    }

    /// Everything but the sequence, as words 1..16.
    pub fn words(&self) -> [u64; 15] {
        let mut bytes = [0; entry::SIZE];
        bytes[8] = self.kind;
        bytes[9] = self.flags;
        bytes[10..12].copy_from_slice(&self.len.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.stream.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.tag.to_le_bytes());
        bytes[20..22].copy_from_slice(&self.released.to_le_bytes());
        bytes[22..24].copy_from_slice(&self.time.to_le_bytes());
        bytes[entry::BODY_AT..][..self.body.len()].copy_from_slice(&self.body);
        std::array::from_fn(|word| {
            u64::from_le_bytes(bytes[8 * (word + 1)..][..8].try_into().expect("8 bytes"))
        })
    }
}

/// The bytes of an entry that the honest side published.
#[derive(Clone, Debug)]
pub struct Seen(pub Vec<u8>);

impl Seen {
    fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("4 bytes"))
    }

    /// Kind.
    pub fn kind(&self) -> u8 {
        self.0[8]
    }

    /// Flag bits.
    pub fn flags(&self) -> u8 {
        self.0[9]
    }

    /// Stream number.
    pub fn stream(&self) -> u32 {
        self.u32_at(12)
    }

    /// Method, error code, or segment number.
    pub fn tag(&self) -> u32 {
        self.u32_at(16)
    }

    /// 1 + the lend number that is released, or 0.
    pub fn released(&self) -> u16 {
        self.u16_at(20)
    }

    /// Returns the waiting time of the honest side, coded.
    pub fn time(&self) -> u16 {
        self.u16_at(22)
    }

    /// Body bytes that are used.
    pub fn body(&self) -> &[u8] {
        let len = usize::from(self.u16_at(10));
        assert!(len <= entry::BODY_MAX, "the honest side publishes {len} inline bytes");
        &self.0[entry::BODY_AT..][..len]
    }

    /// Returns the location of the payload, if it is lent.
    pub fn descriptor(&self) -> Option<Descriptor> {
        (self.flags() & flag::LENT != 0).then(|| Descriptor::read(self.body()))
    }
}
