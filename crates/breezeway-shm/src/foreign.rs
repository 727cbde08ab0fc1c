//! Bytes that another process may be writing.
//!
//! Memory that the peer can still change is never behind a reference. [`ForeignBytes`] is a length
//! and an address; it copies bytes out, or reads a value at an offset, and each call sees the bytes
//! of that moment. Two reads of one place may differ. Copy first, then validate. (The idea of
//! rust-vmm's `VolatileSlice`.)

use std::fmt;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Bound, RangeBounds};

use breezeway_os::copy::{self, LINE, WIDE_FROM, copy_from_foreign, stream_from_foreign};
use breezeway_os::memory;

const PAGE: usize = 4096;

/// Possibility that another process writes the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stability {
    /// The peer may write them at any moment.
    MayChange,
    /// The bytes do not change: a private copy, or lent by a trusted peer.
    Stable,
}

/// A received body: bytes in the peer's memory, or a private copy of a small message.
///
/// There is no `Deref` to `[u8]`: the peer may change lent bytes while they are read.
/// [`Self::as_slice`] returns a slice where the bytes are known to be stable.
#[derive(Clone, Copy)]
pub struct ForeignBytes<'a> {
    address: *const u8,
    len: usize,
    stability: Stability,
    _lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: it only allows reading: by copies that tolerate concurrent writes, or, where the bytes
// are stable, like a shared slice, which is Send.
unsafe impl Send for ForeignBytes<'_> {}
// SAFETY: `&ForeignBytes` allows only such reads, which threads may make at the same time.
unsafe impl Sync for ForeignBytes<'_> {}

impl<'a> ForeignBytes<'a> {
    /// Bytes per piece in [`Self::try_for_each_chunk`].
    pub const CHUNK: usize = WIDE_FROM;

    /// Wraps bytes that no other thread or process writes.
    #[inline]
    pub fn stable(bytes: &'a [u8]) -> Self {
        Self {
            address: bytes.as_ptr(),
            len: bytes.len(),
            stability: Stability::Stable,
            _lifetime: PhantomData,
        }
    }

    /// Wraps bytes in the peer's segment.
    ///
    /// # Safety
    ///
    /// `address` is mapped readable for `len` bytes during `'a`. If `trusted`, no process writes
    /// them during `'a`.
    #[inline]
    pub(crate) unsafe fn lent(address: *const u8, len: usize, trusted: bool) -> Self {
        let stability = if trusted { Stability::Stable } else { Stability::MayChange };
        Self { address, len, stability, _lifetime: PhantomData }
    }

    /// Returns the length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the length is 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes as a slice, if they cannot change: small messages (up to 104 bytes, which
    /// are private copies), and every message of a session that [trusts its
    /// peer](breezeway_os::TrustedPeer).
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [u8]> {
        if self.stability == Stability::MayChange {
            return None;
        }
        // SAFETY: the check above leaves stable bytes, which are mapped and unchanging during 'a:
        // `Self::stable` takes them from a slice of that lifetime, and `Self::lent` requires it of
        // trusted bytes.
        Some(unsafe { std::slice::from_raw_parts(self.address, self.len) })
    }

    /// Returns a range of the bytes. Panics if the range reaches outside, like slicing.
    #[inline]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Self {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&start) => start + 1,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&end) => end + 1,
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len,
        };
        assert!(start <= end && end <= self.len, "range {start}..{end} of {} bytes", self.len);
        // SAFETY: `start` is at most `len`, so the address stays inside the run or one past it.
        Self { address: unsafe { self.address.add(start) }, len: end - start, ..*self }
    }

    /// Copies all bytes into `to`. Panics if the lengths differ, like [`slice::copy_from_slice`].
    #[inline]
    pub fn copy_to(&self, to: &mut [u8]) {
        assert_eq!(to.len(), self.len, "copy of {} bytes into {}", self.len, to.len());
        // SAFETY: both lengths are the same; the source is readable for 'a; an exclusive slice is
        // ours alone, so it does not overlap a mapping that is read-only here nor a slice that is
        // borrowed shared.
        unsafe { self.copy_raw(to.as_mut_ptr()) }
    }

    /// Copies like [`copy_to`](Self::copy_to), into memory that another CPU will read next: past
    /// this CPU's caches.
    pub(crate) fn stream_to(&self, to: &mut [u8]) {
        assert_eq!(to.len(), self.len, "copy of {} bytes into {}", self.len, to.len());
        // SAFETY: both lengths are equal; the source is readable for 'a; `to` is an exclusive
        // slice, so it overlaps neither a read-only mapping nor a slice that is borrowed shared.
        unsafe { stream_from_foreign(to.as_mut_ptr(), self.address, self.len) }
    }

    /// Copies all bytes to `to`.
    ///
    /// # Safety
    ///
    /// `to` is writable for `self.len` bytes, is ours alone and does not overlap these bytes.
    #[inline]
    unsafe fn copy_raw(&self, to: *mut u8) {
        match self.stability {
            // SAFETY: `address` is readable for `len` bytes for 'a, and no thread or process writes
            // stable bytes; this function requires that `to` is writable for as many, and apart.
            Stability::Stable => unsafe { to.copy_from_nonoverlapping(self.address, self.len) },
            // SAFETY: `address` is readable for `len` bytes for 'a; this function requires that
            // `to` is writable for as many, belongs to this process alone, and does not overlap
            // them.
            Stability::MayChange => unsafe { copy_from_foreign(to, self.address, self.len) },
        }
    }

    /// Appends a copy of all bytes to `to`.
    pub fn append_to(&self, to: &mut Vec<u8>) {
        to.reserve(self.len);
        // SAFETY: the spare capacity just reserved is writable, ours, and new; after the copy its
        // first `len` bytes are initialised.
        unsafe {
            self.copy_raw(to.as_mut_ptr().add(to.len()));
            to.set_len(to.len() + self.len);
        }
    }

    /// Returns a private copy of all bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut copy = Vec::new();
        self.append_to(&mut copy);
        copy
    }

    /// Returns a private copy of all bytes.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::OutOfMemory`] if the memory cgroup or the allocator has no room for them,
    /// where [`to_vec`](Self::to_vec) would end the process.
    pub fn try_to_vec(&self) -> io::Result<Vec<u8>> {
        let mut copy = Vec::new();
        let reserved = memory::reserve(&mut copy, self.len);
        reserved.map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
        self.append_to(&mut copy);
        Ok(copy)
    }

    /// Returns the `N` bytes at `offset`, or `None` if they reach outside.
    #[inline]
    pub fn array_at<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        if offset.checked_add(N)? > self.len {
            return None;
        }
        let mut copy = [0; N];
        // SAFETY: offset + N was checked to lie inside; a local array is ours alone.
        unsafe {
            let from = self.address.add(offset);
            Self { address: from, len: N, ..*self }.copy_raw(copy.as_mut_ptr());
        }
        Some(copy)
    }

    /// Returns the little-endian `u32` at `offset`, or `None` if it reaches outside.
    #[inline]
    pub fn u32_le_at(&self, offset: usize) -> Option<u32> {
        self.array_at(offset).map(u32::from_le_bytes)
    }

    /// Returns the little-endian `u64` at `offset`, or `None` if it reaches outside.
    #[inline]
    pub fn u64_le_at(&self, offset: usize) -> Option<u64> {
        self.array_at(offset).map(u64::from_le_bytes)
    }

    /// Passes all bytes to `visit` in order, in pieces of [`Self::CHUNK`] bytes (the last one may
    /// be shorter), each a private copy: for checking or parsing a large payload while it is in the
    /// cache. Stops at the first error. Stable bytes are not copied. [`Self::try_for_each_line`] is
    /// faster if a line at a time suffices.
    #[inline]
    pub fn try_for_each_chunk<E>(
        &self,
        mut visit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(bytes) = self.as_slice() {
            return bytes.chunks(Self::CHUNK).try_for_each(visit);
        }
        let mut buffer = ChunkBuffer::new();
        let mut rest = *self;
        while !rest.is_empty() {
            let piece = rest.slice(..rest.len.min(Self::CHUNK));
            visit(buffer.copy(piece))?;
            rest = rest.slice(piece.len..);
        }
        Ok(())
    }

    /// Passes all bytes to `visit` in order, line by line (64 bytes; the last piece may be
    /// shorter), each read once. Stops at the first error.
    ///
    /// The fastest way to compare or sum a large body, stable or not: each line goes from the cache
    /// into registers, and a `visit` small enough to be inlined is compiled for AVX2 where the CPU
    /// has it. Code that needs more than one line at a time uses [`Self::try_for_each_chunk`].
    /// Figures: docs/performance.md, "Beside iceoryx2".
    #[inline]
    pub fn try_for_each_line<E>(
        &self,
        mut visit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let lines = self.len / LINE;
        if lines > 0 {
            // SAFETY: the lines lie inside these bytes, which are readable during 'a.
            unsafe { copy::try_for_each_line(self.address, lines, |line| visit(line))? };
        }
        let rest = self.slice(lines * LINE..);
        if rest.is_empty() {
            return Ok(());
        }
        if let Some(bytes) = rest.as_slice() {
            return visit(bytes);
        }
        let mut copy = [0; LINE];
        rest.copy_to(&mut copy[..rest.len]);
        visit(&copy[..rest.len])
    }

    /// Returns a reader over the bytes that cannot pass their end.
    pub fn reader(&self) -> ForeignReader<'a> {
        ForeignReader { rest: *self }
    }
}

impl fmt::Debug for ForeignBytes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ForeignBytes").field("len", &self.len).finish_non_exhaustive()
    }
}

/// Private buffer through which chunks are read. It is not cleared for each body.
#[repr(C, align(64))]
struct ChunkBuffer([MaybeUninit<u8>; PAGE + ForeignBytes::CHUNK]);

impl ChunkBuffer {
    #[inline]
    fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; PAGE + ForeignBytes::CHUNK])
    }

    /// Copies a piece of at most [`ForeignBytes::CHUNK`] bytes.
    #[inline]
    fn copy(&mut self, piece: ForeignBytes<'_>) -> &[u8] {
        let start = self.start_for(piece.address);
        let room = &mut self.0[start..][..piece.len];
        // SAFETY: the room has the piece's length and is ours alone; once copied, all of it is
        // initialised.
        unsafe {
            piece.copy_raw(room.as_mut_ptr().cast());
            std::slice::from_raw_parts(room.as_ptr().cast(), room.len())
        }
    }

    /// Returns the place of a piece in the buffer: the start of a line, half a page away from the
    /// piece's offset in its source page. A CPU delays a load that agrees with a recent store in
    /// the lower twelve address bits.
    fn start_for(&self, source: *const u8) -> usize {
        let away = (source.addr() + PAGE / 2).wrapping_sub(self.0.as_ptr().addr());
        away % PAGE / LINE * LINE
    }
}

/// Reads foreign bytes once, in order, up to their end. Each byte is copied when it is read.
#[derive(Clone, Debug)]
pub struct ForeignReader<'a> {
    rest: ForeignBytes<'a>,
}

impl<'a> ForeignReader<'a> {
    /// Returns the bytes that were not read yet.
    pub fn rest(&self) -> ForeignBytes<'a> {
        self.rest
    }
}

impl Read for ForeignReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.rest.len().min(buffer.len());
        self.rest.slice(..len).copy_to(&mut buffer[..len]);
        self.rest = self.rest.slice(len..);
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changing(bytes: &[u8]) -> ForeignBytes<'_> {
        // SAFETY: the slice lives as long as the result.
        unsafe { ForeignBytes::lent(bytes.as_ptr(), bytes.len(), false) }
    }

    #[test]
    fn bytes_that_may_change_give_no_slice() {
        assert!(changing(b"abc").as_slice().is_none());
        assert_eq!(ForeignBytes::stable(b"abc").as_slice(), Some(&b"abc"[..]));
    }

    #[test]
    fn values_that_reach_outside_are_refused() {
        let bytes = [1, 0, 0, 0, 0, 0, 0, 0, 9];
        for bytes in [changing(&bytes), ForeignBytes::stable(&bytes)] {
            assert_eq!(bytes.u64_le_at(0), Some(1));
            assert_eq!(bytes.u64_le_at(1), Some(9 << 56));
            for outside in [2, 9, usize::MAX - 3] {
                assert_eq!(bytes.u64_le_at(outside), None);
            }
            assert_eq!(bytes.u32_le_at(5), Some(9 << 24));
            assert_eq!(bytes.u32_le_at(6), None);
        }
    }

    #[test]
    #[should_panic(expected = "range")]
    fn a_slice_that_reaches_outside_panics() {
        let _ = changing(b"abc").slice(2..4);
    }

    #[test]
    #[should_panic(expected = "copy of 3 bytes into 2")]
    fn a_copy_into_another_length_panics() {
        changing(b"abc").copy_to(&mut [0; 2]);
    }

    #[test]
    fn copy_without_room_is_out_of_memory_with_size() {
        let len = isize::MAX as usize;
        // SAFETY: no byte is read, because the copy finds no room.
        let bytes = unsafe { ForeignBytes::lent(b"".as_ptr(), len, false) };
        let error = bytes.try_to_vec().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        assert!(error.to_string().contains(&len.to_string()), "{error}");
    }

    #[test]
    fn chunks_lines_and_reader_give_all_bytes_in_order() {
        let all: Vec<u8> = (0..20_000u32).map(|at| (at ^ (at >> 7)) as u8).collect();
        for (start, len) in [(0, 0), (0, 1), (1, 2047), (3, 2048), (64, 2049), (777, 19_000)] {
            let bytes = &all[start..start + len];
            for body in [changing(bytes), ForeignBytes::stable(bytes)] {
                let mut seen = Vec::new();
                let all_seen: Result<(), ()> = body.try_for_each_chunk(|chunk| {
                    assert!((1..=ForeignBytes::CHUNK).contains(&chunk.len()));
                    seen.extend_from_slice(chunk);
                    Ok(())
                });
                assert_eq!((all_seen, &seen[..]), (Ok(()), bytes));
                seen.clear();
                let all_seen: Result<(), ()> = body.try_for_each_line(|line| {
                    assert!(line.len() == LINE || seen.len() + line.len() == len);
                    seen.extend_from_slice(line);
                    Ok(())
                });
                assert_eq!((all_seen, &seen[..]), (Ok(()), bytes));
                let mut read = Vec::new();
                body.reader().read_to_end(&mut read).unwrap();
                assert_eq!(read, bytes);
                assert_eq!(body.to_vec(), bytes);
            }
        }
    }

    #[test]
    fn chunks_are_aligned_and_half_a_page_from_source() {
        let bytes = vec![0; 3 * PAGE];
        for shift in 0..PAGE {
            let body = changing(&bytes[shift..][..2 * ForeignBytes::CHUNK]);
            let mut source = body.address.addr();
            let all: Result<(), ()> = body.try_for_each_chunk(|chunk| {
                let away = chunk.as_ptr().addr().wrapping_sub(source) % PAGE;
                assert_eq!(chunk.as_ptr().addr() % LINE, 0);
                assert!((PAGE / 2 - LINE..=PAGE / 2).contains(&away), "{away}");
                source += chunk.len();
                Ok(())
            });
            assert_eq!(all, Ok(()));
        }
    }

    #[test]
    fn a_visitor_of_chunks_or_lines_can_stop() {
        let bytes = [0; 10 * ForeignBytes::CHUNK];
        for body in [changing(&bytes), ForeignBytes::stable(&bytes)] {
            let mut visits = 0;
            let stopped = body.try_for_each_chunk(|_| {
                visits += 1;
                if visits == 3 { Err("enough") } else { Ok(()) }
            });
            assert_eq!((stopped, visits), (Err("enough"), 3));
            visits = 0;
            let stopped = body.slice(..2 * LINE + 1).try_for_each_line(|_| {
                visits += 1;
                if visits == 3 { Err("enough") } else { Ok(()) }
            });
            assert_eq!((stopped, visits), (Err("enough"), 3));
        }
    }
}
