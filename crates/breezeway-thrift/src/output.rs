//! Encoding into a buffer that is there: a reserved message, or any bytes.

use crate::{EncodeError, Sink};

/// Writes into a buffer from its start.
///
/// A buffer that is too small is no panic: [`Self::finish`] tells how many bytes the message takes.
#[derive(Debug)]
pub struct Output<'b> {
    rest: &'b mut [u8],
    capacity: usize,
    /// How many bytes the message takes, once it was seen that they do not fit. From then on nothing is written.
    needed: usize,
    failure: Option<EncodeError>,
}

impl<'b> Output<'b> {
    /// Writes into `buffer` from its start.
    #[inline]
    pub fn new(buffer: &'b mut [u8]) -> Self {
        Self { capacity: buffer.len(), rest: buffer, needed: 0, failure: None }
    }

    /// How many bytes were written.
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

    #[cold]
    #[inline(never)]
    fn overflow(&mut self, size: usize) {
        if self.needed == 0 {
            self.needed = self.capacity - self.rest.len();
        }
        self.rest = &mut [];
        self.needed += size;
    }
}

impl<'a> Sink<'a> for Output<'_> {
    #[inline(always)]
    fn fixed(&mut self, size: usize, fill: impl FnOnce(&mut [u8])) {
        if size > self.rest.len() {
            return self.overflow(size);
        }
        let (here, rest) = std::mem::take(&mut self.rest).split_at_mut(size);
        self.rest = rest;
        fill(here);
    }

    #[inline(always)]
    fn bytes(&mut self, bytes: &'a [u8]) {
        self.fixed(bytes.len(), |to| to.copy_from_slice(bytes));
    }

    #[cold]
    fn fail(&mut self, error: EncodeError) {
        self.failure.get_or_insert(error);
    }
}
