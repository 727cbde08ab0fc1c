//! The type bytes of Thrift Binary.

use crate::Fault;

/// Type byte: the encoding of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum WireType {
    /// One byte, 0 or 1.
    Bool = 2,
    /// One byte (IDL `byte` and `i8`).
    I8 = 3,
    /// Eight bytes, the bits of an IEEE 754 number.
    Double = 4,
    /// Two bytes.
    I16 = 6,
    /// Four bytes (also an enum).
    I32 = 8,
    /// Eight bytes.
    I64 = 10,
    /// A length and that many bytes (IDL `string` and `binary`).
    String = 11,
    /// Fields and a stop byte (also a union and an exception).
    Struct = 12,
    /// Two types, a count and that many pairs.
    Map = 13,
    /// A type, a count and that many elements.
    Set = 14,
    /// Encoded like a set.
    List = 15,
    /// Sixteen bytes.
    Uuid = 16,
}

/// Byte that ends a struct.
pub(crate) const STOP: u8 = 0;

impl WireType {
    /// Returns the minimum encoded size of a value.
    pub(crate) const fn min_size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::Struct => 1,
            Self::I16 => 2,
            Self::I32 | Self::String => 4,
            Self::Double | Self::I64 => 8,
            Self::Set | Self::List => 5,
            Self::Map => 6,
            Self::Uuid => 16,
        }
    }

    /// Returns the encoded size of every value, if it is the same for all.
    pub(crate) const fn fixed_size(self) -> Option<usize> {
        match self {
            Self::String | Self::Struct | Self::Map | Self::Set | Self::List => None,
            fixed => Some(fixed.min_size()),
        }
    }
}

impl TryFrom<u8> for WireType {
    type Error = Fault;

    #[inline]
    fn try_from(byte: u8) -> Result<Self, Fault> {
        Ok(match byte {
            2 => Self::Bool,
            3 => Self::I8,
            4 => Self::Double,
            6 => Self::I16,
            8 => Self::I32,
            10 => Self::I64,
            11 => Self::String,
            12 => Self::Struct,
            13 => Self::Map,
            14 => Self::Set,
            15 => Self::List,
            16 => Self::Uuid,
            unknown => return Err(Fault::UnknownType(unknown)),
        })
    }
}
