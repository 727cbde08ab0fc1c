//! A client that speaks the protocol by hand and can put anything anywhere.

use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::{pread, pwrite};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::victim::PATIENCE;

/// Two lists, of 511 slices of 1004 bytes and of 127 slices of 4076, in 1 MiB: the recorded layout.
pub(crate) const BUFFER: u64 = 1 << 20;
pub(crate) const LISTS: [(u64, u32, u32); 2] = [(8, 511, 1004), (523_308, 127, 4076)];
pub(crate) const FIRST_SLICE: u32 = 44;
pub(crate) const SECOND_SLICE: u32 = 1068;
/// Two rings of 16 elements.
pub(crate) const QUEUE: u64 = 432;
const CAPACITY: u32 = 16;

pub(crate) const WAKE: [u8; 8] = [0, 0, 0, 8, 0x77, 0x58, 3, 1];

/// A message: type, and what follows the header; the length is that of both.
pub(crate) fn message(version: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    message_of_length(8 + body.len() as u32, version, kind, body)
}

/// A message with a length that may be a lie.
pub(crate) fn message_of_length(length: u32, version: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend([0x77, 0x58, version, kind]);
    bytes.extend(body);
    bytes
}

/// The names of both regions, as they follow the header.
pub(crate) fn names(queue: &str, buffer: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for name in [queue, buffer] {
        body.extend((name.len() as u16).to_be_bytes());
        body.extend(name.as_bytes());
    }
    body
}

pub(crate) fn dial(path: &Path) -> UnixStream {
    let socket = UnixStream::connect(path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Reads until the other side closes; panics if it does not.
pub(crate) fn read_to_end(socket: &mut UnixStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match socket.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the other side does not close: {error}"),
    }
    bytes
}

pub(crate) fn memfd(size: u64) -> OwnedFd {
    let fd = memfd_create("hostile", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&fd, size).unwrap();
    fd
}

pub(crate) fn set(fd: &OwnedFd, at: u64, value: u32) {
    assert_eq!(pwrite(fd, &value.to_le_bytes(), at).unwrap(), 4);
}

pub(crate) fn get(fd: &OwnedFd, at: u64) -> u32 {
    let mut bytes = [0; 4];
    assert_eq!(pread(fd, &mut bytes, at).unwrap(), 4);
    u32::from_le_bytes(bytes)
}

/// All bytes of a region.
pub(crate) fn contents(file: &OwnedFd) -> Vec<u8> {
    let mut bytes = vec![0; rustix::fs::fstat(file).unwrap().st_size as usize];
    assert_eq!(pread(file, &mut bytes, 0).unwrap(), bytes.len());
    bytes
}

/// A queue region as a well-behaved client makes it.
pub(crate) fn queue_region() -> OwnedFd {
    let fd = memfd(QUEUE);
    for base in [0, QUEUE / 2] {
        set(&fd, base, CAPACITY);
    }
    fd
}

/// A buffer region as a well-behaved client makes it.
pub(crate) fn buffer_region() -> OwnedFd {
    let fd = memfd(BUFFER);
    set(&fd, 0, LISTS.len() as u32);
    set(&fd, 4, 0x000f_ec48);
    for (header, count, capacity) in LISTS {
        let stride = 20 + capacity;
        for (at, value) in [(0, count), (4, count), (12, (count - 1) * stride), (16, capacity)] {
            set(&fd, header + at, value);
        }
        for index in 0..count {
            let slice = header + 36 + u64::from(index * stride);
            set(&fd, slice, capacity);
            if index + 1 < count {
                set(&fd, slice + 12, (index + 1) * stride);
                set(&fd, slice + 16, 1);
            }
        }
    }
    fd
}

/// A session of which every byte can be written.
pub(crate) struct RawClient {
    pub(crate) socket: UnixStream,
    pub(crate) queue: OwnedFd,
    pub(crate) buffer: OwnedFd,
    put: u32,
    taken: u32,
}

impl RawClient {
    /// A session like any other.
    pub(crate) fn connect(path: &Path) -> Self {
        let mut raw = Self::offer(path, queue_region(), buffer_region(), "same name");
        let mut mapped = [0; 8];
        raw.socket.read_exact(&mut mapped).unwrap();
        assert_eq!(mapped, [0, 0, 0, 8, 0x77, 0x58, 3, 6]);
        raw
    }

    /// The handshake up to the point where the server judges the regions.
    pub(crate) fn offer(path: &Path, queue: OwnedFd, buffer: OwnedFd, name: &str) -> Self {
        let mut socket = dial(path);
        let mut answer = [0; 8];
        socket.write_all(&message(3, 4, &[])).unwrap();
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [0, 0, 0, 8, 0x77, 0x58, 3, 4]);
        socket.write_all(&message(3, 5, &names(name, name))).unwrap();
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [0, 0, 0, 8, 0x77, 0x58, 3, 7]);
        send_descriptors(&socket, &[&buffer, &queue]);
        Self { socket, queue, buffer, put: 0, taken: 0 }
    }

    /// Wakes the server, which may have ended the session already.
    pub(crate) fn wake(&mut self) {
        let _ = self.socket.write_all(&WAKE);
    }

    /// Puts an element and wakes the server.
    pub(crate) fn put(&mut self, stream: u32, offset: u32, status: u32) {
        self.put_quietly(stream, offset, status);
        self.wake();
    }

    /// Puts an element and wakes nobody.
    pub(crate) fn put_quietly(&mut self, stream: u32, offset: u32, status: u32) {
        let at = 24 + 12 * u64::from(self.put % CAPACITY);
        for (place, value) in [stream, offset, status].into_iter().enumerate() {
            set(&self.queue, at + 4 * place as u64, value);
        }
        self.put += 1;
        set(&self.queue, 12, self.put);
    }

    /// Fills a slice with a header and bytes.
    pub(crate) fn fill(&self, offset: u32, header: SliceHeader, bytes: &[u8]) {
        let at = u64::from(offset);
        for (place, value) in
            [header.capacity, header.size, header.start, header.next, header.flags]
                .into_iter()
                .enumerate()
        {
            set(&self.buffer, at + 4 * place as u64, value);
        }
        pwrite(&self.buffer, bytes, at + 20).unwrap();
    }

    /// Takes a slice of list 0 off the free list.
    pub(crate) fn take_slice(&self) -> u32 {
        let slice = FIRST_SLICE + get(&self.buffer, 16);
        set(&self.buffer, 8, get(&self.buffer, 8) - 1);
        set(&self.buffer, 16, get(&self.buffer, u64::from(slice) + 12));
        slice
    }

    /// Sends `bytes` on `stream` in one slice.
    pub(crate) fn send(&mut self, stream: u32, bytes: &[u8]) {
        let slice = self.take_slice();
        self.fill(slice, SliceHeader::of(bytes), bytes);
        self.put(stream, slice, 0);
    }

    /// Waits until the server has put so many elements in all, and takes none.
    pub(crate) fn wait_for_replies(&self, count: u32) {
        let start = Instant::now();
        while get(&self.queue, QUEUE / 2 + 12) != count {
            assert!(start.elapsed() < PATIENCE, "no reply {count}");
            std::thread::yield_now();
        }
    }

    /// Waits for an element of the server's: stream, offset, status.
    pub(crate) fn take(&mut self) -> [u32; 3] {
        let base = QUEUE / 2;
        while get(&self.queue, base + 12) == self.taken {
            let mut wake = [0; 8];
            self.socket.read_exact(&mut wake).unwrap();
            set(&self.queue, base + 20, 0);
        }
        let at = base + 24 + 12 * u64::from(self.taken % CAPACITY);
        self.taken += 1;
        set(&self.queue, base + 4, self.taken);
        [0, 4, 8].map(|place| get(&self.queue, at + place))
    }

    /// The payload of the slice at `offset`.
    pub(crate) fn payload(&self, offset: u32) -> Vec<u8> {
        let at = u64::from(offset);
        let mut bytes = vec![0; get(&self.buffer, at + 4) as usize];
        pread(&self.buffer, &mut bytes, at + 20).unwrap();
        bytes
    }

    /// Whether the server ends the session; panics if it does not.
    pub(crate) fn expect_ejection(mut self) {
        read_to_end(&mut self.socket);
    }
}

/// A slice's header, which may be a lie.
#[derive(Clone, Copy)]
pub(crate) struct SliceHeader {
    pub(crate) capacity: u32,
    pub(crate) size: u32,
    pub(crate) start: u32,
    pub(crate) next: u32,
    pub(crate) flags: u32,
}

impl SliceHeader {
    /// What a well-behaved sender writes into a slice of list 0.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { capacity: 1004, size: bytes.len() as u32, start: 0, next: 0, flags: 2 }
    }
}

pub(crate) fn send_descriptors(socket: &UnixStream, descriptors: &[&OwnedFd]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    if !borrowed.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(&borrowed)));
    }
    sendmsg(socket, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL).unwrap();
}
