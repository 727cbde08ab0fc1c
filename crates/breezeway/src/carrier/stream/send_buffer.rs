//! Bytes to be sent on a socket: frames that are written together, and of large messages the bytes
//! themselves, not a copy.

use std::collections::VecDeque;
use std::io::IoSlice;

use breezeway_os::memory;
use breezeway_os::segment::SegmentError;

/// Bytes up to which messages are gathered in one chunk.
pub(super) const CHUNK: usize = 64 * 1024;
/// Bytes from which a body is a chunk of its own.
pub(super) const LARGE: usize = 16 * 1024;
/// Limit of chunks that are written at once.
const MAX_SLICES: usize = 16;
/// Number of bodies in a row that need a quarter of the large spare at most, before it is given up.
const SMALL_ENOUGH: u32 = 64;

/// Slices that one system call writes.
pub(super) type Slices<'a> = [IoSlice<'a>; MAX_SLICES + 1];

/// Bytes in the order in which they go out, in chunks.
#[derive(Default)]
pub(super) struct SendBuffer {
    chunks: VecDeque<Chunk>,
    len: usize,
    /// Memory of emptied chunks: for gathering, and for a large body.
    spare_small: Vec<u8>,
    spare_large: Vec<u8>,
    /// Number of bodies in a row that would have needed a quarter of the large spare at most.
    small: u32,
}

/// Bytes, the first of which are out.
struct Chunk {
    bytes: Vec<u8>,
    out: usize,
}

impl SendBuffer {
    /// Returns the number of bytes that are to go out.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends a copy of `bytes`, fewer than [`LARGE`], to what is gathered.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.len += bytes.len();
        match self.chunks.back_mut() {
            // A large body's chunk has no room to spare.
            Some(chunk) if chunk.bytes.len() + bytes.len() <= CHUNK => {
                chunk.bytes.extend_from_slice(bytes);
            }
            _ => {
                let mut chunk = std::mem::take(&mut self.spare_small);
                chunk.clear();
                chunk.extend_from_slice(bytes);
                self.chunks.push_back(Chunk { bytes: chunk, out: 0 });
            }
        }
    }

    /// Takes memory for [`Self::push_reserved`] of `len` bytes.
    ///
    /// # Errors
    ///
    /// Fails like [`memory::reserve`].
    pub(super) fn reserve(&mut self, len: usize) -> Result<(), SegmentError> {
        if self.spare_large.capacity() < len {
            self.spare_large.clear();
            memory::reserve(&mut self.spare_large, len)?;
        }
        Ok(())
    }

    /// Appends a copy of at most as many bytes as were [reserved](Self::reserve).
    pub(super) fn push_reserved(&mut self, bytes: &[u8]) {
        if bytes.len() < LARGE {
            return self.push(bytes);
        }
        let mut chunk = std::mem::take(&mut self.spare_large);
        chunk.clear();
        chunk.extend_from_slice(bytes);
        self.push_rest(chunk, 0);
    }

    /// Appends a body without a copy. [`Self::space`] returns space for it.
    pub(super) fn push_space(&mut self, space: Vec<u8>) {
        if space.len() < LARGE {
            self.push(&space);
            return self.give_back(space);
        }
        self.push_rest(space, 0);
    }

    /// Appends, without a copy, all but the first `skip` bytes, which are out.
    pub(super) fn push_rest(&mut self, bytes: Vec<u8>, skip: usize) {
        self.len += bytes.len() - skip;
        self.chunks.push_back(Chunk { bytes, out: skip });
    }

    /// Returns the memory of a large body that is out, for any use.
    pub(super) fn spare(&mut self) -> &mut Vec<u8> {
        &mut self.spare_large
    }

    /// Returns space for a body of `len` bytes.
    ///
    /// # Errors
    ///
    /// Fails like [`memory::reserve`].
    pub(super) fn space(&mut self, len: usize) -> Result<Vec<u8>, SegmentError> {
        let mut space = std::mem::take(&mut self.spare_large);
        let small = len < space.capacity() / 4 && space.capacity() > CHUNK;
        self.small = if small { self.small + 1 } else { 0 };
        if self.small >= SMALL_ENOUGH {
            space = Vec::new();
        }
        let more = len.saturating_sub(space.len());
        if let Err(error) = memory::reserve(&mut space, more) {
            self.give_back(space);
            return Err(error);
        }
        space.resize(len, 0);
        Ok(space)
    }

    /// Takes back space that is not, or no longer, needed.
    pub(super) fn give_back(&mut self, space: Vec<u8>) {
        if self.spare_large.capacity() < space.capacity() {
            self.spare_large = space;
        }
    }

    /// Collects the next bytes to go out, followed by `more`, into `slices`. Returns the number of
    /// slices.
    pub(super) fn gather<'a>(&'a self, more: &'a [u8], slices: &mut Slices<'a>) -> usize {
        let mut count = 0;
        for chunk in self.chunks.iter().take(MAX_SLICES) {
            slices[count] = IoSlice::new(&chunk.bytes[chunk.out..]);
            count += 1;
        }
        if self.chunks.len() <= MAX_SLICES && !more.is_empty() {
            slices[count] = IoSlice::new(more);
            count += 1;
        }
        count
    }

    /// Drops all bytes: no peer will read them.
    pub(super) fn clear(&mut self) {
        self.wrote(self.len);
    }

    /// Notes that `count` bytes are out. Returns how many of them were beyond this buffer's own.
    pub(super) fn wrote(&mut self, count: usize) -> usize {
        let own = count.min(self.len);
        self.len -= own;
        let mut left = own;
        while let Some(chunk) = self.chunks.front_mut() {
            let of_this = left.min(chunk.bytes.len() - chunk.out);
            chunk.out += of_this;
            left -= of_this;
            if chunk.out < chunk.bytes.len() {
                break;
            }
            let chunk = self.chunks.pop_front().expect("there is a first");
            self.keep(chunk.bytes);
        }
        count - own
    }

    /// Keeps an emptied chunk's memory for the next.
    fn keep(&mut self, mut chunk: Vec<u8>) {
        if chunk.capacity() > CHUNK {
            return self.give_back(chunk);
        }
        chunk.clear();
        if chunk.capacity() > self.spare_small.capacity() {
            self.spare_small = chunk;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Writes at most `count` bytes, as a socket would, and appends them to `out`.
    fn write(buffer: &mut SendBuffer, more: &[u8], count: usize, out: &mut Vec<u8>) -> usize {
        let mut slices: Slices<'_> = std::array::from_fn(|_| IoSlice::new(&[]));
        let used = buffer.gather(more, &mut slices);
        let bytes: Vec<u8> = slices[..used].iter().flat_map(|slice| slice.to_vec()).collect();
        let count = count.min(bytes.len());
        out.extend_from_slice(&bytes[..count]);
        buffer.wrote(count)
    }

    #[test]
    fn a_large_body_goes_out_from_where_it_was_filled() {
        let mut buffer = SendBuffer::default();
        buffer.push(b"head");
        let space = buffer.space(LARGE).unwrap();
        let address = space.as_ptr();
        buffer.push_space(space);
        let mut slices: Slices<'_> = std::array::from_fn(|_| IoSlice::new(&[]));
        assert_eq!(buffer.gather(&[], &mut slices), 2);
        assert_eq!(slices[1].as_ptr(), address);
    }

    #[test]
    fn rest_of_started_body_follows_gathered_bytes() {
        let mut buffer = SendBuffer::default();
        buffer.push(b"head");
        buffer.push_rest([vec![1; 10], vec![2; LARGE]].concat(), 10);
        let mut out = Vec::new();
        while buffer.len() > 0 {
            write(&mut buffer, &[], 5000, &mut out);
        }
        assert_eq!(out, [&b"head"[..], &[2; LARGE]].concat());
        assert_eq!(buffer.spare().len(), 0, "this is not large enough to be kept");
        buffer.push_rest(vec![3; CHUNK + 1], CHUNK);
        buffer.wrote(1);
        assert_eq!(buffer.spare().len(), CHUNK + 1);
    }

    #[test]
    fn large_body_memory_is_reused_then_freed() {
        let mut buffer = SendBuffer::default();
        let space = buffer.space(1 << 20).unwrap();
        let address = space.as_ptr();
        buffer.push_space(space);
        buffer.wrote(1 << 20);
        let space = buffer.space(1 << 20).unwrap();
        assert_eq!(space.as_ptr(), address);
        buffer.give_back(space);
        for _ in 0..=SMALL_ENOUGH {
            let space = buffer.space(100).unwrap();
            buffer.give_back(space);
        }
        assert!(buffer.spare_large.capacity() < 1 << 20);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn bytes_go_out_in_order_in_any_pieces(
            bodies in prop::collection::vec((0usize..60_000, any::<bool>()), 0..40),
            counts in prop::collection::vec(1usize..100_000, 1..20),
            more in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut buffer = SendBuffer::default();
            let (mut expected, mut out) = (Vec::new(), Vec::new());
            let mut counts = counts.into_iter().cycle();
            for (number, &(len, in_place)) in bodies.iter().enumerate() {
                let body = vec![number as u8; len];
                expected.extend_from_slice(&body);
                if in_place {
                    let mut space = buffer.space(len).unwrap();
                    space.copy_from_slice(&body);
                    buffer.push_space(space);
                } else {
                    buffer.push(&body);
                }
                if number % 3 == 0 {
                    write(&mut buffer, &[], counts.next().unwrap(), &mut out);
                }
                prop_assert_eq!(out.len() + buffer.len(), expected.len());
            }
            let mut done = 0;
            while done < more.len() || buffer.len() > 0 {
                done += write(&mut buffer, &more[done..], counts.next().unwrap(), &mut out);
            }
            expected.extend_from_slice(&more);
            prop_assert_eq!(out, expected);
        }
    }
}
