//! The status of one end of a session, as its carrier knows it.

/// Status of one end, as far as it is known without a system call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status {
    /// True if the peer has ended. Messages that it published before can still be taken.
    pub(crate) closed: bool,
    /// True if no process is left at the peer's end of the socket, whatever is unread.
    pub(crate) gone: bool,
    /// False if no peer will read further messages.
    pub(crate) reads: bool,
    /// True if the socket may hold something beside messages that no event will report again.
    pub(crate) unread: bool,
    /// Number of bytes that are left to be written once the socket has room; those within TLS count
    /// as one.
    pub(crate) unwritten: usize,
    /// True if so much is unwritten that nothing should be added, and so no further request served.
    /// (In shared memory, calls in flight are limited so that replies always fit.)
    pub(crate) backlogged: bool,
    /// True if more room ends the sleep that was prepared for it, also on a socket, which is
    /// watched for it: a later search for memory withdraws the announcement.
    pub(crate) announces_room: bool,
}
