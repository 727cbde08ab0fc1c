//! Codes of failed calls and resets.

/// Code of a call's failure in its reply, or of a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The handler returned an error.
    Failed,
    /// The handler panicked.
    Panicked,
    /// The reply found no memory.
    NoMemory,
    /// The server has no such method.
    NoSuchMethod,
    /// The peer has cancelled the call or stream.
    Cancelled,
    /// The deadline passed.
    DeadlinePassed,
    /// The peer takes no streams, or not this one.
    Refused,
    /// The peer is overloaded.
    Overloaded,
    /// Code of the application, which this library passes through.
    Application(u16),
    /// Code that this version does not know.
    Other(u32),
}

/// Maximum number of bytes of a failed call's reason that are sent, and that are read.
pub const LONGEST_REASON: usize = 1024;

/// Number of the application's code 0.
const APPLICATION_CODES: u32 = 0x1_0000;

impl ErrorCode {
    /// Returns the number in a reply's tag.
    pub fn number(self) -> u32 {
        match self {
            Self::Failed => 1,
            Self::Panicked => 2,
            Self::NoMemory => 3,
            Self::NoSuchMethod => 4,
            Self::Cancelled => 5,
            Self::DeadlinePassed => 6,
            Self::Refused => 7,
            Self::Overloaded => 8,
            Self::Application(code) => APPLICATION_CODES + u32::from(code),
            Self::Other(number) => number,
        }
    }

    /// Returns the code with this number.
    pub fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Failed,
            2 => Self::Panicked,
            3 => Self::NoMemory,
            4 => Self::NoSuchMethod,
            5 => Self::Cancelled,
            6 => Self::DeadlinePassed,
            7 => Self::Refused,
            8 => Self::Overloaded,
            other => match other.checked_sub(APPLICATION_CODES).map(u16::try_from) {
                Some(Ok(code)) => Self::Application(code),
                _ => Self::Other(other),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_code_survives_its_number() {
        for number in (0..10).chain(0xffff..0x1_0003).chain(0x1_fffe..0x2_0002).chain([u32::MAX]) {
            assert_eq!(ErrorCode::from_number(number).number(), number);
        }
    }
}
