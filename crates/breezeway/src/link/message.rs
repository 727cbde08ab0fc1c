//! What a message that was received holds.

use breezeway_shm::ForeignBytes;

/// A message's body, apart from its link.
pub(crate) enum LinkMessage {
    /// A private copy.
    Private(Vec<u8>),
}

impl LinkMessage {
    pub(crate) fn bytes(&self) -> ForeignBytes<'_> {
        match self {
            Self::Private(bytes) => ForeignBytes::stable(bytes),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Private(bytes) => bytes.len(),
        }
    }
}
