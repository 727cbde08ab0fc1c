//! File descriptors that a stranger sent: closing one may block.
//!
//! `close(2)` waits for a FUSE daemon's answer, or as long as a socket lingers, and both may be the stranger's. Only memfds, which have seals, are closed at once; whatever else came is
//! closed by a thread of its own.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::fs::fcntl_get_seals;

/// A descriptor from the other side, of which nothing is known yet.
#[derive(Debug)]
pub struct ForeignDescriptor(Option<OwnedFd>);

impl From<OwnedFd> for ForeignDescriptor {
    fn from(fd: OwnedFd) -> Self {
        Self(Some(fd))
    }
}

impl ForeignDescriptor {
    /// The descriptor, to be looked at: asking for its seals blocks on no kind of file.
    pub(crate) fn get(&self) -> &OwnedFd {
        self.0.as_ref().expect("present until dropped")
    }
}

/// For what blocks on no kind of file, such as asking for its seals.
impl AsFd for ForeignDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get().as_fd()
    }
}

impl Drop for ForeignDescriptor {
    fn drop(&mut self) {
        let Some(fd) = self.0.take() else { return };
        if fcntl_get_seals(&fd).is_err()
            && let Some(closer) = closer()
        {
            // The thread lives as long as the process.
            let _ = closer.send(fd);
        }
    }
}

/// The thread that closes what may block. `None` if it could not be started: then there is no better way than to close here.
fn closer() -> Option<&'static Sender<OwnedFd>> {
    static CLOSER: OnceLock<Option<Sender<OwnedFd>>> = OnceLock::new();
    let start = || {
        let (sender, receiver) = channel::<OwnedFd>();
        let builder = thread::Builder::new().name("breezeway-close".to_owned());
        builder.spawn(move || receiver.into_iter().for_each(drop)).ok()?;
        Some(sender)
    };
    CLOSER.get_or_init(start).as_ref()
}
