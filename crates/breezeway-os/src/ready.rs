//! Waiting for a descriptor, or for one of several.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::deadline::Deadline;

/// `poll(2)`: waits until one of `events`, an error or a hang-up occurs on `fd`. Returns false if
/// the deadline passed first. A signal does not end the wait.
pub fn ready(fd: impl AsFd, events: PollFlags, deadline: Deadline) -> Result<bool, Errno> {
    any_ready(&mut [PollFd::new(&fd, events)], deadline)
}

/// Waits like [`ready`], for any of `fds`.
pub fn any_ready(fds: &mut [PollFd<'_>], deadline: Deadline) -> Result<bool, Errno> {
    loop {
        match poll(fds, deadline.timespec().as_ref()) {
            Ok(0) if deadline.has_passed() => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(errno) => return Err(errno),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;

    #[test]
    fn readiness_is_reported_and_deadline_ends_wait() {
        let (one, mut other) = UnixStream::pair().unwrap();
        let soon = Deadline::after(Duration::from_millis(2));
        assert_eq!(ready(&one, PollFlags::IN, soon), Ok(false));
        other.write_all(&[1]).unwrap();
        assert_eq!(ready(&one, PollFlags::IN, Deadline::NEVER), Ok(true));
        assert_eq!(ready(&one, PollFlags::IN, soon), Ok(true), "also past the deadline");
    }

    #[test]
    fn a_hang_up_ends_the_wait() {
        let (one, other) = UnixStream::pair().unwrap();
        drop(other);
        assert_eq!(ready(&one, PollFlags::IN, Deadline::NEVER), Ok(true));
    }
}
