//! Payload descriptors, true and false (section 4.2).

/// Location of a lent payload, as the peer claims it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Segment number.
    pub segment: u32,
    /// Lend number.
    pub lend: u32,
    /// Offset in the segment.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

impl Descriptor {
    /// Returns the bytes of the descriptor in an entry's body.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(24);
        bytes.extend(self.segment.to_le_bytes());
        bytes.extend(self.lend.to_le_bytes());
        bytes.extend(self.offset.to_le_bytes());
        bytes.extend(self.len.to_le_bytes());
        bytes
    }

    /// Reads one out of an entry's body.
    pub fn read(bytes: &[u8]) -> Self {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        Self { segment: u32_at(0), lend: u32_at(4), offset: u64_at(8), len: u64_at(16) }
    }
}
