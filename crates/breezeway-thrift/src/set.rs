//! Sets.

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, Hash};
use std::ops::{Deref, DerefMut};

use crate::list::{decode_header, encode_header, list};
use crate::{Decode, DecodeError, Encode, Sink, Slice, Source, View, Wire, WireType};

/// A set as it is in a message: in the writer's order, without detection of repeated elements.
///
/// Elements need no order and no hash, and numbers are read and written at once, as in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct Set<T>(pub Vec<T>);

impl<T> Deref for Set<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Set<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> From<Vec<T>> for Set<T> {
    fn from(elements: Vec<T>) -> Self {
        Self(elements)
    }
}

impl<T> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self(elements.into_iter().collect())
    }
}

list!(Set<T>, Set, set => set.0.as_slice());

impl<T: Decode> Decode for Set<T> {
    #[inline(always)]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        Vec::decode(from).map(Self)
    }
}

/// Implements the traits of values for a set of the standard library.
macro_rules! standard_set {
    ($type:ident<T $(, $hasher:ident)?> where $($bound:tt)+) => {
        impl<T: Wire $(, $hasher)?> Wire for $type<T $(, $hasher)?> {
            const WIRE_TYPE: WireType = WireType::Set;
        }

        impl<T: Encode $(, $hasher)?> Encode for $type<T $(, $hasher)?> {
            #[inline]
            fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
                encode_header::<T, S>(self.len(), to);
                for element in self {
                    element.encode(to);
                }
            }
        }

        impl<T: Decode + $($bound)+ $(, $hasher: BuildHasher + Default)?> Decode
            for $type<T $(, $hasher)?>
        {
            #[inline]
            fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
                from.enter()?;
                let count = decode_header::<T, S>(from)?;
                from.charge_list::<T>(crate::map::places(count))?;
                let mut set = Self::default();
                for _ in 0..count {
                    set.insert(T::decode(from)?);
                }
                from.leave();
                Ok(set)
            }
        }
    };
}

standard_set!(BTreeSet<T> where Ord);
standard_set!(HashSet<T, H> where Eq + Hash);

/// A set in a message, over a [`NumberList`](crate::NumberList) or [`Elements`](crate::Elements).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SetOf<L>(pub L);

impl<L> Deref for SetOf<L> {
    type Target = L;

    #[inline]
    fn deref(&self) -> &L {
        &self.0
    }
}

impl<L> Wire for SetOf<L> {
    const WIRE_TYPE: WireType = WireType::Set;
}

impl<L: Encode> Encode for SetOf<L> {
    #[inline]
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        self.0.encode(to);
    }
}

impl<'a, L: View<'a>> View<'a> for SetOf<L> {
    #[inline(always)]
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        L::view(from).map(Self)
    }
}
