//! Encoding of owned values.

use crate::{EncodeError, Output, Sink, Size, Wire};

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

    /// Returns true for a union without a value. Optional fields are then left out; anywhere else
    /// it is an error ([`EncodeError::EmptyUnion`]).
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

    /// Returns the exact number of bytes that [`Self::encode`] writes.
    #[inline]
    fn size(&self) -> usize {
        let mut size = Size::new();
        self.encode(&mut size);
        size.bytes()
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

/// Writes `value` into `buffer` from its start and returns its size, [`Encode::size`].
#[inline]
pub fn encode_slice<T: Encode + ?Sized>(
    value: &T,
    buffer: &mut [u8],
) -> Result<usize, EncodeError> {
    let mut output = Output::new(buffer);
    value.encode(&mut output);
    output.finish()
}

/// Replaces the contents of `buffer` by `value`. Its memory is reused, and more is allocated if
/// that is too small; after an error it is empty.
///
/// The size is not computed beforehand: a message is first written into a buffer of the last
/// message's size, plus a sixteenth and 512 bytes. This is faster than [`Encode::size`] and
/// [`encode_slice`] for messages of similar size; a message that is much longer is written twice.
pub fn encode_vec<T: Encode + ?Sized>(value: &T, buffer: &mut Vec<u8>) -> Result<(), EncodeError> {
    refill(buffer, || value.size(), |to| value.encode(to))
}

/// Writes `value` into new memory of exactly its size.
pub fn to_vec<T: Encode + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = vec![0; value.size()];
    encode_slice(value, &mut bytes)?;
    Ok(bytes)
}

/// Replaces the contents of `buffer` by the output of `write`. Present bytes are not zeroed,
/// because they are overwritten.
pub(crate) fn refill(
    buffer: &mut Vec<u8>,
    size: impl FnOnce() -> usize,
    write: impl Fn(&mut Output<'_>),
) -> Result<(), EncodeError> {
    let into = |buffer: &mut Vec<u8>| {
        let mut output = Output::new(buffer);
        write(&mut output);
        output.finish()
    };
    let room = match buffer.capacity() {
        0 => size(),
        capacity => capacity.min(buffer.len() + buffer.len() / 16 + SPARE),
    };
    buffer.resize(room, 0);
    let mut written = into(buffer);
    if let Err(EncodeError::Full { needed, .. }) = written {
        buffer.resize(needed + needed / 16, 0);
        written = into(buffer);
    }
    buffer.truncate(*written.as_ref().unwrap_or(&0));
    written.map(drop)
}

/// Bytes by which a short message may be longer than the one before.
const SPARE: usize = 512;
