//! What is sent in one entry: a message, metadata, both or neither.

use breezeway_shm::{Flags, Head};

use crate::connection::{Carried, METADATA_PREFIX};

/// Borrowed parts of an entry's body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outgoing<'a> {
    pub(crate) message: Option<&'a [u8]>,
    /// At most 65535 bytes.
    pub(crate) metadata: Option<&'a [u8]>,
}

impl<'a> Outgoing<'a> {
    /// A message, if any, and metadata, if any: an empty block is none.
    pub(crate) fn new(message: Option<&'a [u8]>, metadata: Option<&'a [u8]>) -> Self {
        Self { message, metadata: metadata.filter(|block| !block.is_empty()) }
    }

    pub(crate) fn message(bytes: &'a [u8]) -> Self {
        Self { message: Some(bytes), metadata: None }
    }

    /// As the stream's rules count it.
    pub(crate) fn carried(&self, last: bool) -> Carried {
        let message = self.message.map(<[u8]>::len);
        Carried { message, metadata: self.metadata.is_some(), last }
    }

    /// The head with the flags that say what the body is made of.
    pub(super) fn head(&self, head: Head) -> Head {
        let mut flags = head.flags;
        if self.metadata.is_some() {
            flags = flags.with(Flags::METADATA);
        }
        if self.message.is_none() {
            flags = flags.with(Flags::EMPTY);
        }
        Head { flags, ..head }
    }

    /// Bytes of the body.
    pub(super) fn body_len(&self) -> usize {
        let metadata = self.metadata.map_or(0, |block| METADATA_PREFIX + block.len());
        metadata + self.message.map_or(0, <[u8]>::len)
    }

    /// What precedes the metadata.
    pub(super) fn prefix(&self) -> [u8; METADATA_PREFIX] {
        let len = self.metadata.map_or(0, <[u8]>::len);
        u16::try_from(len).expect("metadata was checked against the peer's limit").to_le_bytes()
    }

    /// Writes the body, metadata first, into as many bytes as it has.
    pub(super) fn write_to(&self, body: &mut [u8]) {
        let prefix = self.prefix();
        let prefix = self.metadata.map(|_| &prefix[..]);
        let mut rest = body;
        for part in [prefix, self.metadata, self.message].into_iter().flatten() {
            let (here, behind) = rest.split_at_mut(part.len());
            here.copy_from_slice(part);
            rest = behind;
        }
    }

    /// The whole entry with a body of its own.
    pub(super) fn to_vec(self, head: Head) -> (Head, Vec<u8>) {
        let mut body = vec![0; self.body_len()];
        self.write_to(&mut body);
        (self.head(head), body)
    }
}
