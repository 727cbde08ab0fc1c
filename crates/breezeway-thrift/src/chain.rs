//! Encoding for a socket, with large values sent from their place in memory.

use std::io::{self, IoSlice, Write};
use std::ops::Range;

use crate::{EncodeError, Pool, Sink};

/// Size in bytes from which a string or binary is chained. Shorter ones are cheaper to copy than to
/// reference.
const CHAINED: usize = 4096;

/// One run of bytes of the message.
#[derive(Debug)]
enum Piece<'a> {
    /// A part of a buffer.
    Own { buffer: usize, range: Range<usize> },
    /// A value, borrowed.
    Borrowed(&'a [u8]),
}

/// A message in several buffers, written with one vectored write. Strings and binaries of 4 KiB and
/// more are not copied.
#[derive(Debug)]
pub struct Chain<'a> {
    pieces: Vec<Piece<'a>>,
    buffers: Vec<Vec<u8>>,
    /// Part of the last buffer that is not in a piece yet: from `start` to `end`.
    start: usize,
    end: usize,
    len: usize,
    pool: &'a mut Pool,
    failure: Option<EncodeError>,
}

impl<'a> Chain<'a> {
    /// Creates an empty chain with buffers of `pool`, to which they return.
    pub fn new(pool: &'a mut Pool) -> Self {
        let (pieces, buffers) = (Vec::new(), Vec::new());
        Self { pieces, buffers, start: 0, end: 0, len: 0, pool, failure: None }
    }

    /// Returns the size of the message in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the parts of the message, in order.
    pub fn slices(&mut self) -> Result<Vec<IoSlice<'_>>, EncodeError> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        self.close_piece();
        Ok(self.pieces.iter().map(|piece| IoSlice::new(self.bytes_of(piece))).collect())
    }

    /// Writes the whole message. An encoding error is returned as one of kind `InvalidInput`.
    pub fn write_to(&mut self, writer: &mut impl Write) -> io::Result<()> {
        let mut slices =
            self.slices().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let mut rest = slices.as_mut_slice();
        while !rest.is_empty() {
            match writer.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn bytes_of(&self, piece: &Piece<'a>) -> &[u8] {
        match piece {
            Piece::Own { buffer, range } => &self.buffers[*buffer][range.clone()],
            Piece::Borrowed(bytes) => bytes,
        }
    }

    /// Turns the bytes written to the last buffer since its last piece into a piece.
    fn close_piece(&mut self) {
        if self.start < self.end {
            let range = self.start..self.end;
            self.pieces.push(Piece::Own { buffer: self.buffers.len() - 1, range });
            self.start = self.end;
        }
    }

    #[cold]
    #[inline(never)]
    fn next_buffer(&mut self, size: usize) {
        self.close_piece();
        self.buffers.push(self.pool.take_used(size));
        (self.start, self.end) = (0, 0);
    }

    #[inline(always)]
    fn room(&self) -> usize {
        self.buffers.last().map_or(0, |buffer| buffer.len() - self.end)
    }
}

impl<'a> Sink<'a> for Chain<'a> {
    #[inline(always)]
    fn fixed(&mut self, size: usize, fill: impl FnOnce(&mut [u8])) {
        if size > self.room() {
            self.next_buffer(size);
        }
        if let Some(buffer) = self.buffers.last_mut() {
            fill(&mut buffer[self.end..self.end + size]);
            self.end += size;
            self.len += size;
        }
    }

    #[inline(always)]
    fn fixed_with_room(&mut self, size: usize, room: usize, fill: impl FnOnce(&mut [u8])) {
        if size > room || room > self.room() {
            return self.fixed(size, fill);
        }
        if let Some(buffer) = self.buffers.last_mut() {
            fill(&mut buffer[self.end..self.end + room]);
            self.end += size;
            self.len += size;
        }
    }

    #[inline]
    fn bytes(&mut self, bytes: &'a [u8]) {
        if bytes.len() < CHAINED {
            return self.fixed(bytes.len(), |to| to.copy_from_slice(bytes));
        }
        self.close_piece();
        self.pieces.push(Piece::Borrowed(bytes));
        self.len += bytes.len();
    }

    #[inline]
    fn in_place(&mut self, size: usize, fill: impl FnOnce(&mut [u8])) {
        // The buffer may hold an earlier message, possibly for another receiver.
        self.fixed(size, |to| {
            to.fill(0);
            fill(to);
        });
    }

    #[cold]
    fn fail(&mut self, error: EncodeError) {
        self.failure.get_or_insert(error);
    }
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        for buffer in self.buffers.drain(..) {
            self.pool.give(buffer);
        }
    }
}
