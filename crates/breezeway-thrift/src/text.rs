//! Strings and binaries, which are the same on the wire: a length and bytes.

use crate::{Decode, DecodeError, Encode, Sink, Slice, Source, View, Wire, WireType};

/// Implements writing for a type with the bytes of a string.
macro_rules! bytes {
    ($type:ty, $value:ident => $bytes:expr) => {
        impl Wire for $type {
            const WIRE_TYPE: WireType = WireType::String;
        }

        impl Encode for $type {
            #[inline(always)]
            fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
                let $value = self;
                to.count($bytes.len());
                to.bytes($bytes);
            }

            #[inline(always)]
            fn encode_field<'a, S: Sink<'a>>(&'a self, id: i16, to: &mut S) {
                let $value = self;
                let length = to.checked_count($bytes.len());
                to.fixed(7, |to| {
                    crate::sink::put_header::<Self>(id, to);
                    to[3..7].copy_from_slice(&length);
                });
                to.bytes($bytes);
            }
        }
    };
}

bytes!(str, text => text.as_bytes());
bytes!(String, text => text.as_bytes());
bytes!([u8], bytes => bytes);
bytes!(Vec<u8>, bytes => bytes.as_slice());

impl Decode for String {
    #[inline(always)]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let length = from.length()?;
        from.charge(length)?;
        from.string(length)
    }
}

#[cfg(feature = "small-strings")]
bytes!(crate::SmallString, text => text.as_bytes());

#[cfg(feature = "small-strings")]
impl Decode for crate::SmallString {
    #[inline(always)]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let length = from.length()?;
        if length > Self::ROOM {
            from.charge(length)?;
            // Straight into heap memory, without an inline copy.
            return from.string(length).map(Self::from);
        }
        from.text_as(length, Self::new)
    }
}

#[cfg(feature = "shared-bytes")]
bytes!(bytes::Bytes, bytes => bytes.as_ref());

#[cfg(feature = "shared-bytes")]
impl Decode for bytes::Bytes {
    #[inline(always)]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let length = from.length()?;
        from.shared(length)
    }
}

impl Decode for Vec<u8> {
    #[inline(always)]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let length = from.length()?;
        from.charge(length)?;
        from.binary(length)
    }
}

impl<'a> View<'a> for &'a str {
    #[inline(always)]
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let length = from.length()?;
        from.text(length)
    }
}

impl<'a> View<'a> for &'a [u8] {
    #[inline(always)]
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let length = from.length()?;
        from.take(length)
    }
}
