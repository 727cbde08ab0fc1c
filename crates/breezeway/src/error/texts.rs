//! Texts that several errors have.

use std::fmt::{Formatter, Result};

pub(super) const BROKEN_PROTOCOL: &str = "the peer broke the protocol, which ended the session";
pub(super) const ENDED_BY_TLS: &str = "TLS has ended the session";
pub(super) const SPACE_OF_ANOTHER_SESSION: &str =
    "the space belongs to another session; reserve it from the one that sends it";

pub(super) fn too_much_metadata(
    len: &usize,
    limit: &usize,
    formatter: &mut Formatter<'_>,
) -> Result {
    write!(
        formatter,
        "metadata of {len} bytes, where the peer takes {limit}; raise its option max_metadata"
    )
}
