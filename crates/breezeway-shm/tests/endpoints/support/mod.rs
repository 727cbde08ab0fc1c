//! Two endpoints of one session in one process, and their control segments as a tool sees them.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use breezeway_shm::{ControlSegment, Endpoint, ForeignControl, Limits, SocketError, Want};

/// Flags of the first message of a stream and of the last one: the endpoint passes them on.
pub(crate) const OPEN: u8 = 0x01;
pub(crate) const FIN: u8 = 0x02;

/// A control segment, read through its descriptor.
pub(crate) struct Tool(OwnedFd);

impl Tool {
    pub(crate) fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        let mut bytes = [0; N];
        let read = rustix::io::pread(&self.0, &mut bytes, offset as u64).expect("pread");
        assert_eq!(read, N, "the segment ends before {offset:#x} + {N}");
        bytes
    }

    pub(crate) fn word(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.bytes(offset))
    }
}

/// Terms that both sides agree on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) ring_capacity: u32,
    pub(crate) lend_count: u32,
    pub(crate) cap: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self { ring_capacity: 64, lend_count: 512, cap: 64 << 20 }
    }
}

/// Two ends, and a view of the bytes that each of them writes.
pub(crate) struct Pair {
    pub(crate) one: Endpoint,
    pub(crate) other: Endpoint,
    pub(crate) one_control: Tool,
    pub(crate) other_control: Tool,
}

impl Pair {
    pub(crate) fn new(terms: Terms) -> Self {
        Self::with_limits(terms, Limits::new(terms.cap))
    }

    pub(crate) fn with_limits(terms: Terms, limits: Limits) -> Self {
        let (one_socket, other_socket) = UnixStream::pair().unwrap();
        let segment = || ControlSegment::create(terms.ring_capacity, terms.lend_count).unwrap();
        let ((one, one_fd), (other, other_fd)) = (segment(), segment());
        let tool = |fd: &OwnedFd| Tool(fd.try_clone().unwrap());
        let (one_control, other_control) = (tool(&one_fd), tool(&other_fd));
        let accept =
            |fd| ForeignControl::accept(fd, terms.ring_capacity, terms.lend_count).unwrap();
        Self {
            one: Endpoint::new(one_socket.into(), one, accept(other_fd), limits),
            other: Endpoint::new(other_socket.into(), other, accept(one_fd), limits),
            one_control,
            other_control,
        }
    }
}

/// Takes the next message, skipping entries about segments, of which [`Endpoint::take`] handles one
/// per call.
pub(crate) fn take(endpoint: &mut Endpoint) -> Result<bool, SocketError> {
    loop {
        if endpoint.take()? {
            return Ok(true);
        }
        if !endpoint.has(Want::Data)? {
            return Ok(false);
        }
    }
}
