//! Buffers that are used again.

/// The smallest size class, in bytes.
const SMALLEST: usize = 4096;

/// The number of size classes: from 4 KiB to 16 MiB.
const CLASSES: usize = 13;

/// How many buffers of one class are kept.
const KEPT: usize = 16;

/// Keeps buffers for the next message, by size: powers of two from 4 KiB to 16 MiB. Larger ones are not kept.
///
/// Used by one thread; give each its own.
#[derive(Debug, Default)]
pub struct Pool {
    classes: [Vec<Vec<u8>>; CLASSES],
}

impl Pool {
    /// An empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// A buffer of at least `size` bytes. What is in it is left over from an earlier use.
    pub fn take(&mut self, size: usize) -> Vec<u8> {
        let Some(class) = class_of(size) else { return vec![0; size] };
        self.classes[class].pop().unwrap_or_else(|| vec![0; SMALLEST << class])
    }

    /// Keeps a buffer that [`Self::take`] gave for another use.
    pub fn give(&mut self, buffer: Vec<u8>) {
        let Some(class) = class_of(buffer.len()) else { return };
        let kept = &mut self.classes[class];
        if buffer.len() == SMALLEST << class && kept.len() < KEPT {
            kept.push(buffer);
        }
    }
}

/// The smallest class whose buffers have `size` bytes.
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
    fn a_buffer_of_an_odd_size_or_too_large_is_not_kept() {
        let mut pool = Pool::new();
        pool.give(vec![0; 5000]);
        let large = pool.take(17 << 20);
        assert_eq!(large.len(), 17 << 20);
        pool.give(large);
        assert!(pool.classes.iter().all(Vec::is_empty));
    }
}
