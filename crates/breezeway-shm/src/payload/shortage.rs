//! Shortages of payload memory and their remedies.

use std::fmt;

/// Reason why a message gets no payload memory now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shortage {
    /// Too much of the cap is taken, or the rest is fragmented.
    Cap {
        /// Bytes that are reserved or lent.
        taken: usize,
        /// The cap: the smaller of both sides' settings.
        cap: usize,
    },
    /// The remaining memory is reserved for streams that hold nothing.
    Kept {
        /// Bytes that this stream holds.
        held: usize,
    },
    /// All lend numbers are in use.
    Numbers(usize),
    /// The maximum number of segments exists.
    Segments(usize),
    /// A new segment cannot be announced before the peer has consumed more of what is in the ring.
    Progress,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cap { taken, cap } => write!(
                f,
                "{taken} of the session's {cap} bytes are lent to the peer; receive replies first \
                 or raise the cap on both sides"
            ),
            Self::Kept { held } => write!(
                f,
                "the stream holds {held} bytes, and what is left is kept for other streams, a \
                 quarter of the cap divided by max_streams for each; receive and release messages \
                 first, raise the cap or lower max_streams on both sides"
            ),
            Self::Numbers(count) => write!(
                f,
                "{count} payloads, the most there may be, are lent to the peer; receive replies \
                 first or open another session"
            ),
            Self::Segments(count) => write!(
                f,
                "there are {count} segments, the most there may be, all in use; receive replies \
                 first"
            ),
            Self::Progress => f.write_str(
                "a segment cannot be added before the peer has consumed more; receive replies \
                 first or raise ring_capacity",
            ),
        }
    }
}
