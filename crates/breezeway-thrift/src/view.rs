//! Reading in place.

use crate::{DecodeError, Slice, Wire};

/// A value that borrows from its message: fields are accessible at once, strings and lists are
/// slices of the message.
///
/// Making a view reads and validates everything in one pass and takes no memory.
pub trait View<'a>: Wire + Sized {
    /// Takes the value, without a field header.
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError>;
}

impl<'a, T: View<'a>> View<'a> for Option<T> {
    #[inline(always)]
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        T::view(from).map(Some)
    }
}

/// Returns a view of all of `bytes`, within the default [`Limits`](crate::Limits). For other
/// limits, use a [`Slice`].
#[inline]
pub fn view_slice<'a, T: View<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    let mut from = Slice::new(bytes)?;
    let value = T::view(&mut from)?;
    from.end()?;
    Ok(value)
}

/// Returns a view like [`view_slice`], of the start of `bytes`, and the rest.
#[inline]
pub fn view_prefix<'a, T: View<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), DecodeError> {
    let mut from = Slice::new(bytes)?;
    let value = T::view(&mut from)?;
    Ok((value, from.rest()))
}

/// Returns the view's value of an absent container field with a default value in the IDL: `bytes`
/// are that default, encoded.
#[inline]
pub fn preset<'a, T: View<'a> + Default>(bytes: &'a [u8]) -> T {
    view_slice(bytes).unwrap_or_default()
}
