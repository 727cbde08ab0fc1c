//! The part of the session socket that any thread uses: ringing.

use breezeway_os::{Connection, shortage};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::DOORBELL;

/// Thread-safe part of the session socket, used for ringing. It outlives the session as long as a
/// lease exists.
pub(crate) struct Bell {
    pub(super) socket: Connection,
}

impl Bell {
    /// Wakes a peer that announced that it sleeps. Returns false if the peer no longer reads. If
    /// the socket is full, the pending bytes wake the peer; if the peer is gone, end of file
    /// reports that.
    pub(crate) fn ring(&self) -> Result<bool, Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            match shortage::retry(|| send(&self.socket, &[DOORBELL], flags)) {
                Ok(_) | Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Ok(false),
                Err(errno) => return Err(errno),
            }
        }
    }
}
