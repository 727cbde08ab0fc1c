//! Shared memory that both processes write.
//!
//! Bytes that the peer can change are never behind a reference, unless the application vouches for
//! the peer. Words are atomics, payload is copied by opaque instructions, and every offset is
//! checked against the length, which is fixed when the region is mapped.

use std::io;
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use breezeway_os::TrustedPeer;
use breezeway_os::copy::{STREAM_FROM, copy_from_foreign, stream_fence, stream_from_foreign};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::guard::Guard;

/// A mapped region that both processes can read and write.
pub(crate) struct Region {
    address: NonNull<u8>,
    len: u32,
    /// Dropped before the memory is unmapped, so that no fault of a later mapping at this address
    /// is attributed to this region.
    guard: Option<Guard>,
    /// True if large copies into it go past the caches.
    streams: AtomicBool,
}

// SAFETY: a region is an address range that is accessed by atomics and opaque copies only; both
// allow any number of threads.
unsafe impl Send for Region {}
// SAFETY: a region is an address range that is accessed by atomics and opaque copies only; both
// allow any number of threads.
unsafe impl Sync for Region {}

impl Region {
    /// Maps the first `len` bytes of `file`. The peer may truncate it at any time: see
    /// [`Self::is_lost`].
    pub(crate) fn map(file: impl AsFd, len: u32) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice aliases no Rust object.
        let address = unsafe {
            mmap(
                std::ptr::null_mut(),
                len as usize,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )
        }?;
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut region = Self { address, len, guard: None, streams: AtomicBool::new(false) };
        region.guard = Some(Guard::watch(address.as_ptr() as usize, len as usize)?);
        // SAFETY: the advice concerns this mapping only, and a child that has none cannot disturb
        // our session. Nothing depends on its success.
        let _ = unsafe { madvise(address.as_ptr().cast(), len as usize, Advice::LinuxDontFork) };
        Ok(region)
    }

    /// Returns the size in bytes.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Returns true if the peer has truncated the file: from then on the region shows zeros.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.guard.as_ref().is_none_or(Guard::is_lost)
    }

    /// Returns the word at `at`. Upstream's layouts need not align those of buffers on x86-64.
    #[inline]
    pub(crate) fn word(&self, at: u32) -> Word<'_> {
        Word { pointer: self.pointer(at, 4).cast(), region: PhantomData }
    }

    /// Returns the aligned word at `at`.
    #[inline]
    fn aligned_word(&self, at: u32) -> &AtomicU32 {
        let pointer = self.pointer(at, 4).cast::<u32>();
        assert!(pointer.is_aligned(), "word at {at}");
        // SAFETY: in bounds, aligned and mapped for as long as the region lives; accessed as
        // atomics or opaque copies only.
        unsafe { AtomicU32::from_ptr(pointer) }
    }

    /// Returns the byte at `at`.
    #[inline]
    pub(crate) fn byte(&self, at: u32) -> &AtomicU8 {
        // SAFETY: in bounds and mapped for as long as the region lives; accessed as atomics or
        // opaque copies only.
        unsafe { AtomicU8::from_ptr(self.pointer(at, 1)) }
    }

    /// Returns the 64-bit count at `at`, which need not be aligned to more than 4.
    #[inline]
    pub(crate) fn count(&self, at: u32) -> Count<'_> {
        Count { low: self.aligned_word(at), high: self.aligned_word(at + 4) }
    }

    /// Copies bytes out. A concurrent change by the peer may be seen in part.
    #[inline]
    pub(crate) fn copy_to(&self, at: u32, to: &mut [u8]) {
        let from = self.pointer(at, to.len());
        // SAFETY: both ranges have the length of `to`, which is exclusively borrowed private memory
        // and so no part of the region.
        unsafe { copy_from_foreign(to.as_mut_ptr(), from, to.len()) }
    }

    /// Sets whether large copies into the region go past the caches, which pays if the peer's CPU
    /// is distant.
    #[inline]
    pub(crate) fn stream_large_copies(&self, pays: bool) {
        self.streams.store(pays, Ordering::Relaxed);
    }

    /// Copies bytes in.
    #[inline]
    pub(crate) fn copy_from(&self, at: u32, from: &[u8]) {
        let to = self.pointer(at, from.len());
        // SAFETY: both ranges have the length of `from`, which is private memory and so no part of
        // the region. The copies are opaque to the compiler, so a peer that writes there at the
        // same time, against the protocol, makes the bytes wrong and nothing else.
        unsafe {
            if from.len() < STREAM_FROM || !self.streams.load(Ordering::Relaxed) {
                copy_from_foreign(to, from.as_ptr(), from.len());
            } else {
                stream_from_foreign(to, from.as_ptr(), from.len());
                stream_fence();
            }
        }
    }

    /// Copies `len` bytes at `from` of another region to `to`, or of this one where the two do not
    /// overlap.
    pub(crate) fn copy_between(&self, source: &Self, from: u32, to: u32, len: usize) {
        let (source, target) = (source.pointer(from, len), self.pointer(to, len));
        assert!(source.addr().abs_diff(target.addr()) >= len, "copy onto itself");
        // SAFETY: both ranges are mapped for `len` bytes and do not overlap; the copies are opaque
        // to the compiler and tolerate whatever the peer writes at the same time.
        unsafe {
            if len < STREAM_FROM || !self.streams.load(Ordering::Relaxed) {
                copy_from_foreign(target, source, len);
            } else {
                stream_from_foreign(target, source, len);
                stream_fence();
            }
        }
    }

    /// Returns bytes as a slice. The proof asserts that the peer does not write them.
    #[inline]
    pub(crate) fn slice(&self, at: u32, len: u32, _proof: TrustedPeer) -> &[u8] {
        // SAFETY: in bounds and mapped for as long as the region lives; the maker of the proof
        // promised that the peer does not write them. Within this process a slice of the region has
        // one holder, which decides on all other access to it.
        unsafe { std::slice::from_raw_parts(self.pointer(at, len as usize), len as usize) }
    }

    /// Returns bytes as a writable slice. The proof asserts that the peer does not access them.
    ///
    /// # Safety
    ///
    /// Nothing else in this process accesses these bytes while the slice lives.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "exclusiveness is the caller's promise")]
    pub(crate) unsafe fn slice_mut(&self, at: u32, len: u32, _proof: TrustedPeer) -> &mut [u8] {
        // SAFETY: in bounds and mapped for as long as the region lives; exclusive in this process
        // by the caller's promise, and towards the peer by the proof's.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(at, len as usize), len as usize) }
    }

    /// Returns the address of `len` bytes at `at`, which must be inside. Every caller has already
    /// checked against the private layout; this is a second check.
    #[inline]
    fn pointer(&self, at: u32, len: usize) -> *mut u8 {
        assert!(at as usize + len <= self.len as usize, "{len} bytes at {at} of {}", self.len);
        // SAFETY: inside the mapping, or one past its end for no bytes.
        unsafe { self.address.as_ptr().add(at as usize) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.guard = None;
        // SAFETY: the mapping is ours, and nothing borrowed from it outlives it.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), self.len as usize) };
    }
}

/// A word that both processes write. An aligned one, as nearly always, is an atomic of the
/// language; for others the same instructions are written in assembly, which x86-64 allows at any
/// address.
pub(crate) struct Word<'a> {
    pointer: *mut u32,
    region: PhantomData<&'a Region>,
}

impl Word<'_> {
    #[inline]
    fn aligned(&self) -> Option<&AtomicU32> {
        // SAFETY: in bounds and mapped for as long as the region lives, which the word borrows;
        // aligned, and accessed as atomics or opaque instructions only.
        self.pointer.is_aligned().then(|| unsafe { AtomicU32::from_ptr(self.pointer) })
    }

    #[inline]
    pub(crate) fn load(&self, order: Ordering) -> u32 {
        match self.aligned() {
            Some(word) => word.load(order),
            None => unaligned::load(self),
        }
    }

    #[inline]
    pub(crate) fn store(&self, value: u32, order: Ordering) {
        match self.aligned() {
            Some(word) => word.store(value, order),
            None if order == Ordering::SeqCst => {
                unaligned::swap(self, value);
            }
            None => unaligned::store(self, value),
        }
    }

    #[inline]
    pub(crate) fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        match self.aligned() {
            Some(word) => word.fetch_add(value, order),
            None => unaligned::add(self, value),
        }
    }

    #[inline]
    pub(crate) fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        self.fetch_add(value.wrapping_neg(), order)
    }

    #[inline]
    pub(crate) fn swap(&self, value: u32, order: Ordering) -> u32 {
        match self.aligned() {
            Some(word) => word.swap(value, order),
            None => unaligned::swap(self, value),
        }
    }

    #[inline]
    pub(crate) fn compare_exchange(
        &self,
        before: u32,
        value: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        match self.aligned() {
            Some(word) => word.compare_exchange(before, value, success, failure),
            None => unaligned::compare_exchange(self, before, value),
        }
    }
}

/// Access to words that are not aligned. A word that crosses a cache line may be seen in part by
/// plain loads, as upstream's peers see it too: only headers of slices, each of which has one
/// holder, may be placed so (`layout::buffer`). Locked accesses are atomic in any case. The
/// instructions are opaque to the compiler and order memory as x86-64 does, which is acquire and
/// release for plain ones, and sequential consistency for locked ones.
#[cfg(target_arch = "x86_64")]
mod unaligned {
    use std::arch::asm;

    use super::Word;

    #[cold]
    pub(super) fn load(word: &Word<'_>) -> u32 {
        let value: u32;
        // SAFETY: four mapped bytes, which the instruction reads.
        unsafe {
            asm!("mov {value:e}, dword ptr [{at}]", at = in(reg) word.pointer,
                value = out(reg) value, options(nostack, preserves_flags));
        }
        value
    }

    #[cold]
    pub(super) fn store(word: &Word<'_>, value: u32) {
        // SAFETY: four mapped bytes, which the instruction writes; no reference to them exists.
        unsafe {
            asm!("mov dword ptr [{at}], {value:e}", at = in(reg) word.pointer,
                value = in(reg) value, options(nostack, preserves_flags));
        }
    }

    #[cold]
    pub(super) fn add(word: &Word<'_>, value: u32) -> u32 {
        let mut value = value;
        // SAFETY: four mapped bytes, which the instruction writes; no reference to them exists.
        unsafe {
            asm!("lock xadd dword ptr [{at}], {value:e}", at = in(reg) word.pointer,
                value = inout(reg) value, options(nostack));
        }
        value
    }

    #[cold]
    pub(super) fn swap(word: &Word<'_>, value: u32) -> u32 {
        let mut value = value;
        // SAFETY: four mapped bytes, which the instruction writes; no reference to them exists.
        // `xchg` with memory is implicitly locked.
        unsafe {
            asm!("xchg dword ptr [{at}], {value:e}", at = in(reg) word.pointer,
                value = inout(reg) value, options(nostack, preserves_flags));
        }
        value
    }

    #[cold]
    pub(super) fn compare_exchange(word: &Word<'_>, before: u32, value: u32) -> Result<u32, u32> {
        let found: u32;
        // SAFETY: four mapped bytes, which the instruction writes; no reference to them exists.
        unsafe {
            asm!("lock cmpxchg dword ptr [{at}], {value:e}", at = in(reg) word.pointer,
                value = in(reg) value, inout("eax") before => found, options(nostack));
        }
        if found == before { Ok(found) } else { Err(found) }
    }
}

/// Stubs for other architectures, which have no such words: their layouts are refused.
#[cfg(not(target_arch = "x86_64"))]
mod unaligned {
    use super::Word;

    fn refused() -> ! {
        unreachable!("a layout with words that are not aligned is refused")
    }

    pub(super) fn load(_: &Word<'_>) -> u32 {
        refused()
    }

    pub(super) fn store(_: &Word<'_>, _: u32) {
        refused()
    }

    pub(super) fn add(_: &Word<'_>, _: u32) -> u32 {
        refused()
    }

    pub(super) fn swap(_: &Word<'_>, _: u32) -> u32 {
        refused()
    }

    pub(super) fn compare_exchange(_: &Word<'_>, _: u32, _: u32) -> Result<u32, u32> {
        refused()
    }
}

/// A count that one process writes, 64 bits wide and aligned to 4, as in the protocol on x86-64.
///
/// Reading takes the low half: its distance to our own count suffices. Writing stores the low half
/// alone, which is all that an eight-byte store would change, except once in four billion.
pub(crate) struct Count<'a> {
    low: &'a AtomicU32,
    high: &'a AtomicU32,
}

impl Count<'_> {
    /// Returns the low half; operations before its store are visible.
    #[inline]
    pub(crate) fn observe(&self) -> u32 {
        self.low.load(Ordering::Acquire)
    }

    /// Returns the whole count; only valid while it does not change.
    pub(crate) fn value(&self) -> u64 {
        let high = u64::from(self.high.load(Ordering::Acquire));
        high << 32 | u64::from(self.low.load(Ordering::Acquire))
    }

    /// Changes the count from `old` to `new`, after all earlier operations.
    #[inline]
    pub(crate) fn publish(&self, old: u64, new: u64, order: Ordering) {
        if cfg!(target_arch = "x86_64") && old >> 32 == new >> 32 {
            self.low.store(new as u32, order);
        } else {
            self.publish_whole(new.wrapping_sub(old));
        }
    }

    /// Adds to both halves at once, as the peer reads them at once.
    #[cfg(target_arch = "x86_64")]
    #[cold]
    fn publish_whole(&self, added: u64) {
        // SAFETY: the two halves are eight adjacent bytes of the region, and x86-64 supports
        // unaligned locked additions.
        unsafe {
            std::arch::asm!("lock add qword ptr [{at}], {added}", at = in(reg) self.low.as_ptr(),
                added = in(reg) added, options(nostack));
        }
    }

    /// Adds to both halves at once, as the peer reads them at once.
    #[cfg(not(target_arch = "x86_64"))]
    fn publish_whole(&self, added: u64) {
        use std::sync::atomic::AtomicU64;
        let pointer = self.low.as_ptr().cast::<u64>();
        assert!(pointer.is_aligned(), "this architecture's layout aligns counts");
        // SAFETY: eight aligned bytes of the region, accessed as atomics only.
        unsafe { AtomicU64::from_ptr(pointer) }.fetch_add(added, Ordering::Release);
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    #[test]
    fn words_are_the_same_wherever_they_lie() {
        let fd = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&fd, 4096).unwrap();
        let region = Region::map(&fd, 4096).unwrap();
        // Aligned, within a line, and across two.
        for at in [64, 65, 66, 67, 127] {
            let word = region.word(at);
            let order = Ordering::SeqCst;
            word.store(7, Ordering::Relaxed);
            assert_eq!(word.load(Ordering::Acquire), 7);
            assert_eq!((word.fetch_add(5, order), word.fetch_sub(20, order)), (7, 12));
            assert_eq!(word.load(order), (-8i32).cast_unsigned());
            assert_eq!(word.swap(1, order), (-8i32).cast_unsigned());
            assert_eq!(word.compare_exchange(2, 3, order, order), Err(1));
            assert_eq!(word.compare_exchange(1, u32::MAX, order, order), Ok(1));
            word.store(0x0403_0201, order);
            let mut bytes = [0; 6];
            region.copy_to(at - 1, &mut bytes);
            assert_eq!(bytes, [0, 1, 2, 3, 4, 0], "nothing beside it at {at}");
            word.store(0, order);
        }
    }
}
