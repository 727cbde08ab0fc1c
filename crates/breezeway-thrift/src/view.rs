//! Reading in place.

use crate::{DecodeError, Slice, Wire};

/// A value that borrows from the message it lies in: fields are there at once, strings and lists
/// are slices of the message.
///
/// Making a view reads and checks everything in one pass and takes no memory.
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

/// A view of `bytes`, to the last byte, within the usual [`Limits`](crate::Limits). For others, use
/// a [`Slice`].
#[inline]
pub fn view_slice<'a, T: View<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    let mut from = Slice::new(bytes)?;
    let value = T::view(&mut from)?;
    from.end()?;
    Ok(value)
}

/// As [`view_slice`], of bytes that something else may follow: the view, and the rest.
#[inline]
pub fn view_prefix<'a, T: View<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), DecodeError> {
    let mut from = Slice::new(bytes)?;
    let value = T::view(&mut from)?;
    Ok((value, from.rest()))
}

/// What a view shows for an absent field whose type is a container and that has a default value in
/// the IDL: `bytes` are that value, so that nothing need be made.
#[inline]
pub fn preset<'a, T: View<'a> + Default>(bytes: &'a [u8]) -> T {
    view_slice(bytes).unwrap_or_default()
}
