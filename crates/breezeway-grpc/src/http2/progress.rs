//! Division of the reading of a server's connection into turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::settings::TURN;

/// Size of the preface and the head of the first frame.
const BEGINNING: u64 = 24 + 9;

/// State of the reading, shared by its task and the connection.
#[derive(Clone)]
pub(crate) struct Progress(Arc<Counts>);

struct Counts {
    /// Bytes that may still be read in this turn.
    left: AtomicUsize,
    /// Bytes that were read.
    bytes: AtomicU64,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Counts { left: AtomicUsize::new(0), bytes: AtomicU64::new(0) }))
    }

    /// Begins a turn of the connection's task, which accepts the bytes read in the one before.
    pub(crate) fn begin_turn(&self) {
        self.0.left.store(TURN, Ordering::Release);
    }

    /// Returns how many bytes the client has sent.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Acquire)
    }

    /// Returns true if the client has sent the beginning of HTTP/2.
    pub(crate) fn has_begun(&self) -> bool {
        self.bytes() >= BEGINNING
    }

    /// Returns how many bytes may still be read in this turn.
    pub(crate) fn left(&self) -> usize {
        self.0.left.load(Ordering::Acquire)
    }

    /// Counts bytes that were read.
    pub(crate) fn add(&self, bytes: usize) {
        self.0.left.store(self.left().saturating_sub(bytes), Ordering::Release);
        self.0.bytes.fetch_add(bytes as u64, Ordering::AcqRel);
    }
}
