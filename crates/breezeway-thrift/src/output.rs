//! Encoding into an existing buffer: a reserved message, or any bytes.

use crate::{EncodeError, Sink, short_copy};

/// Writes into a buffer from its start.
///
/// A buffer that is too small does not panic: [`Self::finish`] returns an error with the message's
/// size. In a larger buffer, up to 128 bytes behind the message may be zeroed.
#[derive(Debug)]
pub struct Output<'b> {
    rest: &'b mut [u8],
    capacity: usize,
    /// Size of the message, once it does not fit. From then on nothing is written.
    needed: usize,
    failure: Option<EncodeError>,
}

impl<'b> Output<'b> {
    /// Creates an output that writes into `buffer` from its start.
    #[inline]
    pub fn new(buffer: &'b mut [u8]) -> Self {
        Self { capacity: buffer.len(), rest: buffer, needed: 0, failure: None }
    }

    /// Returns the number of bytes written.
    #[inline]
    pub fn finish(self) -> Result<usize, EncodeError> {
        if self.needed > 0 {
            return Err(EncodeError::Full { needed: self.needed, capacity: self.capacity });
        }
        match self.failure {
            Some(error) => Err(error),
            None => Ok(self.capacity - self.rest.len()),
        }
    }
}

/// Returns the minimum size of the message, now that `size` more bytes do not fit. A function of
/// numbers only: if it took the output by reference, the output could not be kept in registers
/// while there is room.
#[cold]
fn overflow(needed: usize, written: usize, size: usize) -> usize {
    size + if needed == 0 { written } else { needed }
}

impl<'a> Sink<'a> for Output<'_> {
    #[inline(always)]
    fn fixed(&mut self, size: usize, fill: impl FnOnce(&mut [u8])) {
        self.fixed_with_room(size, size, fill);
    }

    #[inline(always)]
    fn fixed_with_room(&mut self, size: usize, room: usize, fill: impl FnOnce(&mut [u8])) {
        if size > self.rest.len() {
            let written = self.capacity - self.rest.len();
            self.needed = overflow(self.needed, written, size);
            self.rest = &mut [];
            return;
        }
        let passed = if size <= room && room <= self.rest.len() { room } else { size };
        fill(&mut self.rest[..passed]);
        self.rest = &mut std::mem::take(&mut self.rest)[size..];
    }

    #[inline(always)]
    fn bytes(&mut self, bytes: &'a [u8]) {
        self.fixed(bytes.len(), |to| short_copy::copy(bytes, to));
    }

    #[inline(always)]
    fn fail(&mut self, error: EncodeError) {
        if self.failure.is_none() {
            self.failure = Some(error);
        }
    }

    #[inline(always)]
    fn in_registers(&mut self, write: impl FnOnce(&mut Self)) {
        let rest = std::mem::take(&mut self.rest);
        let mut local = Output { rest, failure: self.failure.take(), ..*self };
        write(&mut local);
        *self = local;
    }
}
