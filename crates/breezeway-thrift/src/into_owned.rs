//! Owned values of views.

use std::collections::BTreeMap;

use crate::{Elements, Entries, Fixed, Nested, NumberList, Pairs, Set, SetOf, View};

/// Turns what a view has into what the owned type `T` has: for fields of generated types, that of
/// the same name.
///
/// It cannot fail, and takes what memory the owned value needs, however much: a view of a few bytes
/// may be of thousands of structs. [`crate::Limits::memory`] bounds what `decode_slice` takes, not
/// this: decode what a peer sends that is not trusted.
pub trait IntoOwned<T> {
    /// The owned value.
    fn into_owned(self) -> T;
}

impl<T: Fixed> IntoOwned<T> for T {
    #[inline]
    fn into_owned(self) -> T {
        self
    }
}

impl IntoOwned<String> for &str {
    #[inline]
    fn into_owned(self) -> String {
        self.to_owned()
    }
}

#[cfg(feature = "small-strings")]
impl IntoOwned<crate::SmallString> for &str {
    #[inline]
    fn into_owned(self) -> crate::SmallString {
        crate::SmallString::new(self)
    }
}

impl IntoOwned<Vec<u8>> for &[u8] {
    #[inline]
    fn into_owned(self) -> Vec<u8> {
        self.to_vec()
    }
}

/// A copy: a view does not know who owns the message.
#[cfg(feature = "shared-bytes")]
impl IntoOwned<bytes::Bytes> for &[u8] {
    #[inline]
    fn into_owned(self) -> bytes::Bytes {
        bytes::Bytes::copy_from_slice(self)
    }
}

impl<T, V: IntoOwned<T>> IntoOwned<Option<T>> for Option<V> {
    #[inline]
    fn into_owned(self) -> Option<T> {
        self.map(V::into_owned)
    }
}

impl<T: Fixed> IntoOwned<Vec<T>> for NumberList<'_, T> {
    #[inline]
    fn into_owned(self) -> Vec<T> {
        self.to_vec()
    }
}

impl<'a, T, V: View<'a> + IntoOwned<T>> IntoOwned<Vec<T>> for Elements<'a, V> {
    fn into_owned(self) -> Vec<T> {
        self.iter().map(V::into_owned).collect()
    }
}

impl<T, L: IntoOwned<Vec<T>>> IntoOwned<Set<T>> for SetOf<L> {
    #[inline]
    fn into_owned(self) -> Set<T> {
        Set(self.0.into_owned())
    }
}

impl<'a, K: Ord, V, L, W> IntoOwned<BTreeMap<K, V>> for Entries<'a, L, W>
where
    L: View<'a> + IntoOwned<K>,
    W: View<'a> + IntoOwned<V>,
{
    fn into_owned(self) -> BTreeMap<K, V> {
        self.iter().map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
    }
}

impl<'a, K, V, L, W> IntoOwned<Pairs<K, V>> for Entries<'a, L, W>
where
    L: View<'a> + IntoOwned<K>,
    W: View<'a> + IntoOwned<V>,
{
    fn into_owned(self) -> Pairs<K, V> {
        self.iter().map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
    }
}

impl<'a, T, V: View<'a> + Default + IntoOwned<T>> IntoOwned<Box<T>> for Nested<'a, V> {
    fn into_owned(self) -> Box<T> {
        Box::new(self.get().into_owned())
    }
}
