//! The entries that a session is to send for itself.

use crate::entry::{Head, Kind, Parts};
use crate::error_code::ErrorCode;
use crate::validate::WINDOW_LEN;
use crate::window::Window;

/// Entry that this side has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// Go-away: the client must begin nothing new.
    GoAway,
    /// Window: the peer may send this much more on the stream, or, on number 0, of one-way
    /// messages.
    Window {
        /// The stream's number.
        number: u32,
        /// Messages and bytes that are returned to the peer.
        consumed: Window,
    },
    /// Reset: the stream is over.
    Reset {
        /// The stream's number.
        number: u32,
        /// Code of the reset.
        code: ErrorCode,
    },
    /// This side sends no more on the stream: a message with FIN and EMPTY.
    Finish {
        /// The stream's number.
        number: u32,
    },
}

impl Transmit {
    /// Returns the head of the entry.
    pub fn head(&self) -> Head {
        let (kind, stream, tag) = match *self {
            Self::GoAway => return Head::of_session(Kind::GoAway, 0),
            Self::Finish { number } => {
                return Head::of_message(number, true)
                    .with_parts(Parts { metadata: false, message: false });
            }
            Self::Window { number, consumed } => (Kind::Window, number, consumed.messages),
            Self::Reset { number, code } => (Kind::Reset, number, code.number()),
        };
        Head { stream, ..Head::of_session(kind, tag) }
    }

    /// Returns the body of a window entry; the others have none.
    pub fn body(&self) -> Option<[u8; WINDOW_LEN]> {
        match self {
            Self::Window { consumed, .. } => Some(consumed.bytes.to_le_bytes()),
            Self::GoAway | Self::Reset { .. } | Self::Finish { .. } => None,
        }
    }
}
