//! Ring entries, true and false: what the peer writes, and what it reads.

use super::abi::{entry, flag, kind};

/// An entry to be written, with no field beyond lying.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) len: u16,
    pub(crate) stream: u32,
    pub(crate) tag: u32,
    pub(crate) released: u16,
    pub(crate) body: Vec<u8>,
}

impl Entry {
    fn message(flags: u8, stream: u32, tag: u32, body: &[u8]) -> Self {
        let len = body.len() as u16;
        Self { kind: kind::MESSAGE, flags, len, stream, tag, released: 0, body: body.to_vec() }
    }

    /// A request as a client makes it.
    pub(crate) fn request(stream: u32, method: u32, body: &[u8]) -> Self {
        Self::message(flag::OPEN | flag::FIN, stream, method, body)
    }

    /// A reply as a server makes it.
    pub(crate) fn reply(stream: u32, body: &[u8]) -> Self {
        Self::message(flag::FIN, stream, 0, body)
    }

    /// An entry that concerns the session.
    pub(crate) fn session(kind: u8, tag: u32, body: &[u8]) -> Self {
        Self { kind, ..Self::message(0, 0, tag, body) }
    }

    pub(crate) fn segment_add(number: u32, size: u64) -> Self {
        Self::session(kind::SEGMENT_ADD, number, &size.to_le_bytes())
    }

    pub(crate) fn segment_retire(number: u32) -> Self {
        Self::session(kind::SEGMENT_RETIRE, number, &[])
    }

    /// The same message with a descriptor for a body.
    pub(crate) fn lending(self, descriptor: Descriptor) -> Self {
        let body = descriptor.bytes();
        Self { flags: self.flags | flag::LENT, len: body.len() as u16, body, ..self }
    }

    /// Everything but the sequence, as words 1..16.
    pub(crate) fn words(&self) -> [u64; 15] {
        let mut bytes = [0; entry::SIZE];
        bytes[8] = self.kind;
        bytes[9] = self.flags;
        bytes[10..12].copy_from_slice(&self.len.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.stream.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.tag.to_le_bytes());
        bytes[20..22].copy_from_slice(&self.released.to_le_bytes());
        bytes[entry::BODY_AT..entry::BODY_AT + self.body.len()].copy_from_slice(&self.body);
        std::array::from_fn(|word| {
            u64::from_le_bytes(bytes[8 * (word + 1)..8 * (word + 2)].try_into().unwrap())
        })
    }
}

/// Section 4.2: where a lent payload lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) segment: u32,
    pub(crate) lend: u32,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl Descriptor {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(24);
        bytes.extend(self.segment.to_le_bytes());
        bytes.extend(self.lend.to_le_bytes());
        bytes.extend(self.offset.to_le_bytes());
        bytes.extend(self.len.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Self {
        Self {
            segment: u32::from_le_bytes(bytes[0..4].try_into().unwrap()),
            lend: u32::from_le_bytes(bytes[4..8].try_into().unwrap()),
            offset: u64::from_le_bytes(bytes[8..16].try_into().unwrap()),
            len: u64::from_le_bytes(bytes[16..24].try_into().unwrap()),
        }
    }
}

/// An entry that the honest side published.
#[derive(Clone, Debug)]
pub(crate) struct Seen(pub(crate) Vec<u8>);

impl Seen {
    pub(crate) fn kind(&self) -> u8 {
        self.0[8]
    }

    pub(crate) fn flags(&self) -> u8 {
        self.0[9]
    }

    pub(crate) fn stream(&self) -> u32 {
        u32::from_le_bytes(self.0[12..16].try_into().unwrap())
    }

    pub(crate) fn tag(&self) -> u32 {
        u32::from_le_bytes(self.0[16..20].try_into().unwrap())
    }

    pub(crate) fn body(&self) -> &[u8] {
        let len = usize::from(u16::from_le_bytes(self.0[10..12].try_into().unwrap()));
        assert!(len <= entry::BODY_MAX, "the honest side publishes {len} inline bytes");
        &self.0[entry::BODY_AT..][..len]
    }

    /// Where the payload lies, if it is lent.
    pub(crate) fn descriptor(&self) -> Option<Descriptor> {
        (self.flags() & flag::LENT != 0).then(|| Descriptor::read(self.body()))
    }
}
