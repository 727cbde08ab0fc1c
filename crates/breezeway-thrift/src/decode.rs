//! Decoding into owned values.

use std::io::Read;

use crate::{DecodeError, ReadOnce, Slice, Source, Wire};

/// Elements of a list for which room is made at a time.
const PLACES: usize = 32;

/// A value that can be decoded in one pass, which reads every byte once. One of the first two
/// methods must be implemented.
pub trait Decode: Wire + Default {
    /// Takes the value, without a field header.
    #[inline(always)]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let mut value = Self::default();
        value.decode_into(from)?;
        Ok(value)
    }

    /// Takes the value like [`decode`](Self::decode), into a place that holds the default: for
    /// structs, which are then not moved when they are complete.
    #[inline(always)]
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        *self = Self::decode(from)?;
        Ok(())
    }

    /// Takes the `count` elements of a list. The count was checked against the remaining bytes.
    #[inline(always)]
    fn decode_all<S: Source>(count: usize, from: &mut S) -> Result<Vec<Self>, DecodeError> {
        let mut list = Vec::with_capacity(first_capacity::<Self>(count, from));
        while list.len() < count {
            let start = list.len();
            list.resize_with(count.min(start + PLACES), Self::default);
            for place in &mut list[start..] {
                place.decode_into(from)?;
            }
        }
        Ok(list)
    }
}

/// Bytes of elements for which memory is always allocated before any was read, even if the message
/// has used up its credit.
const SMALL_LIST: usize = 4 << 10;

/// Returns the number of elements to allocate before any was read: at most four times the remaining
/// bytes, since elements that are small on the wire can be large in memory. The allocation is drawn
/// from a credit of the message, since nested lists can each announce all of the remaining bytes.
#[inline(always)]
pub(crate) fn first_capacity<T>(count: usize, from: &mut impl Source) -> usize {
    let size = size_of::<T>().max(1);
    let wanted = count.saturating_mul(size).min(from.remaining().saturating_mul(4));
    let credit = from.credit();
    let taken = wanted.min((*credit).max(SMALL_LIST));
    *credit = credit.saturating_sub(taken);
    count.min(taken / size + 1)
}

impl<T: Decode> Decode for Option<T> {
    #[inline(always)]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        T::decode(from).map(Some)
    }
}

impl<T: Decode> Decode for Box<T> {
    #[inline(always)]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        from.charge_list::<T>(1)?;
        T::decode(from).map(Box::new)
    }
}

/// Decodes a value from all of `bytes`, within the default [`Limits`](crate::Limits). For other
/// limits, use a [`Slice`].
#[inline]
pub fn decode_slice<T: Decode>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut from = Slice::new(bytes)?;
    let value = T::decode(&mut from)?;
    from.end()?;
    Ok(value)
}

/// Decodes like [`decode_slice`], from the start of `bytes`: returns the value and the rest.
#[inline]
pub fn decode_prefix<T: Decode>(bytes: &[u8]) -> Result<(T, &[u8]), DecodeError> {
    let mut from = Slice::new(bytes)?;
    let value = T::decode(&mut from)?;
    Ok((value, from.rest()))
}

/// Decodes like [`decode_slice`], from bytes that are read once: memory that a peer may still be
/// changing, a file, a socket. The source is a reader and the number of bytes to read
/// (`decode_once((foreign.reader(), foreign.len()))`), or a slice.
pub fn decode_once<T: Decode>(from: impl Once) -> Result<T, DecodeError> {
    let (reader, len) = from.into_reader();
    let mut from = ReadOnce::new(reader, len)?;
    let value = T::decode(&mut from)?;
    from.end()?;
    Ok(value)
}

/// Source of [`decode_once`]: a reader, and the number of bytes to read.
pub trait Once {
    /// Type of the reader.
    type Reader: Read;

    /// Returns the reader and the number of bytes.
    fn into_reader(self) -> (Self::Reader, usize);
}

impl<R: Read> Once for (R, usize) {
    type Reader = R;

    fn into_reader(self) -> Self {
        self
    }
}

impl<'a> Once for &'a [u8] {
    type Reader = &'a [u8];

    fn into_reader(self) -> (Self, usize) {
        (self, self.len())
    }
}

impl<'a> Once for &'a Vec<u8> {
    type Reader = &'a [u8];

    fn into_reader(self) -> (&'a [u8], usize) {
        (self, self.len())
    }
}
