//! The writing side of a connection that several threads serve.

use std::sync::Mutex;

use super::connected::Connected;
use crate::error::Error;

/// The writing side of a connection that several threads serve.
pub(super) struct Output {
    socket: Connected,
    /// Held from the first byte of a message or frame to its last.
    turn: Mutex<()>,
}

impl Output {
    pub(super) fn new(socket: Connected) -> Self {
        Self { socket, turn: Mutex::default() }
    }

    pub(super) fn socket(&self) -> &Connected {
        &self.socket
    }

    /// Writes whole messages or frames, between those of other threads. A failure ends the
    /// connection: its client would wait for the rest, or continue to read in the middle of a
    /// message.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        let _turn = self.turn.lock().expect("no panic under the lock");
        let written = self.socket.write(bytes, None);
        if written.is_err() {
            self.socket.shut_down();
        }
        written
    }
}
