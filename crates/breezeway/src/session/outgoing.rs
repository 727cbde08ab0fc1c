//! Content of one outgoing entry: a message, metadata, both or neither.

use breezeway_os::memory::zeroed;
use breezeway_proto::connection::{Carried, METADATA_PREFIX};
use breezeway_proto::{Head, Parts};
use breezeway_shm::SendError;

use crate::link::OwnedBody;
use crate::message::Message;

/// Parts of an entry's body.
#[derive(Default)]
pub(crate) struct Outgoing<'a> {
    pub(crate) content: Content<'a>,
    /// Metadata of at most 65535 bytes. `None` beside space, which is the whole body.
    pub(crate) metadata: Option<&'a [u8]>,
}

/// Source of an outgoing message.
#[derive(Default)]
pub(crate) enum Content<'a> {
    /// There is no message.
    #[default]
    Nothing,
    /// These bytes, which are copied.
    Bytes(&'a [u8]),
    /// A received message: copied once there is memory for it. It is taken if the entry is kept.
    Received(&'a mut Message),
    /// Filled space, which is empty once it was sent, and the number of its bytes that are the
    /// metadata in front of the message, with its length.
    Space(&'a mut OwnedBody, usize),
}

impl<'a> Content<'a> {
    /// Returns the message's length in bytes, if there is one.
    fn len(&self) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::Bytes(bytes) => Some(bytes.len()),
            Self::Received(message) => Some(message.len()),
            Self::Space(space, front) => Some(space.len().saturating_sub(*front)),
        }
    }

    /// Returns the bytes that are to be copied.
    pub(super) fn copied(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Nothing | Self::Received(_) | Self::Space(..) => None,
        }
    }
}

impl<'a> Outgoing<'a> {
    /// Creates an entry's content from an optional message and optional metadata: an empty block
    /// counts as none.
    pub(crate) fn new(message: Option<&'a [u8]>, metadata: Option<&'a [u8]>) -> Self {
        let content = message.map_or(Content::Nothing, Content::Bytes);
        Self { content, metadata: metadata.filter(|block| !block.is_empty()) }
    }

    pub(crate) fn message(bytes: &'a [u8]) -> Self {
        Self { content: Content::Bytes(bytes), metadata: None }
    }

    pub(crate) fn space(space: &'a mut OwnedBody, front: usize) -> Self {
        Self { content: Content::Space(space, front), metadata: None }
    }

    pub(crate) fn received(message: &'a mut Message) -> Self {
        Self { content: Content::Received(message), metadata: None }
    }

    pub(super) fn is_space(&self) -> bool {
        matches!(self.content, Content::Space(..))
    }

    fn has_metadata(&self) -> bool {
        self.metadata.is_some() || matches!(self.content, Content::Space(_, front) if front > 0)
    }

    /// Returns the message's length in bytes; 0 if there is none.
    pub(super) fn message_len(&self) -> usize {
        self.content.len().unwrap_or(0)
    }

    /// Returns the content as the stream's rules count it.
    pub(crate) fn carried(&self, last: bool) -> Carried {
        Carried { message: self.content.len(), metadata: self.has_metadata(), last }
    }

    /// Returns the head with the flags for the parts of the body.
    pub(super) fn head(&self, head: Head) -> Head {
        let message = !matches!(self.content, Content::Nothing);
        head.with_parts(Parts { metadata: self.has_metadata(), message })
    }

    /// Returns the length in bytes of the body that is copied.
    pub(super) fn body_len(&self) -> usize {
        let metadata = self.metadata.map_or(0, |block| METADATA_PREFIX + block.len());
        metadata + self.message_len()
    }

    /// Returns the prefix of the metadata: its length.
    pub(super) fn prefix(&self) -> [u8; METADATA_PREFIX] {
        let len = self.metadata.map_or(0, <[u8]>::len);
        u16::try_from(len).expect("metadata was checked against the peer's limit").to_le_bytes()
    }

    /// Copies the body, metadata first, into as many bytes as it has.
    pub(super) fn write_to(&self, body: &mut [u8]) {
        let prefix = self.prefix();
        let prefix = self.metadata.map(|_| &prefix[..]);
        let mut rest = body;
        for part in [prefix, self.metadata, self.content.copied()].into_iter().flatten() {
            let (here, behind) = rest.split_at_mut(part.len());
            here.copy_from_slice(part);
            rest = behind;
        }
    }

    /// Returns the whole entry with a body of its own.
    pub(super) fn into_owned(self, head: Head) -> Result<(Head, OwnedBody), SendError> {
        let head = self.head(head);
        let body = match self.content {
            Content::Space(space, _) => std::mem::take(space),
            Content::Received(message) => OwnedBody::Received(std::mem::take(message)),
            Content::Nothing | Content::Bytes(_) => {
                let mut bytes = zeroed(self.body_len())?;
                self.write_to(&mut bytes);
                OwnedBody::Private(bytes)
            }
        };
        Ok((head, body))
    }
}
