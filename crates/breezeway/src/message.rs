//! Messages that own what they hold.

use std::cell::Cell;

use breezeway_proto::Parts;
use breezeway_proto::connection::{METADATA_PREFIX, MetadataError, split};
use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::{self as shm, ForeignBytes};

/// A message that was received. It owns its content: a private copy, or a lease of the peer's
/// memory, which is released when the message is dropped. Any number of them live at a time; they
/// can be sent to other threads and are dropped in any order.
///
/// The peer may change a lease's bytes while they are read; [`ForeignBytes`] allows for that.
pub struct Message {
    /// Content of the message, present until dropped. It is behind one pointer because messages are
    /// moved often, and a move of several fields waits until all of them were stored.
    content: Option<Box<Content>>,
}

thread_local! {
    /// Allocation of one dropped message: a thread that takes one message after the other needs no
    /// new one.
    static SPARE: Cell<Option<Box<Content>>> = const { Cell::new(None) };
}

/// Room that this thread has; none as it ends.
#[inline]
fn spare() -> Option<Box<Content>> {
    SPARE.try_with(Cell::take).ok().flatten()
}

enum Content {
    /// A private copy, without metadata.
    Small { len: usize, bytes: Room },
    /// Any other message.
    Whole {
        body: shm::Message,
        metadata: Option<Box<[u8]>>,
        /// True if the entry carries a message, not only metadata.
        is_message: bool,
    },
}

impl Default for Content {
    fn default() -> Self {
        Self::Small { len: 0, bytes: Room::default() }
    }
}

/// Bytes of a small message, aligned for being copied by words: at an odd address each load would
/// wait for two stores.
#[derive(Clone, Copy)]
#[repr(align(8))]
pub(crate) struct Room(pub(crate) [u8; INLINE_MAX]);

impl Default for Room {
    fn default() -> Self {
        Self([0; INLINE_MAX])
    }
}

impl Drop for Message {
    #[inline]
    fn drop(&mut self) {
        let Some(mut content) = self.content.take() else { return };
        if let Content::Whole { .. } = *content {
            // Its memory and lease are released now.
            *content = Content::default();
        }
        let _ = SPARE.try_with(|spare| spare.set(Some(content)));
    }
}

impl Default for Message {
    /// Returns a message of 0 bytes.
    fn default() -> Self {
        Self::small(&Room::default(), 0)
    }
}

impl Message {
    /// Returns a message of the first `len` bytes of `bytes`, without metadata.
    #[inline]
    pub(crate) fn small(bytes: &Room, len: usize) -> Self {
        // The bytes are copied directly to their final place.
        let mut content = spare().unwrap_or_default();
        if let Content::Small { len: place, bytes: room } = &mut *content {
            (*place, *room) = (len, *bytes);
        }
        Self { content: Some(content) }
    }

    /// Returns a message without metadata.
    #[inline]
    pub(crate) fn plain(body: shm::Message) -> Self {
        Self::whole(body, None, true)
    }

    fn whole(body: shm::Message, metadata: Option<Box<[u8]>>, is_message: bool) -> Self {
        let content = Content::Whole { body, metadata, is_message };
        let content = match spare() {
            Some(mut spare) => {
                *spare = content;
                spare
            }
            None => Box::new(content),
        };
        Self { content: Some(content) }
    }

    #[inline]
    fn content(&self) -> &Content {
        self.content.as_deref().expect("present until dropped")
    }

    /// Splits a body into metadata and message, as the entry's flags name them.
    pub(crate) fn new(
        mut body: shm::Message,
        parts: Parts,
        max_metadata: usize,
    ) -> Result<Self, MetadataError> {
        let is_message = parts.message;
        if !parts.metadata {
            return Ok(Self::whole(body, None, is_message));
        }
        let bytes = body.bytes();
        let mut prefix = [0; METADATA_PREFIX];
        let has_prefix = bytes.len() >= METADATA_PREFIX;
        if has_prefix {
            bytes.slice(..METADATA_PREFIX).copy_to(&mut prefix);
        }
        let len = split(bytes.len(), has_prefix.then_some(prefix), max_metadata)?;
        let end = METADATA_PREFIX + len;
        let metadata = Some(bytes.slice(METADATA_PREFIX..end).to_vec().into_boxed_slice());
        // Bytes behind the block are not read if the entry carries no message.
        body.skip(if is_message { end } else { bytes.len() });
        Ok(Self::whole(body, metadata, is_message))
    }

    /// Returns the message's bytes: a private copy, or the peer's memory, which the peer may still
    /// change.
    #[inline]
    pub fn bytes(&self) -> ForeignBytes<'_> {
        match self.content() {
            Content::Small { len, bytes } => ForeignBytes::stable(&bytes.0[..*len]),
            Content::Whole { body, .. } => body.bytes(),
        }
    }

    /// Returns the message's length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self.content() {
            Content::Small { len, .. } => *len,
            Content::Whole { body, .. } => body.len(),
        }
    }

    /// Returns true if the message has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if the peer has sent a message, which may have 0 bytes, and not only metadata.
    pub fn is_message(&self) -> bool {
        !matches!(self.content(), Content::Whole { is_message: false, .. })
    }

    /// Returns true if the message's bytes are the peer's memory.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.content(), Content::Whole { body, .. } if body.is_lent())
    }

    /// Returns a private copy of the message's bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }

    /// Returns a private copy of the metadata block that came with the message.
    pub fn metadata(&self) -> Option<&[u8]> {
        match self.content() {
            Content::Small { .. } => None,
            Content::Whole { metadata, .. } => metadata.as_deref(),
        }
    }
}

impl std::fmt::Debug for Message {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Message")
            .field("len", &self.len())
            .field("metadata", &self.metadata().map(<[u8]>::len))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_keeps_bytes_beside_others_on_its_thread() {
        let small = |byte| Message::small(&Room([byte; INLINE_MAX]), usize::from(byte));
        drop(small(1));
        let (kept, longer) = (small(2), small(100));
        drop(longer);
        let others = [small(3), small(0)];
        for (message, byte) in [&kept, &others[0], &others[1]].into_iter().zip([2, 3, 0]) {
            assert_eq!(message.to_vec(), vec![byte; usize::from(byte)]);
        }
    }

    #[test]
    fn a_message_that_ends_on_another_thread_leaves_its_room_there() {
        let message = Message::small(&Room([7; INLINE_MAX]), 7);
        let next = std::thread::spawn(move || {
            drop(message);
            Message::default().to_vec()
        });
        assert!(next.join().unwrap().is_empty());
    }
}
