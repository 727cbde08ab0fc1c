//! The events that a driver reports to a carrier.

/// The begin of a turn, or an event of a session's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A turn begins: a socket is read whether or not an event has reported it readable.
    Turn,
    /// Bytes have arrived.
    Readable,
    /// The peer is gone. Messages that it sent before can still be taken.
    PeerGone,
}
