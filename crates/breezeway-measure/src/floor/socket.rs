//! Bytes through a stream socket (unix or TCP) and back, with the content touched as in
//! [`touched`](super::touched).

use super::spin::Patience;
use super::{FloorError, MEASURER_PATIENCE, PARTNER_PATIENCE, sample};
use crate::pattern;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, RecvFlags, SendFlags};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Way in which a side waits for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receive {
    /// `recv` sleeps until there is something.
    Blocking,
    /// `recv(MSG_DONTWAIT)` again and again.
    Spinning,
}

/// Number of system calls between two readings of the clock: some tens of microseconds.
const CALLS_PER_CHECK: u32 = 1 << 8;

/// Appends the ticks of each round trip of `size` bytes to `samples`, until it is filled to its
/// capacity or `budget` ticks have passed. The partner's [`answer`] returns when `socket` is
/// closed.
///
/// # Errors
///
/// [`FloorError::PartnerGone`] and [`FloorError::NoAnswer`] if the partner does not run,
/// [`FloorError::WrongContent`] if it returns something else.
pub(crate) fn measure(
    socket: impl AsFd,
    size: usize,
    receive: Receive,
    budget: u64,
    samples: &mut Vec<u64>,
) -> Result<(), FloorError> {
    let stream = Stream::new(socket.as_fd(), receive, MEASURER_PATIENCE)?;
    // A stream carries no empty messages.
    let mut buffer = vec![0; size.max(1)];
    sample(budget, samples, |round| {
        let seed = pattern::seed(round);
        pattern::fill(&mut buffer, seed);
        stream.send(&buffer)?;
        if !stream.receive(&mut buffer)? {
            return Err(FloorError::PartnerGone);
        }
        let right = pattern::matches(&buffer, seed);
        if right { Ok(()) } else { Err(FloorError::WrongContent { size, round }) }
    })
}

/// Returns every `size` bytes until the peer closes the socket.
///
/// # Errors
///
/// [`FloorError::NoAnswer`] if the measuring side falls silent, [`FloorError::PartnerGone`] if it
/// goes away in the middle of a round trip.
pub(crate) fn answer(socket: impl AsFd, size: usize, receive: Receive) -> Result<(), FloorError> {
    let stream = Stream::new(socket.as_fd(), receive, PARTNER_PATIENCE)?;
    let mut buffer = vec![0; size.max(1)];
    while stream.receive(&mut buffer)? {
        stream.send(&buffer)?;
    }
    Ok(())
}

/// A socket, how to wait for it, and for how long.
struct Stream<'a> {
    socket: BorrowedFd<'a>,
    receive: Receive,
    patience: Duration,
}

impl<'a> Stream<'a> {
    fn new(
        socket: BorrowedFd<'a>,
        receive: Receive,
        patience: Duration,
    ) -> Result<Self, FloorError> {
        for direction in [Timeout::Recv, Timeout::Send] {
            sockopt::set_socket_timeout(socket, direction, Some(patience))
                .map_err(FloorError::system("setsockopt"))?;
        }
        Ok(Self { socket, receive, patience })
    }

    fn send(&self, mut bytes: &[u8]) -> Result<(), FloorError> {
        while !bytes.is_empty() {
            match net::send(self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(FloorError::NoAnswer(self.patience)),
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(FloorError::PartnerGone),
                Err(source) => return Err(FloorError::System { call: "send", source }),
            }
        }
        Ok(())
    }

    /// Fills `buffer`; false if the peer closed the socket before its first byte.
    fn receive(&self, buffer: &mut [u8]) -> Result<bool, FloorError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.receive_some(&mut buffer[filled..])? {
                0 if filled == 0 => return Ok(false),
                0 => return Err(FloorError::PartnerGone),
                count => filled += count,
            }
        }
        Ok(true)
    }

    fn receive_some(&self, buffer: &mut [u8]) -> Result<usize, FloorError> {
        let flags = match self.receive {
            Receive::Blocking => RecvFlags::empty(),
            Receive::Spinning => RecvFlags::DONTWAIT,
        };
        let mut patience = Patience::new(self.patience);
        loop {
            for _ in 0..CALLS_PER_CHECK {
                match net::recv(self.socket, &mut *buffer, flags) {
                    Ok((_, count)) => return Ok(count),
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) if self.receive == Receive::Spinning => {}
                    Err(Errno::AGAIN) => return Err(FloorError::NoAnswer(self.patience)),
                    Err(Errno::CONNRESET) => return Err(FloorError::PartnerGone),
                    Err(source) => return Err(FloorError::System { call: "recv", source }),
                }
            }
            patience.check()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn both_ways_of_waiting_echo_the_bytes() {
        for receive in [Receive::Blocking, Receive::Spinning] {
            for size in [0, 1, 64, 300_000] {
                let (ours, theirs) = UnixStream::pair().unwrap();
                let partner = std::thread::spawn(move || answer(&theirs, size, receive));
                let mut samples = Vec::with_capacity(5);
                measure(&ours, size, receive, u64::MAX, &mut samples).unwrap();
                assert_eq!(samples.len(), samples.capacity());
                drop(ours);
                assert_eq!(partner.join().unwrap(), Ok(()));
            }
        }
    }

    #[test]
    fn a_partner_that_is_gone_is_reported() {
        for receive in [Receive::Blocking, Receive::Spinning] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            drop(theirs);
            let outcome = measure(&ours, 64, receive, u64::MAX, &mut Vec::with_capacity(1));
            assert_eq!(outcome, Err(FloorError::PartnerGone));
        }
    }

    #[test]
    fn a_partner_that_leaves_in_the_middle_of_an_answer_is_reported() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"half").unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        let outcome = measure(&ours, 64, Receive::Blocking, u64::MAX, &mut Vec::with_capacity(1));
        assert_eq!(outcome, Err(FloorError::PartnerGone));
    }

    #[test]
    fn measurer_leaving_within_a_message_is_reported() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(b"half").unwrap();
        drop(ours);
        assert_eq!(answer(&theirs, 64, Receive::Spinning), Err(FloorError::PartnerGone));
    }

    #[test]
    fn a_silent_partner_ends_the_wait() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let limit = Duration::from_millis(2);
        for receive in [Receive::Blocking, Receive::Spinning] {
            let stream = Stream::new(ours.as_fd(), receive, limit).unwrap();
            assert_eq!(stream.receive(&mut [0]), Err(FloorError::NoAnswer(limit)));
        }
    }

    #[test]
    fn a_partner_that_does_not_read_ends_the_wait() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let limit = Duration::from_millis(2);
        let stream = Stream::new(ours.as_fd(), Receive::Blocking, limit).unwrap();
        assert_eq!(stream.send(&vec![0; 1 << 24]), Err(FloorError::NoAnswer(limit)));
    }

    #[test]
    fn changed_content_is_found_out() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let partner = std::thread::spawn(move || {
            let mut buffer = [0; 64];
            theirs.read_exact(&mut buffer).unwrap();
            buffer[63] ^= 1;
            theirs.write_all(&buffer).unwrap();
        });
        let outcome = measure(&ours, 64, Receive::Blocking, u64::MAX, &mut Vec::with_capacity(1));
        assert_eq!(outcome, Err(FloorError::WrongContent { size: 64, round: 1 }));
        partner.join().unwrap();
    }

    #[test]
    fn a_descriptor_that_is_no_socket_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let outcome = answer(&file, 1, Receive::Blocking);
        assert!(matches!(outcome, Err(FloorError::System { call: "setsockopt", .. })));
    }
}
