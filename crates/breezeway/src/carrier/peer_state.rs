//! The state of the peer, as a carrier knows it.

/// State of a peer, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerState {
    /// True if the peer has ended. Messages that it published before can still be taken.
    pub(crate) closed: bool,
    /// True if no process is left at the peer's end of the socket, whatever is unread.
    pub(crate) gone: bool,
    /// False if no peer will read further messages.
    pub(crate) reads: bool,
}
