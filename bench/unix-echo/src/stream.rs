//! A connection and how to wait on it.

use clap::ValueEnum;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The largest message that a connection may announce: the default limit of `breezeway`.
pub(crate) const LARGEST: u32 = 64 << 20;

/// Time limit of the announcement. Afterwards a connection has no time limits, because a timer per
/// system call would make the bare socket slower than it is.
const HANDSHAKE: Duration = Duration::from_secs(2);

/// Way in which a side waits for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wait {
    Block,
    Spin,
}

impl Wait {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Spin => "spin",
        }
    }

    fn flags(self) -> RecvFlags {
        match self {
            Self::Block => RecvFlags::empty(),
            Self::Spin => RecvFlags::DONTWAIT,
        }
    }
}

/// A connection with messages of one size.
pub(crate) struct Stream {
    socket: UnixStream,
    flags: RecvFlags,
}

impl Stream {
    /// Announces the size of all messages and waits until the server has agreed.
    pub(crate) fn announce(mut socket: UnixStream, size: u32, wait: Wait) -> io::Result<Self> {
        socket.set_read_timeout(Some(HANDSHAKE))?;
        socket.write_all(&size.to_le_bytes())?;
        if read_size(&mut socket)? != size {
            return Err(ErrorKind::InvalidData.into());
        }
        Self::new(socket, wait)
    }

    /// Takes the announcement of the peer and agrees.
    pub(crate) fn agree(mut socket: UnixStream, wait: Wait) -> io::Result<(Self, usize)> {
        socket.set_read_timeout(Some(HANDSHAKE))?;
        let size = read_size(&mut socket)?;
        if !(1..=LARGEST).contains(&size) {
            return Err(ErrorKind::InvalidData.into());
        }
        socket.write_all(&size.to_le_bytes())?;
        Ok((Self::new(socket, wait)?, size as usize))
    }

    fn new(socket: UnixStream, wait: Wait) -> io::Result<Self> {
        socket.set_read_timeout(None)?;
        Ok(Self { socket, flags: wait.flags() })
    }

    /// Sends all of `message`.
    pub(crate) fn send(&self, mut message: &[u8]) -> io::Result<()> {
        while !message.is_empty() {
            match net::send(&self.socket, message, SendFlags::NOSIGNAL) {
                Ok(count) => message = &message[count..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Fills `message`; false if the peer closed the connection before its first byte.
    pub(crate) fn receive(&self, message: &mut [u8]) -> io::Result<bool> {
        let mut filled = 0;
        while filled < message.len() {
            match net::recv(&self.socket, &mut message[filled..], self.flags) {
                Ok((_, 0)) if filled == 0 => return Ok(false),
                Ok((_, 0)) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok((_, count)) => filled += count,
                // Under `Wait::Spin` the next try follows at once.
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

fn read_size(socket: &mut UnixStream) -> io::Result<u32> {
    let mut bytes = [0; 4];
    socket.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn echo(size: u32, wait: Wait) -> Vec<u8> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = thread::spawn(move || {
            let (stream, size) = Stream::agree(theirs, wait).unwrap();
            let mut message = vec![0; size];
            assert!(stream.receive(&mut message).unwrap());
            stream.send(&message).unwrap();
            assert!(!stream.receive(&mut message).unwrap());
        });
        let stream = Stream::announce(ours, size, wait).unwrap();
        stream.send(&vec![7; size as usize]).unwrap();
        let mut answer = vec![0; size as usize];
        assert!(stream.receive(&mut answer).unwrap());
        drop(stream);
        server.join().unwrap();
        answer
    }

    #[test]
    fn both_ways_of_waiting_echo_the_bytes() {
        for wait in [Wait::Block, Wait::Spin] {
            for size in [1, 64, 3 << 20] {
                assert_eq!(echo(size, wait), vec![7; size as usize]);
            }
        }
    }

    #[test]
    fn a_size_out_of_bounds_is_refused_before_any_memory_is_taken() {
        for size in [0, LARGEST + 1, u32::MAX] {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(&size.to_le_bytes()).unwrap();
            let refused = Stream::agree(theirs, Wait::Block).err().unwrap();
            assert_eq!(refused.kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn connection_ending_within_a_message_is_an_error() {
        for wait in [Wait::Block, Wait::Spin] {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(&64_u32.to_le_bytes()).unwrap();
            ours.write_all(&[1; 63]).unwrap();
            let (stream, size) = Stream::agree(theirs, wait).unwrap();
            // Shut down rather than dropped: unread bytes would turn the end into a reset.
            ours.shutdown(std::net::Shutdown::Write).unwrap();
            let error = stream.receive(&mut vec![0; size]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn a_server_that_speaks_something_else_is_refused() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"HTTP/1.1 400\r\n").unwrap();
        assert!(Stream::announce(ours, 64, Wait::Block).is_err());
    }
}
