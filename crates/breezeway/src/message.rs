//! Messages that own what they hold.

use breezeway_shm::{self as shm, Flags, ForeignBytes};

use crate::connection::{METADATA_PREFIX, MetadataError, split};

/// A message that was received. It owns what it holds: a private copy, or a lease of the peer's
/// memory, which is given back when the message is dropped. Any number of them live at one time;
/// they can be sent to other threads and are dropped in any order.
///
/// The peer may change a lease's bytes while they are read; [`ForeignBytes`] allows for that.
pub struct Message {
    body: shm::Message,
    /// What few messages have. Behind a pointer, so that all fields are words: messages are moved,
    /// and a move of a single byte waits until that was stored.
    rare: Option<Box<Rare>>,
}

/// What is not a message of its own: its metadata, or that there is only that.
struct Rare {
    metadata: Option<Box<[u8]>>,
    /// Whether there is a message at all.
    is_message: bool,
}

impl Default for Message {
    /// One of 0 bytes.
    fn default() -> Self {
        Self::plain(shm::Message::default())
    }
}

impl Message {
    /// A message without metadata.
    #[inline]
    pub(crate) fn plain(body: shm::Message) -> Self {
        Self { body, rare: None }
    }

    /// Takes a body apart, as the entry's flags say.
    pub(crate) fn new(
        mut body: shm::Message,
        flags: Flags,
        max_metadata: usize,
    ) -> Result<Self, MetadataError> {
        let is_message = !flags.has(Flags::EMPTY);
        if !flags.has(Flags::METADATA) {
            let rare = (!is_message).then(|| Box::new(Rare { metadata: None, is_message }));
            return Ok(Self { body, rare });
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
        body.skip(end);
        Ok(Self { body, rare: Some(Box::new(Rare { metadata, is_message })) })
    }

    /// Its bytes: a private copy, or the peer's memory, which the peer may still change.
    #[inline]
    pub fn bytes(&self) -> ForeignBytes<'_> {
        self.body.bytes()
    }

    /// Its length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the peer has sent a message, which may have 0 bytes, and not only metadata.
    pub fn is_message(&self) -> bool {
        self.rare.as_ref().is_none_or(|rare| rare.is_message)
    }

    /// Whether its bytes are the peer's memory.
    pub(crate) fn is_lent(&self) -> bool {
        self.body.is_lent()
    }

    /// A private copy of its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }

    /// The metadata block that came with it: a private copy.
    pub fn metadata(&self) -> Option<&[u8]> {
        self.rare.as_ref()?.metadata.as_deref()
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
