//! Reading bytes that may change, or that come from a file or socket.

use std::io::{self, Read};

use crate::limits::credit;
use crate::{DecodeError, Fault, Fixed, Limits, Source};

/// Bytes copied ahead: few, since small messages pay for all of them.
const WINDOW: usize = 512;

/// Bytes of a list of numbers copied at a time. They stay in the first-level cache until they are
/// converted.
const LIST_WINDOW: usize = 4096;

/// Reads every byte of a message exactly once, through a small private window, so that the bytes
/// that were validated are those that are used, even if the message changes.
pub struct ReadOnce<R> {
    reader: R,
    window: [u8; WINDOW],
    /// Part of the window that was not taken yet.
    from: usize,
    to: usize,
    /// Bytes not copied to the window yet.
    outside: usize,
    len: usize,
    depth: u32,
    credit: usize,
    memory: usize,
    failure: Option<io::ErrorKind>,
}

impl<R: Read> ReadOnce<R> {
    /// Reads a message of `len` bytes within the default [`Limits`].
    pub fn new(reader: R, len: usize) -> Result<Self, DecodeError> {
        Self::within(Limits::default(), reader, len)
    }

    /// Reads a message of `len` bytes within `limits`.
    pub fn within(limits: Limits, reader: R, len: usize) -> Result<Self, DecodeError> {
        limits.check(len)?;
        let window = [0; WINDOW];
        let (depth, credit, memory) = (limits.depth, credit(len), limits.memory);
        let (from, to, failure) = (0, 0, None);
        Ok(Self { reader, window, from, to, outside: len, len, depth, credit, memory, failure })
    }

    /// Fails unless all bytes were read.
    pub fn end(&self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            trailing => Err(self.fault(Fault::Trailing(trailing))),
        }
    }

    fn available(&self) -> usize {
        self.to - self.from
    }

    /// Moves the rest of the window to its start and fills it up, to at least `size` bytes, which
    /// is at most the number of remaining bytes.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, size: usize) -> io::Result<()> {
        self.window.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.available());
        let room = (WINDOW - self.to).min(self.outside);
        debug_assert!(self.to + room >= size);
        self.read_exact_at_window(room)
    }

    fn read_exact_at_window(&mut self, size: usize) -> io::Result<()> {
        self.reader.read_exact(&mut self.window[self.to..self.to + size])?;
        self.to += size;
        self.outside -= size;
        Ok(())
    }

    /// Returns a list of `size` bytes, if it is short enough to be peeked.
    fn peek_list(&mut self, size: usize) -> Option<&[u8]> {
        if size <= Self::MAX_PEEK { self.peek(size) } else { None }
    }

    /// Takes `to.len()` bytes, which remain.
    fn copy(&mut self, to: &mut [u8]) -> Result<(), DecodeError> {
        let inside = self.available().min(to.len());
        let (first, second) = to.split_at_mut(inside);
        first.copy_from_slice(&self.window[self.from..self.from + inside]);
        self.from += inside;
        match self.reader.read_exact(second) {
            Ok(()) => self.outside -= second.len(),
            Err(error) => return Err(self.fault(Fault::Read(error.kind()))),
        }
        Ok(())
    }
}

impl<R: Read> Source for ReadOnce<R> {
    #[inline(always)]
    fn peek(&mut self, size: usize) -> Option<&[u8]> {
        debug_assert!(size <= Self::MAX_PEEK);
        if self.available() < size {
            // After a failure the position of the reader is unknown.
            if self.remaining() < size || self.failure.is_some() {
                return None;
            }
            if let Err(error) = self.refill(size) {
                self.failure = Some(error.kind());
                return None;
            }
        }
        self.window.get(self.from..self.from + size)
    }

    #[inline(always)]
    fn advance(&mut self, size: usize) {
        self.from += size;
    }

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.available() + self.outside
    }

    #[inline(always)]
    fn offset(&self) -> usize {
        self.len - self.remaining()
    }

    fn pass(&mut self, mut size: usize) -> Result<(), DecodeError> {
        while size > 0 {
            let step = size.min(Self::MAX_PEEK);
            if self.peek(step).is_none() {
                return Err(self.truncated(size));
            }
            self.advance(step);
            size -= step;
        }
        Ok(())
    }

    fn binary(&mut self, length: usize) -> Result<Vec<u8>, DecodeError> {
        let mut bytes = vec![0; length];
        self.copy(&mut bytes)?;
        Ok(bytes)
    }

    fn string(&mut self, length: usize) -> Result<String, DecodeError> {
        let offset = self.offset();
        String::from_utf8(self.binary(length)?)
            .map_err(|error| Fault::Utf8.at(offset + error.utf8_error().valid_up_to()))
    }

    fn text_as<T>(
        &mut self,
        length: usize,
        make: impl FnOnce(&str) -> T,
    ) -> Result<T, DecodeError> {
        if length > Self::MAX_PEEK {
            return self.string(length).map(|text| make(&text));
        }
        let offset = self.offset();
        let Some(bytes) = self.peek(length) else { return Err(self.truncated(length)) };
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Fault::Utf8.at(offset + error.valid_up_to()))?;
        let value = make(text);
        self.advance(length);
        Ok(value)
    }

    fn fixed_list<T: Fixed>(&mut self, count: usize) -> Result<Vec<T>, DecodeError> {
        let offset = self.offset();
        let mut list = Vec::with_capacity(count);
        if let Some(bytes) = self.peek_list(count * T::SIZE) {
            append(bytes, offset, &mut list)?;
            self.advance(count * T::SIZE);
            return Ok(list);
        }
        let mut window = [0; LIST_WINDOW];
        while list.len() < count {
            let size = (LIST_WINDOW / T::SIZE).min(count - list.len()) * T::SIZE;
            let offset = self.offset();
            self.copy(&mut window[..size])?;
            append(&window[..size], offset, &mut list)?;
        }
        Ok(list)
    }

    #[inline(always)]
    fn depth(&mut self) -> &mut u32 {
        &mut self.depth
    }

    fn credit(&mut self) -> &mut usize {
        &mut self.credit
    }

    #[inline(always)]
    fn memory(&mut self) -> &mut usize {
        &mut self.memory
    }

    #[cold]
    fn truncated(&self, size: usize) -> DecodeError {
        let left = self.remaining();
        match self.failure {
            Some(kind) => self.fault(Fault::Read(kind)),
            None => Fault::Truncated(size.saturating_sub(left)).at(self.offset() + left),
        }
    }
}

/// Appends the values of `bytes`, which begin at `offset`.
fn append<T: Fixed>(bytes: &[u8], offset: usize, list: &mut Vec<T>) -> Result<(), DecodeError> {
    if let Some(invalid) = T::first_invalid(bytes) {
        return Err(Fault::Bool(bytes[invalid]).at(offset + invalid));
    }
    T::get_all(bytes, list);
    Ok(())
}
