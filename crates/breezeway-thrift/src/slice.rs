//! Reading from a slice.

use crate::byteswap;
use crate::limits::credit;
use crate::{DecodeError, Fault, Fixed, Limits, Source};

/// Reads a slice from its start.
#[derive(Clone, Debug)]
pub struct Slice<'a> {
    rest: &'a [u8],
    len: usize,
    depth: u32,
    credit: usize,
    memory: usize,
}

impl<'a> Slice<'a> {
    /// Reads `bytes` within the default [`Limits`].
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Self::within(Limits::default(), bytes)
    }

    /// Reads `bytes` within `limits`.
    #[inline]
    pub fn within(limits: Limits, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        limits.check(bytes.len())?;
        let (len, credit) = (bytes.len(), credit(bytes.len()));
        Ok(Self { rest: bytes, len, depth: limits.depth, credit, memory: limits.memory })
    }

    /// Reads bytes again that a view has validated, without limits.
    #[inline(always)]
    pub(crate) fn again(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len(), depth: u32::MAX, credit: 0, memory: 0 }
    }

    /// Returns the bytes that were not read yet.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes `length` bytes, a result of [`Source::length`].
    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.truncated(length));
        };
        self.rest = rest;
        Ok(bytes)
    }

    /// Takes `length` bytes that are UTF-8.
    #[inline(always)]
    pub fn text(&mut self, length: usize) -> Result<&'a str, DecodeError> {
        let offset = self.offset();
        let bytes = self.take(length)?;
        match byteswap::ascii_text(bytes) {
            Some(text) => Ok(text),
            None => utf8_text(bytes, offset),
        }
    }

    /// Fails unless all bytes were read.
    #[inline]
    pub fn end(&self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            trailing => Err(self.fault(Fault::Trailing(trailing))),
        }
    }
}

impl Source for Slice<'_> {
    const MAX_PEEK: usize = usize::MAX;

    #[inline(always)]
    fn peek(&mut self, size: usize) -> Option<&[u8]> {
        self.rest.get(..size)
    }

    #[inline(always)]
    fn advance(&mut self, size: usize) {
        self.rest = &self.rest[size..];
    }

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[inline(always)]
    fn offset(&self) -> usize {
        self.len - self.rest.len()
    }

    #[inline(always)]
    fn pass(&mut self, size: usize) -> Result<(), DecodeError> {
        self.take(size).map(drop)
    }

    #[inline(always)]
    fn binary(&mut self, length: usize) -> Result<Vec<u8>, DecodeError> {
        Ok(self.take(length)?.to_vec())
    }

    #[inline(always)]
    fn string(&mut self, length: usize) -> Result<String, DecodeError> {
        Ok(self.text(length)?.to_owned())
    }

    #[inline(always)]
    fn text_as<T>(
        &mut self,
        length: usize,
        make: impl FnOnce(&str) -> T,
    ) -> Result<T, DecodeError> {
        self.text(length).map(make)
    }

    #[inline(always)]
    fn fixed_list<T: Fixed>(&mut self, count: usize) -> Result<Vec<T>, DecodeError> {
        let offset = self.offset();
        let bytes = self.take(count * T::SIZE)?;
        if let Some(invalid) = T::first_invalid(bytes) {
            return Err(Fault::Bool(bytes[invalid]).at(offset + invalid));
        }
        let mut list = Vec::with_capacity(count);
        T::get_all(bytes, &mut list);
        Ok(list)
    }

    #[inline(always)]
    fn depth(&mut self) -> &mut u32 {
        &mut self.depth
    }

    #[inline(always)]
    fn credit(&mut self) -> &mut usize {
        &mut self.credit
    }

    #[inline(always)]
    fn memory(&mut self) -> &mut usize {
        &mut self.memory
    }
}

#[cold]
#[inline(never)]
fn utf8_text(bytes: &[u8], offset: usize) -> Result<&str, DecodeError> {
    if let Some(text) = byteswap::short_utf8_text(bytes) {
        return Ok(text);
    }
    std::str::from_utf8(bytes).map_err(|error| Fault::Utf8.at(offset + error.valid_up_to()))
}
