//! The events that a driver reports to a carrier.

use breezeway_os::Wake;

/// The begin of a turn, or an event of a session's socket.
///
/// The order is that of the reading that they require.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Notice {
    /// A turn begins: a socket is read whether or not an event has reported it readable.
    Turn,
    /// Bytes have arrived, none of them urgent. Another edge-triggered event reports whatever
    /// comes behind them, also the peer's end.
    Bytes,
    /// Bytes have arrived, or anything else.
    Readable,
    /// The peer is gone. Messages that it sent before can still be taken.
    PeerGone,
}

impl From<Wake> for Notice {
    fn from(wake: Wake) -> Self {
        match wake {
            Wake { hung_up: true, .. } => Self::PeerGone,
            Wake { urgent: true, .. } => Self::Readable,
            _ => Self::Bytes,
        }
    }
}
