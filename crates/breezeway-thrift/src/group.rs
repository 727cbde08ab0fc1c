//! Neighbouring fields of fixed size, checked once.

use crate::sink::put_header;
use crate::{DecodeError, Fields, Fixed, Source, Wire};

/// Fields of fixed size to write: a tuple of pairs `(field number, value)`, for
/// [`Sink::group`](crate::Sink::group).
pub trait WriteGroup {
    /// Size in bytes, headers included.
    const SIZE: usize;

    /// Writes the fields into `to`, which has exactly that size.
    fn put(self, to: &mut [u8]);
}

/// Places that fields of fixed size are read to: a tuple of pairs `(field number, place)`, for
/// [`Fields::group`].
pub trait ReadGroup: Sized {
    /// Size in bytes, headers included.
    const SIZE: usize;

    /// Reads all fields from `from`, which has exactly that size. Returns false if they are not in
    /// this order.
    fn get(&mut self, from: &[u8]) -> bool;

    /// Reads those fields that come next, one by one.
    fn read_each<S: Source>(self, fields: &mut Fields<'_, S>) -> Result<(), DecodeError>;

    /// Calls `mark` with every field's number.
    fn each_id(&self, mark: impl FnMut(i16));
}

/// Returns the first three of the first four bytes of `from`.
#[inline(always)]
fn header(from: &[u8]) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&from[..4]);
    u32::from_le_bytes(bytes) & 0xff_ffff
}

/// Returns the expected result of [`header`] for a field.
#[inline(always)]
fn expected<T: Wire>(id: i16) -> u32 {
    let [high, low] = id.to_be_bytes();
    u32::from_le_bytes([T::WIRE_TYPE as u8, high, low, 0])
}

macro_rules! group {
    ($($type:ident $index:tt),+) => {
        impl<$($type: Fixed),+> WriteGroup for ($((i16, $type),)+) {
            const SIZE: usize = $(3 + $type::SIZE +)+ 0;

            #[inline(always)]
            fn put(self, to: &mut [u8]) {
                $(
                    let (here, to) = to.split_at_mut(3 + $type::SIZE);
                    put_header::<$type>(self.$index.0, here);
                    self.$index.1.put(&mut here[3..]);
                )+
                let _ = to;
            }
        }

        impl<$($type: Fixed),+> ReadGroup for ($((i16, &mut $type),)+) {
            const SIZE: usize = $(3 + $type::SIZE +)+ 0;

            #[inline(always)]
            fn get(&mut self, from: &[u8]) -> bool {
                let rest = from;
                let mut difference = 0;
                let mut valid = true;
                $(
                    difference |= header(rest) ^ expected::<$type>(self.$index.0);
                    valid &= $type::is_valid(&rest[3..]);
                    let rest = &rest[3 + $type::SIZE..];
                )+
                let _ = rest;
                if difference != 0 || !valid {
                    return false;
                }
                let rest = from;
                $(
                    *self.$index.1 = $type::get(&rest[3..]);
                    let rest = &rest[3 + $type::SIZE..];
                )+
                let _ = rest;
                true
            }

            #[inline(always)]
            fn read_each<SRC: Source>(
                self,
                fields: &mut Fields<'_, SRC>,
            ) -> Result<(), DecodeError> {
                $(fields.read_fixed(self.$index.0, self.$index.1)?;)+
                Ok(())
            }

            #[inline(always)]
            fn each_id(&self, mut mark: impl FnMut(i16)) {
                $(mark(self.$index.0);)+
            }
        }
    };
}

group!(A 0, B 1);
group!(A 0, B 1, C 2);
group!(A 0, B 1, C 2, D 3);
group!(A 0, B 1, C 2, D 3, E 4);
group!(A 0, B 1, C 2, D 3, E 4, F 5);
group!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
group!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
