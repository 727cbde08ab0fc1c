//! Enums that preserve values of a later version.

/// Implements the traits of values for an IDL enum: a tuple struct of a public `i32`, so that
/// values that this version does not know are preserved.
///
/// ```
/// #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
/// pub struct Color(pub i32);
///
/// impl Color {
///     pub const RED: Self = Self(1);
/// }
///
/// breezeway_thrift::open_enum!(Color);
/// ```
#[macro_export]
macro_rules! open_enum {
    ($type:ident) => {
        impl $crate::Wire for $type {
            const WIRE_TYPE: $crate::WireType = $crate::WireType::I32;
        }

        impl $crate::Fixed for $type {
            const SIZE: usize = 4;

            #[inline(always)]
            fn put(self, to: &mut [u8]) {
                $crate::Fixed::put(self.0, to);
            }

            #[inline(always)]
            fn get(from: &[u8]) -> Self {
                Self(<i32 as $crate::Fixed>::get(from))
            }
        }

        impl ::std::convert::From<i32> for $type {
            fn from(value: i32) -> Self {
                Self(value)
            }
        }

        impl ::std::convert::From<$type> for i32 {
            fn from(value: $type) -> Self {
                value.0
            }
        }

        $crate::fixed_value!($type);
    };
}
