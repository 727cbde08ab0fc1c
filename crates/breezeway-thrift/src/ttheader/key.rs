//! The numbers of numbered metadata.

/// What a numbered pair is about. Numbers that this version does not know are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderKey(pub u16);

impl HeaderKey {
    /// Whether the payload is framed: `framed` or `unframed`.
    pub const TRANSPORT_TYPE: Self = Self(1);
    /// A number that goes through all logs.
    pub const LOG_ID: Self = Self(2);
    /// The calling service.
    pub const FROM_SERVICE: Self = Self(3);
    /// The called service.
    pub const TO_SERVICE: Self = Self(6);
    /// The called method.
    pub const TO_METHOD: Self = Self(9);
    /// How long the caller waits, in milliseconds, as decimal text.
    pub const RPC_TIMEOUT: Self = Self(12);
    /// The calling method.
    pub const FROM_METHOD: Self = Self(20);
    /// The kind of message. Kitex writes decimal text, Volo one raw byte: do not rely on it.
    pub const MESSAGE_TYPE: Self = Self(22);
    /// What a frame of a stream is: `1` meta, `2` header, `3` data, `4` trailer, `5` reset.
    pub const FRAME_TYPE: Self = Self(27);
}
