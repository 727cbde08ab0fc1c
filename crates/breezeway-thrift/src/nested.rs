//! Values inside values of their own type, read in place.

use std::fmt;
use std::marker::PhantomData;

use crate::{DecodeError, Encode, Sink, Slice, Source, View, Wire, WireType};

/// A value in a message that is read on access: the equivalent of `Box` in owned types, without its
/// memory. It was validated when the view was made.
pub struct Nested<'a, T> {
    bytes: &'a [u8],
    _value: PhantomData<T>,
}

impl<'a, T: View<'a> + Default> Nested<'a, T> {
    /// Returns the value.
    #[inline]
    pub fn get(&self) -> T {
        if self.bytes.is_empty() {
            return T::default();
        }
        let value = T::view(&mut Slice::again(self.bytes));
        debug_assert!(value.is_ok(), "the value was checked when the view was made");
        value.unwrap_or_default()
    }
}

impl<T> Clone for Nested<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Nested<'_, T> {}

impl<T> Default for Nested<'_, T> {
    #[inline]
    fn default() -> Self {
        Self { bytes: &[], _value: PhantomData }
    }
}

impl<'a, T: View<'a> + Default + PartialEq> PartialEq for Nested<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<'a, T: View<'a> + Default + fmt::Debug> fmt::Debug for Nested<'a, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(formatter)
    }
}

impl<T: Wire> Wire for Nested<'_, T> {
    const WIRE_TYPE: WireType = T::WIRE_TYPE;
}

/// Writes the bytes as they were received, including unknown fields.
impl<T: Wire> Encode for Nested<'_, T> {
    #[inline]
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        match self.bytes {
            // A default place that was not read to.
            [] => to.stop(),
            bytes => to.bytes(bytes),
        }
    }
}

impl<'a, T: View<'a>> View<'a> for Nested<'a, T> {
    #[inline]
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let start = from.rest();
        T::view(from)?;
        Ok(Self { bytes: &start[..start.len() - from.remaining()], _value: PhantomData })
    }
}
