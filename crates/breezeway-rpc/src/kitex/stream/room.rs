//! How much a connection's messages may take that no handler has read.

use std::sync::{Arc, Condvar, Mutex};

/// The most, in bytes; one message may take more, if it is alone.
const ROOM: usize = 64 << 20;
/// What a message takes beside its bytes.
const EACH: usize = 1 << 10;

#[derive(Clone)]
pub(in crate::kitex) struct Room(Arc<Shared>);

#[derive(Default)]
struct Shared {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// What a message takes, until it is read.
pub(in crate::kitex) struct Place {
    room: Arc<Shared>,
    size: usize,
}

impl Room {
    pub(in crate::kitex) fn new() -> Self {
        Self(Arc::default())
    }

    /// Waits until there is room for a message.
    pub(in crate::kitex) fn take(&self, len: usize) -> Place {
        let size = len + EACH;
        let is_full = |taken: &mut usize| *taken > 0 && *taken + size > ROOM;
        let taken = self.0.taken.lock().expect("nobody panics with the lock");
        let taken = self.0.freed.wait_while(taken, is_full);
        *taken.expect("nobody panics with the lock") += size;
        Place { room: Arc::clone(&self.0), size }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.room.taken.lock().expect("nobody panics with the lock") -= self.size;
        self.room.freed.notify_one();
    }
}
