//! Conversion of views to owned values.

use std::collections::BTreeMap;

use crate::{Elements, Entries, Fixed, Nested, NumberList, Pairs, Set, SetOf, View};

/// Conversion of a view's value to the owned type `T`: for fields of generated types, that of the
/// same name.
///
/// It cannot fail, and allocates as much memory as the owned value needs: a view of a few bytes may
/// refer to thousands of structs. [`crate::Limits::memory`] bounds the memory of `decode_slice`,
/// not this: decode the messages of an untrusted peer instead.
pub trait IntoOwned<T> {
    /// Returns the owned value.
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

/// Copies the bytes: a view does not own the message.
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
