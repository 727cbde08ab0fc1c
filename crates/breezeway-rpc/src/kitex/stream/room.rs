//! Room for messages of a connection that no handler has read.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Maximum room in bytes; a single message may be larger.
const ROOM: usize = 64 << 20;
/// Room for a message beside its bytes.
const EACH: usize = 1 << 10;
/// Interval at which a wait for room checks for the end of the connection.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub(in crate::kitex) struct Room(Arc<Shared>);

#[derive(Default)]
struct Shared {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// Room of a message, until it is read.
pub(in crate::kitex) struct Place {
    room: Arc<Shared>,
    size: usize,
}

impl Room {
    pub(in crate::kitex) fn new() -> Self {
        Self(Arc::default())
    }

    /// Waits until there is room for a message, without a time limit.
    pub(in crate::kitex) fn take(&self, len: usize) -> Place {
        self.take_unless(len, || false).expect("the wait ends with room alone")
    }

    /// Waits until there is room for a message. Returns `None` if there is none and `is_over`
    /// returns true, which a wait checks every 100 ms: the waiting thread reads nothing, and so
    /// does not see the end of its connection.
    pub(in crate::kitex) fn take_unless(
        &self,
        len: usize,
        is_over: impl Fn() -> bool,
    ) -> Option<Place> {
        let size = len + EACH;
        let is_full = |taken: &mut usize| *taken > 0 && *taken + size > ROOM;
        let mut taken = self.0.taken.lock().expect("no panic under the lock");
        while is_full(&mut taken) {
            if is_over() {
                return None;
            }
            let waited = self.0.freed.wait_timeout_while(taken, LOOK, is_full);
            (taken, _) = waited.expect("no panic under the lock");
        }
        *taken += size;
        Some(Place { room: Arc::clone(&self.0), size })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.room.taken.lock().expect("no panic under the lock") -= self.size;
        self.room.freed.notify_one();
    }
}
