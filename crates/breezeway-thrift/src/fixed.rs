//! Values of fixed size.

use crate::byteswap;
use crate::{Wire, WireType};

/// A value that always takes the same number of bytes.
pub trait Fixed: Wire + Copy {
    /// Size in bytes.
    const SIZE: usize;

    /// Writes the value into the first [`Self::SIZE`] bytes of `to`.
    fn put(self, to: &mut [u8]);

    /// Reads a value from the first [`Self::SIZE`] bytes of `from`, for which [`Self::is_valid`]
    /// holds.
    fn get(from: &[u8]) -> Self;

    /// Returns true if the first [`Self::SIZE`] bytes of `from` are a value. Only bools can be
    /// invalid.
    #[inline(always)]
    fn is_valid(_from: &[u8]) -> bool {
        true
    }

    /// Writes all of `list` into `to`, which has exactly its size.
    #[inline]
    fn put_all(list: &[Self], to: &mut [u8]) {
        byteswap::put_all(list, to);
    }

    /// Writes like [`put_all`](Self::put_all), into the beginning of `to`, which may be longer.
    /// Bytes written behind the list are zero.
    #[inline(always)]
    fn put_short(list: &[Self], to: &mut [u8]) {
        Self::put_all(list, &mut to[..list.len() * Self::SIZE]);
    }

    /// Appends all values of `from` to `list`. Its length is a multiple of [`Self::SIZE`], and
    /// [`Self::first_invalid`] found none.
    #[inline]
    fn get_all(from: &[u8], list: &mut Vec<Self>) {
        byteswap::get_all(from, list);
    }

    /// Returns the offset of the first invalid byte in a list of values.
    #[inline]
    fn first_invalid(_from: &[u8]) -> Option<usize> {
        None
    }
}

/// Implements the traits of values for a type that is [`Fixed`].
#[macro_export]
macro_rules! fixed_value {
    ($type:ty) => {
        impl $crate::Encode for $type {
            #[inline(always)]
            fn encode<'a, S: $crate::Sink<'a>>(&'a self, to: &mut S) {
                $crate::Sink::fixed(to, <Self as $crate::Fixed>::SIZE, |to| {
                    $crate::Fixed::put(*self, to)
                });
            }

            #[inline(always)]
            fn encode_field<'a, S: $crate::Sink<'a>>(&'a self, id: i16, to: &mut S) {
                $crate::Sink::put(to, id, *self);
            }

            #[inline(always)]
            fn encode_all<'a, S: $crate::Sink<'a>>(list: &'a [Self], to: &mut S) {
                $crate::Sink::numbers(to, list);
            }
        }

        impl $crate::Decode for $type {
            #[inline(always)]
            fn decode<S: $crate::Source>(
                from: &mut S,
            ) -> ::std::result::Result<Self, $crate::DecodeError> {
                $crate::Source::fixed(from)
            }

            #[inline(always)]
            fn decode_all<S: $crate::Source>(
                count: usize,
                from: &mut S,
            ) -> ::std::result::Result<::std::vec::Vec<Self>, $crate::DecodeError> {
                $crate::Source::fixed_list(from, count)
            }
        }

        impl<'a> $crate::View<'a> for $type {
            #[inline(always)]
            fn view(
                from: &mut $crate::Slice<'a>,
            ) -> ::std::result::Result<Self, $crate::DecodeError> {
                $crate::Source::fixed(from)
            }
        }
    };
}

/// Implements [`Fixed`] for a number.
macro_rules! number {
    ($type:ty, $wire_type:ident $(, $short:ident)?) => {
        impl Wire for $type {
            const WIRE_TYPE: WireType = WireType::$wire_type;
        }

        impl Fixed for $type {
            const SIZE: usize = size_of::<Self>();

            #[inline(always)]
            fn put(self, to: &mut [u8]) {
                to[..Self::SIZE].copy_from_slice(&self.to_be_bytes());
            }

            #[inline(always)]
            fn get(from: &[u8]) -> Self {
                let mut bytes = [0; Self::SIZE];
                bytes.copy_from_slice(&from[..Self::SIZE]);
                Self::from_be_bytes(bytes)
            }
$(

            #[inline(always)]
            fn put_short(list: &[Self], to: &mut [u8]) {
                <Self as byteswap::$short>::put_short(list, to);
            }
            )?
        }

        fixed_value!($type);
    };
}

number!(i8, I8);
number!(i16, I16);
number!(i32, I32, Short);
number!(i64, I64, Short);
number!(f64, Double, Short);

impl Wire for bool {
    const WIRE_TYPE: WireType = WireType::Bool;
}

impl Fixed for bool {
    const SIZE: usize = 1;

    #[inline(always)]
    fn put(self, to: &mut [u8]) {
        to[0] = u8::from(self);
    }

    #[inline(always)]
    fn get(from: &[u8]) -> Self {
        from[0] != 0
    }

    #[inline(always)]
    fn is_valid(from: &[u8]) -> bool {
        from[0] <= 1
    }

    #[inline]
    fn first_invalid(from: &[u8]) -> Option<usize> {
        if from.iter().fold(0, |all, byte| all | byte) <= 1 {
            return None;
        }
        from.iter().position(|byte| *byte > 1)
    }
}

fixed_value!(bool);
