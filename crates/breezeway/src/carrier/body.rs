//! The bodies that a carrier sends.

/// Source of a message's body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body<'a> {
    /// These bytes: copied, or on a socket written without a copy.
    Bytes(&'a [u8]),
    /// The reserved space, which was filled. On an error it stays reserved.
    Space,
    /// The current message's own body, which is released with it.
    Received,
}
