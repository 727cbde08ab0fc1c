//! Maps.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::ops::{Deref, DerefMut};

use crate::decode::first_capacity;
use crate::{Decode, DecodeError, Encode, Fault, Output, Sink, Source, Wire, WireType};

/// A map as it is in a message: pairs in the writer's order, without detection of repeated keys.
/// Keys need no order and no hash.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct Pairs<K, V>(pub Vec<(K, V)>);

impl<K, V> Default for Pairs<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Pairs<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter().map(|(key, value)| (key, value))).finish()
    }
}

impl<K, V> Deref for Pairs<K, V> {
    type Target = Vec<(K, V)>;

    fn deref(&self) -> &Vec<(K, V)> {
        &self.0
    }
}

impl<K, V> DerefMut for Pairs<K, V> {
    fn deref_mut(&mut self) -> &mut Vec<(K, V)> {
        &mut self.0
    }
}

impl<K, V> FromIterator<(K, V)> for Pairs<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

/// Returns the size of a pair in bytes, if it is the same for all: then the room suffices for all
/// pairs or for none.
#[inline(always)]
pub(crate) fn fixed_pair_size<K: Wire, V: Wire>() -> Option<usize> {
    Some(K::WIRE_TYPE.fixed_size()? + V::WIRE_TYPE.fixed_size()?)
}

/// Returns the number of entries for which a map or set of the standard library allocates memory:
/// trees in nodes of eleven, of which half may be free, tables in powers of two.
#[inline(always)]
pub(crate) fn places(count: usize) -> usize {
    if count == 0 { 0 } else { count.saturating_mul(2).max(12) }
}

/// Writes the types and count of a map.
#[inline(always)]
pub(crate) fn encode_header<'a, K, V, S>(count: usize, to: &mut S)
where
    K: Wire + ?Sized,
    V: Wire + ?Sized,
    S: Sink<'a>,
{
    let count = to.checked_count(count);
    to.fixed(6, |to| {
        to[0] = K::WIRE_TYPE as u8;
        to[1] = V::WIRE_TYPE as u8;
        to[2..6].copy_from_slice(&count);
    });
}

/// Takes the types and count of a map. An empty one may have any types, because some writers write
/// none.
#[inline(always)]
pub(crate) fn decode_header<K: Wire, V: Wire, S: Source>(
    from: &mut S,
) -> Result<usize, DecodeError> {
    let found = from.array()?;
    if found != [K::WIRE_TYPE as u8, V::WIRE_TYPE as u8] {
        return other_types::<K, V, S>(found, from);
    }
    from.count(K::MIN_SIZE + V::MIN_SIZE)
}

#[cold]
fn other_types<K: Wire, V: Wire, S: Source>(
    [key, value]: [u8; 2],
    from: &mut S,
) -> Result<usize, DecodeError> {
    let count = u32::from_be_bytes(from.array()?);
    if count == 0 {
        return Ok(0);
    }
    Err(if key == K::WIRE_TYPE as u8 {
        let expected = V::WIRE_TYPE;
        Fault::ElementType { expected, found: value }.at(from.offset() - 5)
    } else {
        let expected = K::WIRE_TYPE;
        Fault::ElementType { expected, found: key }.at(from.offset() - 6)
    })
}

impl<K: Decode, V: Decode> Decode for Pairs<K, V> {
    #[inline]
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        from.enter()?;
        let count = decode_header::<K, V, S>(from)?;
        from.charge_list::<(K, V)>(count)?;
        let mut pairs = Vec::with_capacity(first_capacity::<(K, V)>(count, from));
        for _ in 0..count {
            pairs.push((K::decode(from)?, V::decode(from)?));
        }
        from.leave();
        Ok(Self(pairs))
    }
}

/// Number of pairs from which a tree is built from all at once: most writers have sorted them, and
/// then no search is needed.
const BULK: usize = 12;

/// Takes the pairs of a map; from `bulk` pairs on, all are read before the map is built. Of
/// repeated keys the last counts.
#[inline]
fn decode_pairs<
    K: Decode,
    V: Decode,
    S: Source,
    M: Default + Extend<(K, V)> + FromIterator<(K, V)>,
>(
    count: usize,
    from: &mut S,
    bulk: usize,
) -> Result<M, DecodeError> {
    if count >= bulk {
        let mut pairs = Vec::with_capacity(first_capacity::<(K, V)>(count, from));
        for _ in 0..count {
            pairs.push((K::decode(from)?, V::decode(from)?));
        }
        return Ok(pairs.into_iter().collect());
    }
    let mut map = M::default();
    for _ in 0..count {
        map.extend([(K::decode(from)?, V::decode(from)?)]);
    }
    Ok(map)
}

/// Implements writing, and for a map of the standard library reading.
macro_rules! map {
    ($type:ident<K, V $(, $hasher:ident)?>, $map:ident => $pairs:expr) => {
        impl<K: Wire, V: Wire $(, $hasher)?> Wire for $type<K, V $(, $hasher)?> {
            const WIRE_TYPE: WireType = WireType::Map;
        }

        impl<K: Encode, V: Encode $(, $hasher)?> Encode for $type<K, V $(, $hasher)?> {
            #[inline]
            fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
                let $map = self;
                encode_header::<K, V, S>($map.len(), to);
                let Some(size) = fixed_pair_size::<K, V>() else {
                    for (key, value) in $pairs {
                        key.encode(to);
                        value.encode(to);
                    }
                    return;
                };
                to.fixed($map.len() * size, |to| {
                    for ((key, value), to) in $pairs.into_iter().zip(to.chunks_exact_mut(size)) {
                        let mut pair = Output::new(to);
                        key.encode(&mut pair);
                        value.encode(&mut pair);
                    }
                });
            }
        }
    };
    ($type:ident<K, V $(, $hasher:ident)?> where $($bound:ident)+, from $bulk:expr) => {
        map!($type<K, V $(, $hasher)?>, map => map);

        impl<K: Decode $(+ $bound)+, V: Decode $(, $hasher: BuildHasher + Default)?> Decode
            for $type<K, V $(, $hasher)?>
        {
            #[inline]
            fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
                from.enter()?;
                let count = decode_header::<K, V, S>(from)?;
                from.charge_list::<(K, V)>(places(count))?;
                let map = decode_pairs(count, from, $bulk)?;
                from.leave();
                Ok(map)
            }
        }
    };
}

map!(Pairs<K, V>, map => &map.0);
map!(BTreeMap<K, V> where Ord, from BULK);
map!(HashMap<K, V, H> where Eq Hash, from usize::MAX);
