//! Encoding of owned values.

use crate::sink::Size;
use crate::{EncodeError, Output, Sink, Wire};

/// A value that can be written.
pub trait Encode: Wire {
    /// Writes the value, without a field header.
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S);

    /// Writes the value as the field `id`.
    #[inline(always)]
    fn encode_field<'a, S: Sink<'a>>(&'a self, id: i16, to: &mut S) {
        to.header::<Self>(id);
        self.encode(to);
    }

    /// Whether there is nothing to write: a union without a value. Fields that need not be there
    /// are then left out; anywhere else it is an error ([`EncodeError::EmptyUnion`]).
    #[inline(always)]
    fn is_absent(&self) -> bool {
        false
    }

    /// Writes the elements of a list, without its header.
    #[inline(always)]
    fn encode_all<'a, S: Sink<'a>>(list: &'a [Self], to: &mut S)
    where
        Self: Sized,
    {
        to.in_registers(|to| {
            for element in list {
                element.encode(to);
            }
        });
    }

    /// How many bytes [`Self::encode`] writes, exactly.
    #[inline]
    fn size(&self) -> usize {
        let mut size = Size(0);
        self.encode(&mut size);
        size.0
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    #[inline(always)]
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        (**self).encode(to);
    }

    #[inline(always)]
    fn encode_field<'a, S: Sink<'a>>(&'a self, id: i16, to: &mut S) {
        (**self).encode_field(id, to);
    }

    #[inline(always)]
    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<T: Encode + ?Sized> Encode for Box<T> {
    #[inline(always)]
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        (**self).encode(to);
    }

    #[inline(always)]
    fn encode_field<'a, S: Sink<'a>>(&'a self, id: i16, to: &mut S) {
        (**self).encode_field(id, to);
    }

    #[inline(always)]
    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

/// Writes `value` into `buffer` from its start and returns how many bytes it takes:
/// [`Encode::size`].
#[inline]
pub fn encode<T: Encode + ?Sized>(value: &T, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let mut output = Output::new(buffer);
    value.encode(&mut output);
    output.finish()
}

/// Writes `value` into new memory of exactly its size.
pub fn to_vec<T: Encode + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = vec![0; value.size()];
    encode(value, &mut bytes)?;
    Ok(bytes)
}
