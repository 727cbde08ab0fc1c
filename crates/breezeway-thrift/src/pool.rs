//! Reusable buffers.

/// The smallest size class, in bytes.
const SMALLEST: usize = 4096;

/// The number of size classes: from 4 KiB to 16 MiB.
const CLASSES: usize = 13;

/// Default of the bytes that a pool keeps.
const USUAL_CAP: usize = 32 << 20;

/// Keeps buffers for the next message, by size: powers of two from 4 KiB to 16 MiB. Larger ones are
/// not kept, nor more bytes than the pool's cap.
///
/// Each thread needs its own pool.
#[derive(Debug)]
pub struct Pool {
    classes: [Vec<Vec<u8>>; CLASSES],
    cap: usize,
    kept: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self::with_cap(USUAL_CAP)
    }
}

impl Pool {
    /// Creates an empty pool that keeps up to 32 MiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty pool that keeps up to `bytes` bytes.
    pub fn with_cap(bytes: usize) -> Self {
        Self { classes: Default::default(), cap: bytes, kept: 0 }
    }

    /// Returns a buffer of at least `size` bytes, all zero.
    pub fn take(&mut self, size: usize) -> Vec<u8> {
        let mut buffer = self.take_used(size);
        buffer.fill(0);
        buffer
    }

    /// Returns a buffer like [`take`](Self::take), with bytes of an earlier message in it: for
    /// callers that write every byte.
    pub(crate) fn take_used(&mut self, size: usize) -> Vec<u8> {
        let Some(class) = class_of(size) else { return vec![0; size] };
        match self.classes[class].pop() {
            Some(buffer) => {
                self.kept -= buffer.len();
                buffer
            }
            None => vec![0; SMALLEST << class],
        }
    }

    /// Keeps a buffer from [`Self::take`] for reuse.
    pub fn give(&mut self, buffer: Vec<u8>) {
        let Some(class) = class_of(buffer.len()) else { return };
        if buffer.len() == SMALLEST << class && buffer.len() <= self.cap - self.kept {
            self.kept += buffer.len();
            self.classes[class].push(buffer);
        }
    }
}

/// Returns the smallest class whose buffers have `size` bytes.
fn class_of(size: usize) -> Option<usize> {
    let class = size.next_power_of_two().max(SMALLEST).ilog2() - SMALLEST.ilog2();
    (class < CLASSES as u32).then_some(class as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_was_given_back_is_used_again() {
        let mut pool = Pool::new();
        let buffer = pool.take(5000);
        assert_eq!(buffer.len(), 8192);
        let address = buffer.as_ptr();
        pool.give(buffer);
        let again = pool.take(8192);
        assert_eq!(again.as_ptr(), address);
    }

    #[test]
    fn no_more_bytes_are_kept_than_the_cap() {
        let mut pool = Pool::with_cap(20_000);
        for _ in 0..3 {
            pool.give(vec![0; 8192]);
        }
        let kept = |pool: &Pool| pool.classes.iter().flatten().map(Vec::len).sum::<usize>();
        assert_eq!((kept(&pool), pool.kept), (16_384, 16_384));
        drop(pool.take(8192));
        assert_eq!((kept(&pool), pool.kept), (8192, 8192));
        pool.give(vec![0; 8192]);
        assert_eq!(kept(&pool), 16_384);
    }

    #[test]
    fn a_buffer_holds_nothing_of_its_earlier_use() {
        let mut pool = Pool::new();
        let mut buffer = pool.take(5000);
        buffer.fill(7);
        pool.give(buffer);
        assert!(pool.take(5000).iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_buffer_of_an_odd_size_or_too_large_is_not_kept() {
        let mut pool = Pool::new();
        pool.give(vec![0; 5000]);
        let large = pool.take(17 << 20);
        assert_eq!(large.len(), 17 << 20);
        pool.give(large);
        assert!(pool.classes.iter().all(Vec::is_empty));
    }
}
