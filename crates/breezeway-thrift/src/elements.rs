//! Lists of values of any size, read in place.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use crate::list::{decode_header, encode_header};
use crate::{DecodeError, Encode, Sink, Slice, Source, View, Wire, WireType};

/// A list or set in a message. Each element is read on access; all were validated when the view was
/// made.
///
/// The place of an element is known only from those before it, which rules out access by index.
pub struct Elements<'a, T> {
    bytes: &'a [u8],
    count: usize,
    _elements: PhantomData<T>,
}

impl<'a, T: View<'a>> Elements<'a, T> {
    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if it contains no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns an iterator over the elements, in order.
    #[inline]
    pub fn iter(&self) -> ElementsIter<'a, T> {
        ElementsIter { from: Slice::again(self.bytes), left: self.count, _elements: PhantomData }
    }
}

impl<T> Clone for Elements<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<'_, T> {}

impl<T> Default for Elements<'_, T> {
    #[inline]
    fn default() -> Self {
        Self { bytes: &[], count: 0, _elements: PhantomData }
    }
}

impl<'a, T: View<'a> + PartialEq> PartialEq for Elements<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: View<'a> + fmt::Debug> fmt::Debug for Elements<'a, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: View<'a>> IntoIterator for Elements<'a, T> {
    type Item = T;
    type IntoIter = ElementsIter<'a, T>;

    #[inline]
    fn into_iter(self) -> ElementsIter<'a, T> {
        self.iter()
    }
}

impl<T: Wire> Wire for Elements<'_, T> {
    const WIRE_TYPE: WireType = WireType::List;
}

/// Writes the bytes as they were received, including unknown fields of the elements.
impl<T: Wire> Encode for Elements<'_, T> {
    #[inline]
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        encode_header::<T, S>(self.count, to);
        to.bytes(self.bytes);
    }
}

impl<'a, T: View<'a>> View<'a> for Elements<'a, T> {
    #[inline(always)]
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        from.enter()?;
        let count = decode_header::<T, _>(from)?;
        let start = from.rest();
        for _ in 0..count {
            T::view(from)?;
        }
        from.leave();
        let bytes = &start[..start.len() - from.remaining()];
        Ok(Self { bytes, count, _elements: PhantomData })
    }
}

/// Iterator over the elements of [`Elements`].
#[derive(Clone, Debug)]
pub struct ElementsIter<'a, T> {
    from: Slice<'a>,
    left: usize,
    _elements: PhantomData<T>,
}

impl<'a, T: View<'a>> Iterator for ElementsIter<'a, T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        let element = T::view(&mut self.from);
        debug_assert!(element.is_ok(), "elements were checked when the view was made");
        element.ok()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, T: View<'a>> ExactSizeIterator for ElementsIter<'a, T> {}
impl<'a, T: View<'a>> FusedIterator for ElementsIter<'a, T> {}
