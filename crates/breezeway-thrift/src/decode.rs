//! Decoding into values of their own.

use std::io::Read;

use crate::{DecodeError, ReadOnce, Slice, Source, Wire};

/// How many elements of a list get their places at a time.
const PLACES: usize = 32;

/// A value that can be made of a message in one pass, which reads every byte once. One of the first two methods must be written.
pub trait Decode: Wire + Default {
    /// Takes the value, without a field header.
    #[inline(always)]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let mut value = Self::default();
        value.decode_into(from)?;
        Ok(value)
    }

    /// As [`Self::decode`], into a place that holds the default: for structs, which are then not moved when they are complete.
    #[inline(always)]
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        *self = Self::decode(from)?;
        Ok(())
    }

    /// Takes the `count` elements of a list. The count was checked against what is left.
    #[inline(always)]
    fn decode_all<S: Source>(count: usize, from: &mut S) -> Result<Vec<Self>, DecodeError> {
        let mut list = Vec::with_capacity(first_capacity::<Self>(count, from.remaining()));
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

/// For how many elements to take memory before any was read: not much more than the message has bytes, since elements that are small on the wire can be large in memory.
#[inline(always)]
pub(crate) fn first_capacity<T>(count: usize, left: usize) -> usize {
    count.min(left.saturating_mul(4) / size_of::<T>().max(1) + 1)
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
        T::decode(from).map(Box::new)
    }
}

/// The value that `bytes` are, to the last byte, within the usual [`Limits`](crate::Limits). For others, and for what is followed by something else, use a [`Slice`].
#[inline]
pub fn decode<T: Decode>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut from = Slice::new(bytes)?;
    let value = T::decode(&mut from)?;
    from.end()?;
    Ok(value)
}

/// As [`decode`], from a reader of exactly `len` bytes that are read once: memory that a peer may still be changing (`ForeignBytes::reader`), a file, a socket.
pub fn decode_once<T: Decode>(reader: impl Read, len: usize) -> Result<T, DecodeError> {
    let mut from = ReadOnce::new(reader, len)?;
    let value = T::decode(&mut from)?;
    from.end()?;
    Ok(value)
}
