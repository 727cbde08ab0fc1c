//! Layout of the two shared regions. Integers are in host order, which is little-endian here.

pub(crate) mod buffer;
pub(crate) mod queue;
