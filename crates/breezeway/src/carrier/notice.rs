//! The events that a driver reports to a carrier.

/// An event of a session's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Bytes have arrived.
    Readable,
    /// The peer is gone. Messages that it sent before can still be taken.
    PeerGone,
}
