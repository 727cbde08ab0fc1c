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

/// Writes `value` into `buffer` from its start and returns how many bytes it takes:
/// [`Encode::size`].
#[inline]
pub fn encode_slice<T: Encode + ?Sized>(
    value: &T,
    buffer: &mut [u8],
) -> Result<usize, EncodeError> {
    let mut output = Output::new(buffer);
    value.encode(&mut output);
    output.finish()
}

/// Replaces what is in `buffer` by `value`. Its memory is used again, and more is taken if that is
/// too small; after an error it is empty.
///
/// Nothing is counted beforehand: a message is written into as many bytes as the one before took,
/// a sixteenth and 512 more. So this is faster than [`Encode::size`] and [`encode_slice`] for
/// messages that are about equally long, and writes one that is much longer twice.
pub fn encode_vec<T: Encode + ?Sized>(value: &T, buffer: &mut Vec<u8>) -> Result<(), EncodeError> {
    refill(buffer, || value.size(), |to| value.encode(to))
}

/// Writes `value` into new memory of exactly its size.
pub fn to_vec<T: Encode + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = vec![0; value.size()];
    encode_slice(value, &mut bytes)?;
    Ok(bytes)
}

/// Replaces what is in `buffer` by what `write` writes. The bytes that are there are not made zero
/// again, as they are written over.
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

/// How much longer a short message may be than the one before, in bytes.
const SPARE: usize = 512;
