//! Maps, read in place.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use crate::map::{decode_header, encode_header, fixed_pair_size};
use crate::{DecodeError, Encode, Sink, Slice, Source, View, Wire, WireType};

/// A map in a message. Each pair is read on access; all were validated when the view was made.
///
/// Pairs are in the writer's order, and repeated keys are not detected.
pub struct Entries<'a, K, V> {
    bytes: &'a [u8],
    count: usize,
    _entries: PhantomData<(K, V)>,
}

impl<'a, K: View<'a>, V: View<'a>> Entries<'a, K, V> {
    /// Returns the number of pairs.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if it contains no pairs.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns an iterator over the pairs, in order.
    #[inline]
    pub fn iter(&self) -> EntriesIter<'a, K, V> {
        EntriesIter { from: Slice::again(self.bytes), left: self.count, _entries: PhantomData }
    }

    /// Returns the value of the last pair with this key, by reading all pairs.
    pub fn find(&self, key: &K) -> Option<V>
    where
        K: PartialEq,
    {
        self.iter().filter(|(found, _)| found == key).last().map(|(_, value)| value)
    }
}

impl<K, V> Clone for Entries<'_, K, V> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Entries<'_, K, V> {}

impl<K, V> Default for Entries<'_, K, V> {
    #[inline]
    fn default() -> Self {
        Self { bytes: &[], count: 0, _entries: PhantomData }
    }
}

impl<'a, K: View<'a> + PartialEq, V: View<'a> + PartialEq> PartialEq for Entries<'a, K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, K: View<'a> + fmt::Debug, V: View<'a> + fmt::Debug> fmt::Debug for Entries<'a, K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl<'a, K: View<'a>, V: View<'a>> IntoIterator for Entries<'a, K, V> {
    type Item = (K, V);
    type IntoIter = EntriesIter<'a, K, V>;

    #[inline]
    fn into_iter(self) -> EntriesIter<'a, K, V> {
        self.iter()
    }
}

impl<K: Wire, V: Wire> Wire for Entries<'_, K, V> {
    const WIRE_TYPE: WireType = WireType::Map;
}

/// Writes the bytes as they were received, including repeated keys and unknown fields.
impl<K: Wire, V: Wire> Encode for Entries<'_, K, V> {
    #[inline]
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        encode_header::<K, V, S>(self.count, to);
        to.bytes(self.bytes);
    }
}

impl<'a, K: View<'a>, V: View<'a>> View<'a> for Entries<'a, K, V> {
    #[inline(always)]
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        from.enter()?;
        let count = decode_header::<K, V, _>(from)?;
        let start = from.rest();
        match checked_by_count::<K, V>() {
            Some(size) => from.pass(count * size)?,
            None => {
                for _ in 0..count {
                    K::view(from)?;
                    V::view(from)?;
                }
            }
        }
        from.leave();
        let bytes = &start[..start.len() - from.remaining()];
        Ok(Self { bytes, count, _entries: PhantomData })
    }
}

/// Returns the size of a pair, if any bytes of that size are valid: of fixed size, and without
/// bools.
#[inline(always)]
fn checked_by_count<K: Wire, V: Wire>() -> Option<usize> {
    if K::WIRE_TYPE == WireType::Bool || V::WIRE_TYPE == WireType::Bool {
        return None;
    }
    fixed_pair_size::<K, V>()
}

/// Iterator over the pairs of [`Entries`].
#[derive(Clone, Debug)]
pub struct EntriesIter<'a, K, V> {
    from: Slice<'a>,
    left: usize,
    _entries: PhantomData<(K, V)>,
}

impl<'a, K: View<'a>, V: View<'a>> Iterator for EntriesIter<'a, K, V> {
    type Item = (K, V);

    #[inline(always)]
    fn next(&mut self) -> Option<(K, V)> {
        self.left = self.left.checked_sub(1)?;
        let key = K::view(&mut self.from).ok()?;
        let value = V::view(&mut self.from).ok()?;
        Some((key, value))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, K: View<'a>, V: View<'a>> ExactSizeIterator for EntriesIter<'a, K, V> {}
impl<'a, K: View<'a>, V: View<'a>> FusedIterator for EntriesIter<'a, K, V> {}
