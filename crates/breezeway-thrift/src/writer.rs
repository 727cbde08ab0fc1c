//! Fields written without an owned value: the base of generated writers.

use crate::byteswap;
use crate::sink::put_header;
use crate::{Encode, EncodeError, Fixed, Sink, Wire, WireType};

/// Writes fields straight into the message.
pub trait InPlace<'a>: Sink<'a> {
    /// Writes the string or binary field `id` of `length` bytes, filled by `fill`. Bytes that
    /// `fill` leaves keep the contents of the caller's buffer; in a [`Chain`](crate::Chain), whose
    /// buffers are reused, they are zero.
    #[inline(always)]
    fn bytes_in_place(&mut self, id: i16, length: usize, fill: impl FnOnce(&mut [u8])) {
        let count = self.checked_count(length);
        self.fixed(7, |to| {
            put_header::<[u8]>(id, to);
            to[3..7].copy_from_slice(&count);
        });
        self.in_place(length, fill);
    }

    /// Writes the struct field `id`, with a body written by `write` up to its stop byte.
    #[inline(always)]
    fn struct_in_place(&mut self, id: i16, write: impl FnOnce(&mut Self)) {
        self.fixed(3, |to| header(WireType::Struct, id, to));
        write(self);
    }

    /// Writes the list field `id` of fixed-size values.
    #[inline(always)]
    fn numbers_in_place<T: Fixed>(
        &mut self,
        id: i16,
        numbers: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    ) {
        fill_numbers(WireType::List, id, numbers.into_iter(), self);
    }

    /// Writes the set field `id` of fixed-size values.
    #[inline(always)]
    fn number_set_in_place<T: Fixed>(
        &mut self,
        id: i16,
        numbers: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    ) {
        fill_numbers(WireType::Set, id, numbers.into_iter(), self);
    }

    /// Writes the list field `id` of elements of type `T`, each written by `write` for one item.
    #[inline(always)]
    fn list_in_place<T: Wire + ?Sized, I: IntoIterator<IntoIter: ExactSizeIterator>>(
        &mut self,
        id: i16,
        items: I,
        write: impl FnMut(&mut Self, I::Item),
    ) {
        self.fixed(3, |to| header(WireType::List, id, to));
        write_items::<T, _, _>(items.into_iter(), self, write);
    }

    /// Writes the list field `id` of values that need not be in a list: strings, or any values that
    /// live until the message is sent.
    #[inline(always)]
    fn list_of<T: Encode + ?Sized + 'a>(
        &mut self,
        id: i16,
        items: impl IntoIterator<Item = &'a T, IntoIter: ExactSizeIterator>,
    ) {
        self.list_in_place::<T, _>(id, items, |to, item| item.encode(to));
    }

    /// Writes a field like [`list_of`](Self::list_of), as a set.
    #[inline(always)]
    fn set_of<T: Encode + ?Sized + 'a>(
        &mut self,
        id: i16,
        items: impl IntoIterator<Item = &'a T, IntoIter: ExactSizeIterator>,
    ) {
        self.set_in_place::<T, _>(id, items, |to, item| item.encode(to));
    }

    /// Writes the map field `id` of pairs that need not be in a map.
    #[inline(always)]
    fn map_of<K: Encode + ?Sized + 'a, V: Encode + ?Sized + 'a>(
        &mut self,
        id: i16,
        pairs: impl IntoIterator<Item = (&'a K, &'a V), IntoIter: ExactSizeIterator>,
    ) {
        let pairs = pairs.into_iter();
        self.fixed(3, |to| header(WireType::Map, id, to));
        let announced = pairs.len();
        crate::map::encode_header::<K, V, Self>(announced, self);
        let mut given = 0;
        for (key, value) in pairs.take(announced) {
            key.encode(self);
            value.encode(self);
            given += 1;
        }
        check_count(announced, given, self);
    }

    /// Writes a field like [`list_in_place`](Self::list_in_place), as a set.
    #[inline(always)]
    fn set_in_place<T: Wire + ?Sized, I: IntoIterator<IntoIter: ExactSizeIterator>>(
        &mut self,
        id: i16,
        items: I,
        write: impl FnMut(&mut Self, I::Item),
    ) {
        self.fixed(3, |to| header(WireType::Set, id, to));
        write_items::<T, _, _>(items.into_iter(), self, write);
    }
}

impl<'a, S: Sink<'a>> InPlace<'a> for S {}

#[inline(always)]
fn header(wire_type: WireType, id: i16, to: &mut [u8]) {
    let [high, low] = id.to_be_bytes();
    to[..3].copy_from_slice(&[wire_type as u8, high, low]);
}

#[inline(always)]
fn fill_numbers<'a, T: Fixed, S: Sink<'a>>(
    wire_type: WireType,
    id: i16,
    numbers: impl ExactSizeIterator<Item = T>,
    to: &mut S,
) {
    let announced = numbers.len();
    let mut given = 0;
    let count = to.checked_count(announced);
    to.fixed(8 + announced * T::SIZE, |to| {
        header(wire_type, id, to);
        to[3] = T::WIRE_TYPE as u8;
        to[4..8].copy_from_slice(&count);
        given = byteswap::fill(numbers, &mut to[8..]);
    });
    check_count(announced, given, to);
}

#[inline(always)]
fn write_items<'a, T: Wire + ?Sized, I: ExactSizeIterator, S: Sink<'a>>(
    items: I,
    to: &mut S,
    mut write: impl FnMut(&mut S, I::Item),
) {
    let announced = items.len();
    crate::list::encode_header::<T, S>(announced, to);
    let mut given = 0;
    for item in items.take(announced) {
        write(to, item);
        given += 1;
    }
    check_count(announced, given, to);
}

/// Fails the message if an iterator's length was wrong.
#[inline(always)]
fn check_count<'a, S: Sink<'a>>(announced: usize, given: usize, to: &mut S) {
    if given != announced {
        to.fail(EncodeError::Count { announced, given });
    }
}
