//! A number of messages and bytes of a stream.

/// Number of messages and bytes of a stream that may be in flight, or that were consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Number of messages.
    pub messages: u32,
    /// Number of bytes of messages. Metadata does not count.
    pub bytes: u64,
}

impl Window {
    #[inline]
    pub(crate) fn add(&mut self, len: usize) {
        self.messages += 1;
        self.bytes += len as u64;
    }

    /// Returns true if this is at least half of `whole`, in messages or in bytes.
    #[inline]
    pub(crate) fn is_half_of(self, whole: Self) -> bool {
        self.messages >= whole.messages.div_ceil(2) || self.bytes >= whole.bytes.div_ceil(2)
    }
}
