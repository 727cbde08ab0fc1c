//! Messages that own what they hold.

use std::cell::Cell;

use breezeway_proto::Flags;
use breezeway_proto::connection::{METADATA_PREFIX, MetadataError, split};
use breezeway_shm::layout::INLINE_MAX;
use breezeway_shm::{self as shm, ForeignBytes};

/// A message that was received. It owns what it holds: a private copy, or a lease of the peer's
/// memory, which is given back when the message is dropped. Any number of them live at one time;
/// they can be sent to other threads and are dropped in any order.
///
/// The peer may change a lease's bytes while they are read; [`ForeignBytes`] allows for that.
pub struct Message {
    /// Behind one pointer: messages are moved from hand to hand, and a move of several fields waits
    /// until all of them were stored.
    /// Present until dropped.
    content: Option<Box<Content>>,
}

thread_local! {
    /// Room for one: a thread that takes one message after the other needs none anew.
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
    /// Anything else.
    Whole {
        body: shm::Message,
        metadata: Option<Box<[u8]>>,
        /// Whether there is a message at all.
        is_message: bool,
    },
}

impl Default for Content {
    fn default() -> Self {
        Self::Small { len: 0, bytes: Room::default() }
    }
}

/// Bytes of a small message, in place for being copied by words: at an odd address each load would
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
            // What it holds is let go of now.
            *content = Content::default();
        }
        let _ = SPARE.try_with(|spare| spare.set(Some(content)));
    }
}

impl Default for Message {
    /// One of 0 bytes.
    fn default() -> Self {
        Self::small(&Room::default(), 0)
    }
}

impl Message {
    /// The first `len` bytes of `bytes`, without metadata.
    #[inline]
    pub(crate) fn small(bytes: &Room, len: usize) -> Self {
        // Copied to where it stays.
        let mut content = spare().unwrap_or_default();
        if let Content::Small { len: place, bytes: room } = &mut *content {
            (*place, *room) = (len, *bytes);
        }
        Self { content: Some(content) }
    }

    /// A message without metadata.
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

    /// Takes a body apart, as the entry's flags say.
    pub(crate) fn new(
        mut body: shm::Message,
        flags: Flags,
        max_metadata: usize,
    ) -> Result<Self, MetadataError> {
        let is_message = !flags.has(Flags::EMPTY);
        if !flags.has(Flags::METADATA) {
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
        // What lies behind the block without a message is not read.
        body.skip(if is_message { end } else { bytes.len() });
        Ok(Self::whole(body, metadata, is_message))
    }

    /// Its bytes: a private copy, or the peer's memory, which the peer may still change.
    #[inline]
    pub fn bytes(&self) -> ForeignBytes<'_> {
        match self.content() {
            Content::Small { len, bytes } => ForeignBytes::stable(&bytes.0[..*len]),
            Content::Whole { body, .. } => body.bytes(),
        }
    }

    /// Its length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self.content() {
            Content::Small { len, .. } => *len,
            Content::Whole { body, .. } => body.len(),
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the peer has sent a message, which may have 0 bytes, and not only metadata.
    pub fn is_message(&self) -> bool {
        !matches!(self.content(), Content::Whole { is_message: false, .. })
    }

    /// Whether its bytes are the peer's memory.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.content(), Content::Whole { body, .. } if body.is_lent())
    }

    /// A private copy of its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }

    /// The metadata block that came with it: a private copy.
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
    fn a_message_keeps_its_bytes_while_others_come_and_go_on_its_thread() {
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
