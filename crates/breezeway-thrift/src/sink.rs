//! Targets of encoding.

use crate::byteswap::SHORT_ROOM;
use crate::wire_type::STOP;
use crate::{Encode, EncodeError, Fixed, Wire, WriteGroup};

/// Takes the bytes of a message in order: a buffer ([`Output`](crate::Output)), chained buffers
/// ([`Chain`](crate::Chain)), or a count of them ([`Encode::size`]).
///
/// Values that live for `'a` may be kept by reference until the message is sent. A write does not
/// return errors: a sink keeps the first error, and returns it when the message is complete.
pub trait Sink<'a>: Sized {
    /// Passes exactly `size` bytes to `fill`, which writes all of them; or does nothing, if they
    /// are not needed or room is lacking.
    fn fixed(&mut self, size: usize, fill: impl FnOnce(&mut [u8]));

    /// Passes bytes like [`fixed`](Self::fixed), and zeroes those that `fill` does not write if
    /// they could come from another message of this process.
    #[inline(always)]
    fn in_place(&mut self, size: usize, fill: impl FnOnce(&mut [u8])) {
        self.fixed(size, fill);
    }

    /// Passes bytes like [`fixed`](Self::fixed), or `room` bytes, of which the first `size` count.
    /// The bytes that `fill` writes behind them are overwritten by the next write, if there is one.
    #[inline(always)]
    fn fixed_with_room(&mut self, size: usize, _room: usize, fill: impl FnOnce(&mut [u8])) {
        self.fixed(size, fill);
    }

    /// Writes the elements of a list of values of fixed size, converted at once.
    #[inline(always)]
    fn numbers<T: Fixed>(&mut self, list: &'a [T]) {
        let size = list.len() * T::SIZE;
        self.fixed_with_room(size, SHORT_ROOM, |to| T::put_short(list, to));
    }

    /// Copies `bytes`, or keeps them by reference.
    fn bytes(&mut self, bytes: &'a [u8]);

    /// Keeps the error: the message is not usable.
    fn fail(&mut self, error: EncodeError);

    /// Passes itself to `write`, which writes many fields: a small sink may be moved to a local for
    /// that, so that its position is not loaded from memory for each field.
    #[inline(always)]
    fn in_registers(&mut self, write: impl FnOnce(&mut Self)) {
        write(self);
    }

    /// Writes the header of a field, without its value.
    #[inline(always)]
    fn header<T: Wire + ?Sized>(&mut self, id: i16) {
        self.fixed(3, |to| put_header::<T>(id, to));
    }

    /// Writes a field.
    #[inline(always)]
    fn field<T: Encode + ?Sized>(&mut self, id: i16, value: &'a T) {
        value.encode_field(id, self);
    }

    /// Writes a field of fixed size, given by value.
    #[inline(always)]
    fn put<T: Fixed>(&mut self, id: i16, value: T) {
        self.fixed(3 + T::SIZE, |to| {
            put_header::<T>(id, to);
            value.put(&mut to[3..]);
        });
    }

    /// Writes a field, unless it is a union without a value.
    #[inline(always)]
    fn field_if_set<T: Encode + ?Sized>(&mut self, id: i16, value: &'a T) {
        if !value.is_absent() {
            value.encode_field(id, self);
        }
    }

    /// Fails with the union `name`, which has no value where one is required.
    #[cold]
    fn empty_union(&mut self, name: &'static str) {
        self.fail(EncodeError::EmptyUnion(name));
    }

    /// Writes a field, if there is a value.
    #[inline(always)]
    fn optional<T: Encode>(&mut self, id: i16, value: &'a Option<T>) {
        if let Some(value) = value {
            self.field_if_set(id, value);
        }
    }

    /// Writes neighbouring fields of fixed size, checked for room once: pairs of a field's number
    /// and value.
    #[inline(always)]
    fn group<G: WriteGroup>(&mut self, group: G) {
        self.fixed(G::SIZE, |to| group.put(to));
    }

    /// Writes the end of a struct.
    #[inline(always)]
    fn stop(&mut self) {
        self.fixed(1, |to| to[0] = STOP);
    }

    /// Writes a count or length, which must fit the signed 32 bits of Thrift.
    #[inline(always)]
    fn count(&mut self, count: usize) {
        let wire = self.checked_count(count);
        self.fixed(4, |to| to.copy_from_slice(&wire));
    }

    /// Returns the bytes of a count or length; fails if it is too large.
    #[inline(always)]
    fn checked_count(&mut self, count: usize) -> [u8; 4] {
        if count > i32::MAX as usize {
            self.fail(EncodeError::TooLong(count));
        }
        (count as u32).to_be_bytes()
    }
}

/// Writes a field's header into the first three bytes of `to`.
#[inline(always)]
pub(crate) fn put_header<T: Wire + ?Sized>(id: i16, to: &mut [u8]) {
    let [high, low] = id.to_be_bytes();
    to[..3].copy_from_slice(&[T::WIRE_TYPE as u8, high, low]);
}

/// Counts bytes instead of writing them, so that the size of a message comes from the same code as
/// its bytes: the size of a writer's output, before space is reserved for it. Functions that fill a
/// binary in place are not called, and of iterators over numbers only the length is read.
///
/// ```
/// use breezeway_thrift::{InPlace, Output, Sink, Size};
///
/// fn write<'a>(to: &mut impl Sink<'a>, image: &[u8]) {
///     to.put(1, 7i64);
///     to.bytes_in_place(2, image.len(), |place| place.copy_from_slice(image));
///     to.stop();
/// }
///
/// let mut size = Size::new();
/// write(&mut size, &[1, 2, 3]);
/// let mut space = vec![0; size.bytes()];
/// let mut output = Output::new(&mut space);
/// write(&mut output, &[1, 2, 3]);
/// assert_eq!(output.finish(), Ok(size.bytes()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size(usize);

impl Size {
    /// Creates a count of zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of bytes counted.
    pub fn bytes(self) -> usize {
        self.0
    }
}

impl<'a> Sink<'a> for Size {
    #[inline(always)]
    fn fixed(&mut self, size: usize, _: impl FnOnce(&mut [u8])) {
        self.0 += size;
    }

    #[inline(always)]
    fn bytes(&mut self, bytes: &'a [u8]) {
        self.0 += bytes.len();
    }

    #[inline(always)]
    fn fail(&mut self, _: EncodeError) {}
}
