//! The vocabulary of entries: kinds, flags and heads (`docs/abi.md`, section 4.1).

/// What an entry says. Numbers are fixed by `docs/abi.md`, section 4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message, inline or lent.
    Message = 1,
    /// The stream is over, both ways.
    Reset = 2,
    /// The sender no longer wants the reply.
    Cancel = 3,
    /// Messages and bytes given back to a stream's sender.
    Window = 4,
    /// How long the sender still waits.
    Deadline = 5,
    /// A payload segment was added.
    SegmentAdd = 6,
    /// A payload segment was dropped.
    SegmentRetire = 7,
    /// No stream above the named one will be served.
    GoAway = 8,
    /// The sender commits nothing more and closes.
    Shutdown = 9,
}

impl Kind {
    /// The kind with this number, if there is one.
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
    /// A reply that says why the call failed.
    pub const ERROR: Self = Self(0x08);
    /// One-way: no reply will come.
    pub const NO_REPLY: Self = Self(0x10);
    /// A metadata block comes before the message.
    pub const METADATA: Self = Self(0x20);
    /// There is no message, which is not the same as one of 0 bytes.
    pub const EMPTY: Self = Self(0x40);
    /// With OPEN: a stream, not a call.
    pub const STREAM: Self = Self(0x80);

    /// The flags with these bits: all are defined.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The flags as bits.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// These flags and `other`.
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These flags less `other`.
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether every flag of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Everything of an entry but its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What the entry says.
    pub kind: Kind,
    /// Flags of a message, else none.
    pub flags: Flags,
    /// Stream number; 0 is the session itself.
    pub stream: u32,
    /// Method, error code, or what the kind says.
    pub tag: u32,
    /// How long the sender of a request will wait, as `docs/abi.md` codes it (section 4.4); 0 if it
    /// does not say.
    pub time: u16,
}

impl Head {
    /// The head of an entry that concerns the session, not a stream.
    pub const fn of_session(kind: Kind, tag: u32) -> Self {
        Self { kind, flags: Flags::NONE, stream: 0, tag, time: 0 }
    }

    /// The head of the reply to the call on this stream.
    pub const fn of_reply(stream: u32) -> Self {
        Self { kind: Kind::Message, flags: Flags::FIN, stream, tag: 0, time: 0 }
    }
}

/// What the peer says of a message or another entry, before it was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawHead {
    /// Number of the kind.
    pub kind: u8,
    /// Bits of the flags.
    pub flags: u8,
    /// Stream number.
    pub stream: u32,
    /// Method, error code, or what the kind says.
    pub tag: u32,
    /// How long the sender will wait, as it is coded.
    pub time: u16,
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
