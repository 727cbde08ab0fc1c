//! Wire representation of a type.

use crate::WireType;

/// A Rust type with a fixed Thrift type. The defaults are those of a struct.
pub trait Wire {
    /// Type byte.
    const WIRE_TYPE: WireType = WireType::Struct;
    /// Minimum encoded size of a value. Counts of lists are checked against it before memory is
    /// allocated, so a larger value would reject valid messages.
    const MIN_SIZE: usize = Self::WIRE_TYPE.min_size();
}

impl<T: Wire + ?Sized> Wire for &T {
    const WIRE_TYPE: WireType = T::WIRE_TYPE;
    const MIN_SIZE: usize = T::MIN_SIZE;
}

impl<T: Wire + ?Sized> Wire for Box<T> {
    const WIRE_TYPE: WireType = T::WIRE_TYPE;
    const MIN_SIZE: usize = T::MIN_SIZE;
}

impl<T: Wire> Wire for Option<T> {
    const WIRE_TYPE: WireType = T::WIRE_TYPE;
    const MIN_SIZE: usize = T::MIN_SIZE;
}
