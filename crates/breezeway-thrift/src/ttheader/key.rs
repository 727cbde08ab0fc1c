//! Keys of numbered metadata.

/// Key of a numbered pair. Numbers that this version does not know are preserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderKey(pub u16);

impl HeaderKey {
    /// Transport of the payload: `framed` or `unframed`.
    pub const TRANSPORT_TYPE: Self = Self(1);
    /// Identifier of the request in all logs.
    pub const LOG_ID: Self = Self(2);
    /// The calling service.
    pub const FROM_SERVICE: Self = Self(3);
    /// The called service.
    pub const TO_SERVICE: Self = Self(6);
    /// The called method.
    pub const TO_METHOD: Self = Self(9);
    /// Timeout of the caller, in milliseconds, as decimal text.
    pub const RPC_TIMEOUT: Self = Self(12);
    /// The calling method.
    pub const FROM_METHOD: Self = Self(20);
    /// Kind of message. Kitex writes decimal text, Volo one raw byte: do not rely on it.
    pub const MESSAGE_TYPE: Self = Self(22);
    /// Kind of a stream's frame: `1` meta, `2` header, `3` data, `4` trailer, `5` reset.
    pub const FRAME_TYPE: Self = Self(27);
}
