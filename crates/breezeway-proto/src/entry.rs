//! The vocabulary of entries: kinds, flags and heads (`docs/abi.md`, section 4.1).

use crate::error_code::ErrorCode;

/// Kind of an entry. `docs/abi.md`, section 4.1, defines the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message, inline or lent.
    Message = 1,
    /// End of a stream in both directions.
    Reset = 2,
    /// Cancellation of a call: the sender does not wait for the reply any more.
    Cancel = 3,
    /// Messages and bytes of a window that are returned to a stream's sender.
    Window = 4,
    /// Time that the sender still waits.
    Deadline = 5,
    /// Notice that a payload segment was added.
    SegmentAdd = 6,
    /// Notice that a payload segment was dropped.
    SegmentRetire = 7,
    /// Go-away: no stream above the given number will be served.
    GoAway = 8,
    /// Shutdown: the sender commits nothing more and closes.
    Shutdown = 9,
}

impl Kind {
    /// Returns the kind with this number, or `None` if the number is undefined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Message,
            2 => Self::Reset,
            3 => Self::Cancel,
            4 => Self::Window,
            5 => Self::Deadline,
            6 => Self::SegmentAdd,
            7 => Self::SegmentRetire,
            8 => Self::GoAway,
            9 => Self::Shutdown,
            _ => return None,
        })
    }

    /// Returns true for the kind of a session's last entry.
    pub const fn is_shutdown(self) -> bool {
        matches!(self, Self::Shutdown)
    }
}

/// Flags of a message (`docs/abi.md`, section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// First message of its stream.
    pub const OPEN: Self = Self(0x01);
    /// Last message of this side on its stream.
    pub const FIN: Self = Self(0x02);
    /// The body is a descriptor of lent payload.
    pub const LENT: Self = Self(0x04);
    /// Error reply: the message is the reason of the failure.
    pub const ERROR: Self = Self(0x08);
    /// One-way message: the server sends no reply.
    pub const NO_REPLY: Self = Self(0x10);
    /// A metadata block precedes the message.
    pub const METADATA: Self = Self(0x20);
    /// The entry carries no message, as opposed to a message of 0 bytes.
    pub const EMPTY: Self = Self(0x40);
    /// With OPEN: opens a stream, not a call.
    pub const STREAM: Self = Self(0x80);

    /// Returns the flags with these bits. Each bit is defined.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns the flags as bits.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns these flags and those of `other`.
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns these flags without those of `other`.
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns true if every flag of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the parts of a message with these flags.
    #[inline(always)]
    pub const fn parts(self) -> Parts {
        Parts { metadata: self.has(Self::METADATA), message: !self.has(Self::EMPTY) }
    }
}

/// Flags of a request with a reply.
pub(crate) const REQUEST: Flags = Flags::OPEN.with(Flags::FIN);
/// Flags of a one-way message.
pub(crate) const ONE_WAY: Flags = REQUEST.with(Flags::NO_REPLY);

/// Parts that a message's body consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// True if a metadata block precedes the message.
    pub metadata: bool,
    /// True if there is a message, if only of 0 bytes.
    pub message: bool,
}

impl Parts {
    /// A message without metadata.
    pub const MESSAGE: Self = Self { metadata: false, message: true };
}

/// Fields of an entry without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Kind of the entry.
    pub kind: Kind,
    /// Flags of a message; none for other kinds.
    pub flags: Flags,
    /// Stream number; 0 for the session itself.
    pub stream: u32,
    /// Method, error code, or the value that the kind defines.
    pub tag: u32,
    /// Time that the sender of a request will wait, in the encoding of `docs/abi.md`, section
    /// 4.4; 0 if it is not given.
    pub time: u16,
}

impl Head {
    /// Returns the head of an entry that concerns the session, not a stream.
    pub const fn of_session(kind: Kind, tag: u32) -> Self {
        Self { kind, flags: Flags::NONE, stream: 0, tag, time: 0 }
    }

    /// Returns the head of the last entry of a session.
    pub const fn of_shutdown() -> Self {
        Self::of_session(Kind::Shutdown, 0)
    }

    /// Returns the head of a call of `method` on this stream, with the time that the caller waits.
    #[inline(always)]
    pub const fn of_call(stream: u32, method: u32, time: u16) -> Self {
        Self { kind: Kind::Message, flags: REQUEST, stream, tag: method, time }
    }

    /// Returns the head of a one-way message to `method` on this stream.
    #[inline(always)]
    pub const fn of_one_way(stream: u32, method: u32) -> Self {
        Self { kind: Kind::Message, flags: ONE_WAY, stream, tag: method, time: 0 }
    }

    /// Returns the head of the reply to the call on this stream.
    #[inline(always)]
    pub const fn of_reply(stream: u32) -> Self {
        Self { kind: Kind::Message, flags: Flags::FIN, stream, tag: 0, time: 0 }
    }

    /// Returns the head of the failure of the call on this stream.
    pub fn of_failure(stream: u32, code: ErrorCode) -> Self {
        let flags = Flags::FIN.with(Flags::ERROR);
        Self { kind: Kind::Message, flags, stream, tag: code.number(), time: 0 }
    }

    /// Returns the head of the cancellation of the call on this stream.
    pub const fn of_cancel(stream: u32) -> Self {
        Self { kind: Kind::Cancel, flags: Flags::NONE, stream, tag: 0, time: 0 }
    }

    /// Returns the head of the message that opens this stream to `method`, with the time that its
    /// opener waits. `last` is true if this side sends nothing more on the stream.
    #[inline(always)]
    pub const fn of_opening(stream: u32, method: u32, last: bool, time: u16) -> Self {
        let flags = Flags::OPEN.with(Flags::STREAM);
        let flags = if last { flags.with(Flags::FIN) } else { flags };
        Self { kind: Kind::Message, flags, stream, tag: method, time }
    }

    /// Returns the head of a further message on this stream. `last` is true if this side sends
    /// nothing more on the stream.
    #[inline(always)]
    pub const fn of_message(stream: u32, last: bool) -> Self {
        let flags = if last { Flags::FIN } else { Flags::NONE };
        Self { kind: Kind::Message, flags, stream, tag: 0, time: 0 }
    }

    /// Returns the head with the flags of a body that consists of `parts`.
    #[inline(always)]
    pub const fn with_parts(self, parts: Parts) -> Self {
        let mut flags = self.flags;
        if parts.metadata {
            flags = flags.with(Flags::METADATA);
        }
        if !parts.message {
            flags = flags.with(Flags::EMPTY);
        }
        Self { flags, ..self }
    }
}

/// Head of an entry as the peer sent it, before validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawHead {
    /// Number of the kind.
    pub kind: u8,
    /// Bits of the flags.
    pub flags: u8,
    /// Stream number.
    pub stream: u32,
    /// Method, error code, or the value that the kind defines.
    pub tag: u32,
    /// Time that the sender will wait, encoded.
    pub time: u16,
}

impl RawHead {
    /// Returns true for a message of a call or stream.
    #[inline(always)]
    pub const fn is_message(self) -> bool {
        self.kind == Kind::Message as u8
    }

    /// Returns true for the last entry of a session.
    #[inline(always)]
    pub const fn is_shutdown(self) -> bool {
        self.kind == Kind::Shutdown as u8
    }

    /// Returns true for a go-away.
    #[inline(always)]
    pub const fn is_go_away(self) -> bool {
        self.kind == Kind::GoAway as u8
    }

    /// Returns true if a message opens its stream.
    #[inline(always)]
    pub const fn is_opening(self) -> bool {
        Flags::from_bits(self.flags).has(Flags::OPEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives_its_number() {
        for number in 0..=u8::MAX {
            assert_eq!(Kind::from_number(number).map_or(number, |kind| kind as u8), number);
        }
        assert_eq!(Kind::from_number(0), None);
        assert_eq!(Kind::from_number(10), None);
    }
}
