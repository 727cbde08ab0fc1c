//! Lists of numbers, read in place.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use crate::byteswap;
use crate::list::{decode_header, encode_header};
use crate::{DecodeError, Encode, Fault, Fixed, Sink, Slice, Source, View, Wire, WireType};

/// A list or set of values of fixed size in a message: a big-endian array at any address, so it
/// cannot be a `&[T]`.
///
/// Any element is accessible in O(1). All elements are converted at once, with the widest vectors
/// that the processor has, by [`Self::to_vec`], [`Self::copy_to`], and by an iterator's own loops:
/// `fold`, `for_each`, `sum`, `map(…).max()` and the like. A `for` loop and `collect` read one
/// element after the other, which is about five times slower.
pub struct NumberList<'a, T> {
    bytes: &'a [u8],
    _elements: PhantomData<T>,
}

impl<'a, T: Fixed> NumberList<'a, T> {
    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() / T::SIZE
    }

    /// Returns true if it contains no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the element at `index`, if it exists.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        let start = index.checked_mul(T::SIZE)?;
        let bytes = self.bytes.get(start..)?.get(..T::SIZE)?;
        Some(T::get(bytes))
    }

    /// Returns an iterator over the elements, in order.
    #[inline]
    pub fn iter(&self) -> NumberIter<'a, T> {
        NumberIter { bytes: self.bytes, _elements: PhantomData }
    }

    /// Returns the elements as a vector, converted at once.
    #[inline]
    pub fn to_vec(&self) -> Vec<T> {
        let mut list = Vec::with_capacity(self.len());
        T::get_all(self.bytes, &mut list);
        list
    }

    /// Writes the elements into `to`, converted at once. Panics if the lengths differ, like
    /// [`slice::copy_from_slice`].
    #[inline]
    pub fn copy_to(&self, to: &mut [T]) {
        assert_eq!(to.len(), self.len(), "copy of {} elements into {}", self.len(), to.len());
        byteswap::copy(self.bytes, to);
    }

    /// Returns the bytes of the elements, big-endian.
    #[inline]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl NumberList<'_, i64> {
    /// Returns the sum of all elements, wrapping around at the boundary of the type.
    #[inline]
    pub fn sum(&self) -> i64 {
        self.iter().fold(0, i64::wrapping_add)
    }
}

impl<T> Clone for NumberList<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for NumberList<'_, T> {}

impl<T> Default for NumberList<'_, T> {
    #[inline]
    fn default() -> Self {
        Self { bytes: &[], _elements: PhantomData }
    }
}

impl<T: Fixed + PartialEq> PartialEq for NumberList<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Fixed + PartialEq> PartialEq<[T]> for NumberList<'_, T> {
    fn eq(&self, other: &[T]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl<T: Fixed + fmt::Debug> fmt::Debug for NumberList<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Fixed> IntoIterator for NumberList<'a, T> {
    type Item = T;
    type IntoIter = NumberIter<'a, T>;

    #[inline]
    fn into_iter(self) -> NumberIter<'a, T> {
        self.iter()
    }
}

impl<T: Fixed> Wire for NumberList<'_, T> {
    const WIRE_TYPE: WireType = WireType::List;
}

impl<T: Fixed> Encode for NumberList<'_, T> {
    #[inline]
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        encode_header::<T, S>(self.len(), to);
        to.bytes(self.bytes);
    }
}

impl<'a, T: Fixed> View<'a> for NumberList<'a, T> {
    #[inline(always)]
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        from.enter()?;
        let count = decode_header::<T, _>(from)?;
        let offset = from.offset();
        let bytes = from.take(count * T::SIZE)?;
        if let Some(invalid) = T::first_invalid(bytes) {
            return Err(Fault::Bool(bytes[invalid]).at(offset + invalid));
        }
        from.leave();
        Ok(Self { bytes, _elements: PhantomData })
    }
}

/// Iterator over the elements of a [`NumberList`].
#[derive(Clone, Debug)]
pub struct NumberIter<'a, T> {
    bytes: &'a [u8],
    _elements: PhantomData<T>,
}

impl<T: Fixed> Iterator for NumberIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (element, rest) = self.bytes.split_at_checked(T::SIZE)?;
        self.bytes = rest;
        Some(T::get(element))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.bytes.len() / T::SIZE;
        (left, Some(left))
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<T> {
        let passed = n.saturating_mul(T::SIZE).min(self.bytes.len());
        self.bytes = &self.bytes[passed..];
        self.next()
    }

    #[inline]
    fn fold<A, F: FnMut(A, T) -> A>(self, first: A, fold: F) -> A {
        byteswap::fold(self.bytes, first, fold)
    }
}

impl<T: Fixed> DoubleEndedIterator for NumberIter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let start = self.bytes.len().checked_sub(T::SIZE)?;
        let (rest, element) = self.bytes.split_at(start);
        self.bytes = rest;
        Some(T::get(element))
    }
}

impl<T: Fixed> ExactSizeIterator for NumberIter<'_, T> {}
impl<T: Fixed> FusedIterator for NumberIter<'_, T> {}
