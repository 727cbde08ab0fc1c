//! One read and one write of a plain stream socket; their results are those of TLS too.

use std::io::IoSlice;
use std::os::fd::AsFd;

use breezeway_os::shortage;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// `len` bytes came, at least one.
    Bytes {
        len: usize,
        /// True if a further read may find something at once.
        more: bool,
    },
    /// The given number of bytes came, in records without plaintext: TLS's own, or empty ones. A
    /// further read may find something at once, which the socket reports, but which may again be
    /// only such records.
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "only TLS has bytes of its own"))]
    NoPlaintext(usize),
    /// Nothing is there now.
    Nothing,
    /// Nothing will come any more.
    End,
}

/// Result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// The given number of bytes went out, or within TLS go out before any others.
    Bytes(usize),
    /// There is no room now.
    Full,
    /// The peer reads no more.
    End,
}

/// Reads a plain socket once.
pub(crate) fn read(socket: impl AsFd, room: &mut [u8], flags: RecvFlags) -> Result<Read, Errno> {
    let size = room.len();
    read_by(size, || recv(&socket, &mut *room, flags).map(|(_, len)| len))
}

/// Reads once by `call` into a room of `size` bytes.
pub(super) fn read_by(
    size: usize,
    mut call: impl FnMut() -> Result<usize, Errno>,
) -> Result<Read, Errno> {
    loop {
        return match shortage::retry(&mut call) {
            Ok(0) | Err(Errno::CONNRESET | Errno::TIMEDOUT | Errno::PIPE) => Ok(Read::End),
            Ok(len) => Ok(Read::Bytes { len, more: len == size }),
            Err(Errno::AGAIN) => Ok(Read::Nothing),
            // A signal does not mean that nothing is there, and no event comes for it again.
            Err(Errno::INTR) => continue,
            Err(errno) => Err(errno),
        };
    }
}

/// Writes to a plain socket once.
pub(crate) fn write(
    socket: impl AsFd,
    slices: &[IoSlice<'_>],
    flags: SendFlags,
) -> Result<Write, Errno> {
    let flags = flags | SendFlags::NOSIGNAL;
    let outcome = shortage::retry(|| match slices {
        [only] => send(&socket, only, flags),
        several => sendmsg(&socket, several, &mut SendAncillaryBuffer::default(), flags),
    });
    match outcome {
        Ok(len) => Ok(Write::Bytes(len)),
        Err(Errno::AGAIN) => Ok(Write::Full),
        Err(Errno::INTR) => Ok(Write::Bytes(0)),
        Err(Errno::PIPE | Errno::CONNRESET | Errno::TIMEDOUT) => Ok(Write::End),
        Err(errno) => Err(errno),
    }
}
