//! Hellos, true and false (section 2).

use std::os::fd::AsFd;

use super::layout::{control, hello};
use crate::socket::{Received, receive};

/// Values in the hello of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Entries in its ring.
    pub ring_capacity: u32,
    /// Lend numbers that it keeps release bits for.
    pub lend_count: u32,
    /// The most payload bytes per direction.
    pub payload_cap: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self { ring_capacity: 64, lend_count: 512, payload_cap: 64 << 20 }
    }
}

impl Terms {
    /// Reads the terms out of a hello.
    pub fn read(bytes: &[u8]) -> Self {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        Self {
            ring_capacity: u32_at(hello::RING_CAPACITY_AT),
            lend_count: u32_at(hello::LEND_COUNT_AT),
            payload_cap: u64_at(hello::PAYLOAD_CAP_AT),
        }
    }
}

/// The bytes of a hello.
#[derive(Clone, Debug)]
pub struct Hello(pub Vec<u8>);

impl Hello {
    /// Returns a hello that follows the rules.
    pub fn new(terms: &Terms) -> Self {
        let control_size = control::size(terms.ring_capacity) as u64;
        Self(vec![0; hello::LEN])
            .with(hello::MAGIC_AT, hello::MAGIC)
            .with(hello::VERSION_AT, &2u16.to_le_bytes())
            .with(hello::LENGTH_AT, &(hello::LEN as u16).to_le_bytes())
            .with(hello::RING_CAPACITY_AT, &terms.ring_capacity.to_le_bytes())
            .with(hello::LEND_COUNT_AT, &terms.lend_count.to_le_bytes())
            .with(hello::CONTROL_SIZE_AT, &control_size.to_le_bytes())
            .with(hello::PAYLOAD_CAP_AT, &terms.payload_cap.to_le_bytes())
    }

    /// A refusal, or another lie about the status.
    pub fn refusing(status: u32, reason: &[u8]) -> Self {
        let len = (hello::LEN + reason.len()) as u16;
        let mut refusal = Self::new(&Terms::default())
            .with(hello::STATUS_AT, &status.to_le_bytes())
            .with(hello::LENGTH_AT, &len.to_le_bytes());
        refusal.0.extend_from_slice(reason);
        refusal
    }

    /// With other bytes at `offset`.
    pub fn with(mut self, offset: usize, bytes: &[u8]) -> Self {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// With other bytes behind the fixed part.
    pub fn with_behind(mut self, bytes: &[u8]) -> Self {
        self.0.truncate(hello::LEN);
        self.0.extend_from_slice(bytes);
        let len = self.0.len() as u16;
        self.with(hello::LENGTH_AT, &len.to_le_bytes())
    }

    /// With one more field (section 2.1).
    pub fn with_field(self, kind: u16, value: &[u8]) -> Self {
        let head = [kind, value.len() as u16].map(u16::to_le_bytes).concat();
        let behind = [&self.0[hello::LEN..], &head, value].concat();
        self.with_behind(&behind)
    }

    /// With one unknown field more, which makes it as long as a hello may be.
    pub fn longest(self) -> Self {
        let left = hello::MAX_LEN - self.0.len() - hello::FIELD_HEAD;
        self.with_field(0xffff, &vec![0xee; left])
    }
}

/// Reads a hello of its announced length, with its descriptors; shorter if the peer closes.
pub fn receive_hello(socket: impl AsFd) -> Received {
    let mut received = Received::default();
    let mut wanted = hello::LEN;
    while received.bytes.len() < wanted {
        let part = receive(&socket, wanted - received.bytes.len());
        if part.is_end() {
            break;
        }
        received.bytes.extend(part.bytes);
        received.fds.extend(part.fds);
        if received.bytes.len() >= hello::LEN {
            let length = [received.bytes[hello::LENGTH_AT], received.bytes[hello::LENGTH_AT + 1]];
            wanted = usize::from(u16::from_le_bytes(length));
        }
    }
    received
}
