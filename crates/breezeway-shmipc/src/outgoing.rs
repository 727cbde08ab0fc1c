//! Output over the socket. A message that the socket accepts only in part is finished by the next
//! sender, so none is ever torn.

use std::os::fd::BorrowedFd;

use breezeway_os::shortage;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// Maximum of bytes that wait for the socket. Messages with payload are only sent when none wait,
/// so a peer that reads anything at all stays far below.
const MOST_PENDING: usize = 1 << 20;

/// Bytes that the socket has not accepted yet.
#[derive(Default)]
pub(crate) struct Outgoing {
    pending: Vec<u8>,
    sent: usize,
}

impl Outgoing {
    /// Sends `message` behind the pending bytes, without waiting; `ENOBUFS` if too many are
    /// pending. Returns true if the socket has accepted all.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>, message: &[u8]) -> Result<bool, Errno> {
        if !self.is_empty() {
            if self.pending.len() - self.sent > MOST_PENDING {
                return Err(Errno::NOBUFS);
            }
            // Sent bytes are dropped, and their memory is reused.
            if self.sent > MOST_PENDING {
                self.pending.drain(..self.sent);
                self.sent = 0;
            }
            self.pending.extend_from_slice(message);
            return self.flush(socket);
        }
        let sent = send_some(socket, message)?;
        self.pending.extend_from_slice(&message[sent..]);
        Ok(self.is_empty())
    }

    /// Sends like [`send`](Self::send), but only if nothing is pending; `None`, with nothing sent,
    /// if pending bytes are not accepted by the socket.
    pub(crate) fn send_if_idle(
        &mut self,
        socket: BorrowedFd<'_>,
        message: &[u8],
    ) -> Result<Option<bool>, Errno> {
        if !self.flush(socket)? {
            return Ok(None);
        }
        self.send(socket, message).map(Some)
    }

    /// Tries again to send the pending bytes. Returns true if the socket has accepted all.
    pub(crate) fn flush(&mut self, socket: BorrowedFd<'_>) -> Result<bool, Errno> {
        while !self.is_empty() {
            match send_some(socket, &self.pending[self.sent..])? {
                0 => return Ok(false),
                sent => self.sent += sent,
            }
        }
        self.pending.clear();
        self.sent = 0;
        Ok(true)
    }

    /// Returns true if the socket has accepted all.
    pub(crate) fn is_empty(&self) -> bool {
        self.sent == self.pending.len()
    }
}

/// Sends without waiting. Returns 0 if the socket accepts nothing now.
fn send_some(socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    loop {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match shortage::retry(|| send(socket, bytes, flags)) {
            Ok(count) => return Ok(count),
            Err(Errno::AGAIN) => return Ok(0),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use breezeway_adversary::interception::{Which, with_faults};

    use super::*;

    #[test]
    fn message_is_sent_after_a_passing_memory_shortage() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut errors = [Errno::NOBUFS, Errno::NOMEM].into_iter();
        let calls = [(libc::SYS_sendto, Which::All)];
        let sent = with_faults(
            &calls,
            |_| errors.next(),
            || Outgoing::default().send(ours.as_fd(), b"awake?"),
        );
        match sent {
            Ok(sent) => assert_eq!(sent, Ok(true)),
            Err(error) => return println!("SKIPPED: no system calls can be intercepted: {error}"),
        }
        assert_eq!(errors.next(), None, "nothing failed");
        let mut came = [0; 6];
        theirs.read_exact(&mut came).unwrap();
        assert_eq!(&came, b"awake?");
    }

    #[test]
    fn a_full_socket_tears_no_message() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut outgoing = Outgoing::default();
        let message: Vec<u8> = (0..100_000u32).map(|value| value as u8).collect();
        let mut messages = 0;
        while outgoing.send(ours.as_fd(), &message).unwrap() {
            messages += 1;
        }
        outgoing.send(ours.as_fd(), b"last").unwrap();
        let mut got = vec![0; (messages + 1) * message.len() + 4];
        let mut filled = 0;
        while filled < got.len() {
            filled += theirs.read(&mut got[filled..]).unwrap();
            outgoing.flush(ours.as_fd()).unwrap();
        }
        assert!(got[..filled - 4].chunks(message.len()).all(|chunk| chunk == message));
        assert_eq!(&got[filled - 4..], b"last");
        assert!(outgoing.is_empty());
    }

    #[test]
    fn pending_bytes_for_unreading_peer_are_bounded() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut outgoing = Outgoing::default();
        let error = loop {
            if let Err(error) = outgoing.send(ours.as_fd(), &[0; 8192]) {
                break error;
            }
        };
        assert_eq!(error, Errno::NOBUFS);
        assert!(outgoing.pending.len() <= MOST_PENDING + 2 * 8192);
    }
}
