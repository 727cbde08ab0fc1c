//! A peer made of fuzzer input: memory that it rewrites, entries and descriptors of its making, bytes and file descriptors on the socket.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use arbitrary::Arbitrary;
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// Where the ring begins in a control segment.
pub const RING_AT: usize = 0x1000;
/// Size of an entry.
pub const ENTRY: usize = 128;

/// A sealed memfd that its owner can still write.
pub struct Shared {
    /// What is sent to the other side.
    pub fd: OwnedFd,
    address: *mut u8,
    len: usize,
}

impl Shared {
    /// One that follows the rules.
    pub fn new(len: usize) -> Self {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create(c"fuzz", flags).unwrap();
        ftruncate(&fd, len as u64).unwrap();
        fallocate(&fd, FallocateFlags::empty(), 0, len as u64).unwrap();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice aliases no Rust object.
        let address =
            unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, &fd, 0) };
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
        fcntl_add_seals(&fd, seals).unwrap();
        Self { fd, address: address.unwrap().cast(), len }
    }

    /// Its size.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Rewrites a byte, at an offset modulo the size.
    pub fn set_byte(&self, at: usize, value: u8) {
        // SAFETY: inside the mapping, which lives as long as `self`.
        let byte = unsafe { AtomicU8::from_ptr(self.address.add(at % self.len)) };
        byte.store(value, Ordering::Relaxed);
    }

    /// Rewrites the word at an offset, which is inside.
    pub fn set_word(&self, at: usize, value: u64) {
        self.word(at).store(value, Ordering::Release);
    }

    /// Reads a word.
    pub fn get_word(&self, at: usize) -> u64 {
        self.word(at).load(Ordering::Acquire)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at % 8 == 0 && at + 8 <= self.len);
        // SAFETY: inside the mapping, and aligned.
        unsafe { AtomicU64::from_ptr(self.address.add(at).cast()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; references into it borrow `self`.
        let _ = unsafe { munmap(self.address.cast(), self.len) };
    }
}

/// An entry with any fields.
#[derive(Arbitrary, Clone, Debug)]
pub struct RawEntry {
    /// Mostly a kind that is used.
    pub kind: u8,
    /// Flag bits.
    pub flags: u8,
    /// Inline length.
    pub len: u16,
    /// Stream number.
    pub stream: u32,
    /// Tag.
    pub tag: u32,
    /// 1 + a lend number.
    pub released: u16,
    /// Its body, repeated to fill the entry.
    pub body: [u8; 24],
}

impl RawEntry {
    /// A message whose body is a descriptor.
    pub fn lending(flags: u8, stream: u32, descriptor: &RawDescriptor) -> Self {
        let mut body = [0; 24];
        body[0..4].copy_from_slice(&u32::from(descriptor.segment).to_le_bytes());
        body[4..8].copy_from_slice(&u32::from(descriptor.lend).to_le_bytes());
        body[8..16].copy_from_slice(&descriptor.offset.value().to_le_bytes());
        body[16..24].copy_from_slice(&descriptor.len.value().to_le_bytes());
        Self { kind: 1, flags: flags | 0x04, len: 24, stream, tag: 0, released: 0, body }
    }

    /// An entry about a segment.
    pub fn segment(kind: u8, number: u32, size: u64) -> Self {
        let mut body = [0; 24];
        body[..8].copy_from_slice(&size.to_le_bytes());
        Self { kind, flags: 0, len: 8, stream: 0, tag: number, released: 0, body }
    }

    /// Words 1..16.
    pub fn words(&self) -> [u64; 15] {
        let mut words = [0; 15];
        words[0] = u64::from(self.kind)
            | u64::from(self.flags) << 8
            | u64::from(self.len) << 16
            | u64::from(self.stream) << 32;
        words[1] = u64::from(self.tag) | u64::from(self.released) << 32;
        for (word, index) in words[2..].iter_mut().zip(0..) {
            let at = index % 3 * 8;
            *word = u64::from_le_bytes(self.body[at..at + 8].try_into().unwrap());
        }
        words
    }
}

/// A number as attackers like them.
#[derive(Arbitrary, Clone, Debug)]
pub enum Number {
    /// Around zero.
    Small(u16),
    /// Around the largest.
    Large(u8),
    /// Around a power of two.
    Power(u8, i8),
    /// Any.
    Any(u64),
}

impl Number {
    /// Its value.
    pub fn value(&self) -> u64 {
        match *self {
            Self::Small(value) => value.into(),
            Self::Large(less) => u64::MAX - u64::from(less),
            Self::Power(power, near) => (1u64 << (power % 64)).wrapping_add_signed(near.into()),
            Self::Any(value) => value,
        }
    }
}

/// Where a payload is said to lie.
#[derive(Arbitrary, Clone, Debug)]
pub struct RawDescriptor {
    /// Segment number.
    pub segment: u8,
    /// Lend number.
    pub lend: u16,
    /// Offset.
    pub offset: Number,
    /// Length.
    pub len: Number,
}

/// What a file descriptor is.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Descriptor {
    /// A fit segment of a page.
    Page,
    /// A fit segment of 64 KiB.
    Large,
    /// Half of it is a hole.
    Hole,
    /// Without seals.
    Unsealed,
    /// A pipe.
    Pipe,
}

impl Descriptor {
    /// Opens one.
    pub fn open(self) -> OwnedFd {
        let sparse = |size: u64| {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let fd = memfd_create(c"fuzz", flags).unwrap();
            ftruncate(&fd, size).unwrap();
            fd
        };
        match self {
            Self::Page => Shared::new(4096).fd.try_clone().unwrap(),
            Self::Large => Shared::new(65_536).fd.try_clone().unwrap(),
            Self::Hole => {
                let fd = sparse(8192);
                fallocate(&fd, FallocateFlags::empty(), 0, 4096).unwrap();
                fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::FUTURE_WRITE).unwrap();
                fd
            }
            Self::Unsealed => sparse(4096),
            Self::Pipe => std::io::pipe().unwrap().0.into(),
        }
    }
}

/// Sends bytes with descriptors, without blocking and whatever comes of it.
pub fn send(socket: impl AsFd, bytes: &[u8], fds: &[OwnedFd]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds: Vec<BorrowedFd<'_>> = fds.iter().take(16).map(AsFd::as_fd).collect();
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&fds));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let _ = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags);
}

/// A control segment of the peer, with the position of its next entry.
pub struct Control {
    /// Its memory.
    pub shared: Shared,
    capacity: u64,
    /// Position of the next entry.
    pub tail: u64,
}

impl Control {
    /// An idle one.
    pub fn new(capacity: u32) -> Self {
        let len = (RING_AT + ENTRY * capacity as usize).next_multiple_of(4096);
        let shared = Shared::new(len);
        shared.set_word(0x100, u64::MAX);
        shared.set_word(0x108, u64::MAX);
        Self { shared, capacity: capacity.into(), tail: 0 }
    }

    /// Where an entry lies.
    pub fn slot(&self, position: u64) -> usize {
        RING_AT + ENTRY * (position % self.capacity) as usize
    }

    /// Publishes an entry, room or not.
    pub fn publish(&mut self, entry: &RawEntry) {
        let slot = self.slot(self.tail);
        for (index, word) in entry.words().into_iter().enumerate() {
            self.shared.set_word(slot + 8 * (index + 1), word);
        }
        self.shared.set_word(slot, self.tail + 1);
        self.tail += 1;
    }
}
