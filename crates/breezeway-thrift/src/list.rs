//! Lists.

use crate::sink::put_header;
use crate::{Decode, DecodeError, Encode, Fault, Sink, Source, Wire, WireType};

/// Writes the field header, type and count of a list or set, checked for room once.
#[inline(always)]
pub(crate) fn encode_field_header<'a, L: Wire + ?Sized, T: Wire, S: Sink<'a>>(
    id: i16,
    count: usize,
    to: &mut S,
) {
    let count = to.checked_count(count);
    to.fixed(8, |to| {
        put_header::<L>(id, to);
        to[3] = T::WIRE_TYPE as u8;
        to[4..8].copy_from_slice(&count);
    });
}

/// Writes the type and count of a list or set.
#[inline(always)]
pub(crate) fn encode_header<'a, T: Wire + ?Sized, S: Sink<'a>>(count: usize, to: &mut S) {
    let count = to.checked_count(count);
    to.fixed(5, |to| {
        to[0] = T::WIRE_TYPE as u8;
        to[1..5].copy_from_slice(&count);
    });
}

/// Takes the type and count of a list or set. An empty one may have any type, because some writers
/// write none.
#[inline(always)]
pub(crate) fn decode_header<T: Wire, S: Source>(from: &mut S) -> Result<usize, DecodeError> {
    let found = from.byte()?;
    if found != T::WIRE_TYPE as u8 {
        return other_type::<T, S>(found, from);
    }
    from.count(T::MIN_SIZE)
}

#[cold]
fn other_type<T: Wire, S: Source>(found: u8, from: &mut S) -> Result<usize, DecodeError> {
    let count = u32::from_be_bytes(from.array()?);
    if count > 0 {
        let expected = T::WIRE_TYPE;
        return Err(Fault::ElementType { expected, found }.at(from.offset() - 5));
    }
    Ok(0)
}

/// Implements writing for a type that has elements.
macro_rules! list {
    ($type:ty, $wire_type:ident, $list:ident => $elements:expr) => {
        impl<T: Wire> Wire for $type {
            const WIRE_TYPE: WireType = WireType::$wire_type;
        }

        impl<T: Encode> Encode for $type {
            #[inline(always)]
            fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
                let $list = self;
                $crate::list::encode_header::<T, S>($elements.len(), to);
                T::encode_all($elements, to);
            }

            #[inline(always)]
            fn encode_field<'a, S: Sink<'a>>(&'a self, id: i16, to: &mut S) {
                let $list = self;
                $crate::list::encode_field_header::<Self, T, S>(id, $elements.len(), to);
                T::encode_all($elements, to);
            }
        }
    };
}
pub(crate) use list;

list!([T], List, list => list);
list!(Vec<T>, List, list => list.as_slice());

impl<T: Decode> Decode for Vec<T> {
    #[inline(always)]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        from.enter()?;
        let count = decode_header::<T, S>(from)?;
        from.charge_list::<T>(count)?;
        let list = T::decode_all(count, from)?;
        from.leave();
        Ok(list)
    }
}
