//! The payload that callers of a shared session write and compare.

use breezeway::{ForeignBytes, StreamError};

use super::ping_pong::{matches, mismatch};
use crate::{Failure, pattern};

/// A request of its own for each round, and the check of its reply.
pub(super) struct Content {
    request: Vec<u8>,
}

impl Content {
    pub(super) fn new(size: usize) -> Self {
        Self { request: vec![0; size] }
    }

    pub(super) fn request(&mut self, round: u64) -> &[u8] {
        pattern::fill(&mut self.request, pattern::seed(round));
        &self.request
    }

    pub(super) fn check(&self, reply: ForeignBytes<'_>, round: u64) -> Result<(), Failure> {
        let size = self.request.len();
        let same = reply.len() == size && matches(reply, pattern::seed(round));
        if same { Ok(()) } else { Err(mismatch(round, size, reply.len())) }
    }
}

/// Returns the message for a stream that could not be opened.
pub(super) fn no_stream(error: StreamError) -> Failure {
    match error {
        StreamError::TooMany(0) => {
            "the server takes no streams; start it with --runtime tokio".into()
        }
        StreamError::TooMany(most) => {
            format!("--streams is more than the {most} that the server takes at once").into()
        }
        other => other.into(),
    }
}

/// An error if a message of `size` bytes is more than the session can carry.
pub(super) fn check_size(size: usize, cap: usize) -> Result<(), Failure> {
    if size <= cap {
        return Ok(());
    }
    Err(format!(
        "--size {size} exceeds the smaller cap of both sides, {cap} bytes; raise --cap of bench \
         and serve"
    )
    .into())
}
