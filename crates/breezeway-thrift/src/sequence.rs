//! Lists and sets, owned or viewed.

use std::collections::{BTreeSet, HashSet};
use std::slice;

use crate::elements::ElementsIter;
use crate::number_list::NumberIter;
use crate::{Elements, Fixed, NumberList, Set, SetOf, View};

/// A list or set, owned or viewed, so that one function can read both. Owned lists return
/// references, views return values: `Borrow` and `AsRef` hold for either.
///
/// ```
/// use std::borrow::Borrow;
/// use breezeway_thrift::{NumberList, Sequence, to_vec, view_slice};
///
/// fn mean<'l, L: Sequence<'l, Item: Borrow<f64>>>(list: &'l L) -> f64 {
///     let sum: f64 = list.items().map(|item| *item.borrow()).sum();
///     sum / list.items().len() as f64
/// }
///
/// fn longest<'l, L: Sequence<'l, Item: AsRef<str>>>(list: &'l L) -> usize {
///     list.items().map(|item| item.as_ref().len()).max().unwrap_or(0)
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let list = vec![1.0, 2.0, 6.0];
/// let bytes = to_vec(&list)?;
/// let viewed: NumberList<'_, f64> = view_slice(&bytes)?;
/// assert_eq!((mean(&list), mean(&viewed)), (3.0, 3.0));
/// assert_eq!(longest(&vec!["ann".to_owned()]), 3);
/// # Ok(())
/// # }
/// ```
pub trait Sequence<'l> {
    /// An element, or a reference to it.
    type Item;
    /// Iterator over the elements, in order.
    type Items: ExactSizeIterator<Item = Self::Item>;

    /// Returns an iterator over the elements, in order.
    fn items(&'l self) -> Self::Items;
}

/// Implements [`Sequence`] for types that return references.
macro_rules! lends {
    ($($type:ty, $items:ty);+ $(;)?) => {$(
        impl<'l, T: 'l> Sequence<'l> for $type {
            type Item = &'l T;
            type Items = $items;

            #[inline]
            fn items(&'l self) -> Self::Items {
                self.iter()
            }
        }
    )+};
}

lends! {
    [T], slice::Iter<'l, T>;
    Vec<T>, slice::Iter<'l, T>;
    Set<T>, slice::Iter<'l, T>;
    BTreeSet<T>, std::collections::btree_set::Iter<'l, T>;
}

impl<'l, T: 'l, H> Sequence<'l> for HashSet<T, H> {
    type Item = &'l T;
    type Items = std::collections::hash_set::Iter<'l, T>;

    #[inline]
    fn items(&'l self) -> Self::Items {
        self.iter()
    }
}

impl<'a, T: Fixed> Sequence<'_> for NumberList<'a, T> {
    type Item = T;
    type Items = NumberIter<'a, T>;

    #[inline]
    fn items(&self) -> Self::Items {
        self.iter()
    }
}

impl<'a, T: View<'a>> Sequence<'_> for Elements<'a, T> {
    type Item = T;
    type Items = ElementsIter<'a, T>;

    #[inline]
    fn items(&self) -> Self::Items {
        self.iter()
    }
}

impl<'l, L: Sequence<'l>> Sequence<'l> for SetOf<L> {
    type Item = L::Item;
    type Items = L::Items;

    #[inline]
    fn items(&'l self) -> Self::Items {
        self.0.items()
    }
}
