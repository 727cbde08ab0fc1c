//! Reading from a shared message, parts of which are kept.

use bytes::Bytes;

use crate::{Decode, DecodeError, Fixed, Limits, Slice, Source};

/// Reads a message from its start. Every binary of type [`Bytes`] becomes a part of the message
/// instead of a copy: it takes no memory, and keeps the whole message alive.
///
/// A part does not count against [`Limits::memory`]: its memory is the message's.
#[derive(Clone, Debug)]
pub struct SharedSlice<'m> {
    from: Slice<'m>,
    message: &'m Bytes,
}

impl<'m> SharedSlice<'m> {
    /// Reads `message` within the default [`Limits`].
    #[inline]
    pub fn new(message: &'m Bytes) -> Result<Self, DecodeError> {
        Self::within(Limits::default(), message)
    }

    /// Reads `message` within `limits`.
    #[inline]
    pub fn within(limits: Limits, message: &'m Bytes) -> Result<Self, DecodeError> {
        Ok(Self { from: Slice::within(limits, message)?, message })
    }

    /// Fails unless all bytes were read.
    #[inline]
    pub fn end(&self) -> Result<(), DecodeError> {
        self.from.end()
    }
}

/// Decodes like [`decode_slice`](crate::decode_slice), with binaries that are parts of `message`.
/// See [`SharedSlice`] for the cost. It is for types that contain [`Bytes`], which
/// `Builder::shared_bytes` of breezeway-idl generates.
///
/// ```
/// use breezeway_thrift::{Bytes, decode_shared, to_vec};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let message = Bytes::from(to_vec(&vec![Bytes::from_static(b"a picture")])?);
/// let pictures: Vec<Bytes> = decode_shared(&message)?;
/// assert_eq!(pictures[0].as_ptr(), message[message.len() - 9..].as_ptr());
/// // Copy values that are kept for long, or they keep the whole message alive.
/// let kept = Bytes::copy_from_slice(&pictures[0]);
/// # assert_eq!(kept, "a picture");
/// # Ok(())
/// # }
/// ```
#[inline]
pub fn decode_shared<T: Decode>(message: &Bytes) -> Result<T, DecodeError> {
    let mut from = SharedSlice::new(message)?;
    let value = T::decode(&mut from)?;
    from.end()?;
    Ok(value)
}

impl Source for SharedSlice<'_> {
    const MAX_PEEK: usize = Slice::MAX_PEEK;

    #[inline(always)]
    fn peek(&mut self, size: usize) -> Option<&[u8]> {
        self.from.peek(size)
    }

    #[inline(always)]
    fn advance(&mut self, size: usize) {
        self.from.advance(size);
    }

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.from.remaining()
    }

    #[inline(always)]
    fn offset(&self) -> usize {
        self.from.offset()
    }

    #[inline(always)]
    fn pass(&mut self, size: usize) -> Result<(), DecodeError> {
        self.from.pass(size)
    }

    #[inline(always)]
    fn binary(&mut self, length: usize) -> Result<Vec<u8>, DecodeError> {
        self.from.binary(length)
    }

    #[inline(always)]
    fn shared(&mut self, length: usize) -> Result<Bytes, DecodeError> {
        let start = self.offset();
        self.pass(length)?;
        Ok(self.message.slice(start..start + length))
    }

    #[inline(always)]
    fn string(&mut self, length: usize) -> Result<String, DecodeError> {
        self.from.string(length)
    }

    #[inline(always)]
    fn text_as<T>(
        &mut self,
        length: usize,
        make: impl FnOnce(&str) -> T,
    ) -> Result<T, DecodeError> {
        self.from.text_as(length, make)
    }

    #[inline(always)]
    fn fixed_list<T: Fixed>(&mut self, count: usize) -> Result<Vec<T>, DecodeError> {
        self.from.fixed_list(count)
    }

    #[inline(always)]
    fn depth(&mut self) -> &mut u32 {
        self.from.depth()
    }

    #[inline(always)]
    fn credit(&mut self) -> &mut usize {
        self.from.credit()
    }

    #[inline(always)]
    fn memory(&mut self) -> &mut usize {
        self.from.memory()
    }
}
