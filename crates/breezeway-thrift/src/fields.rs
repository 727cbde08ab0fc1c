//! Reading the fields of a struct.

use crate::skip::skip;
use crate::wire_type::STOP;
use crate::{Decode, DecodeError, Fault, Fixed, ReadGroup, Slice, Source, View, Wire, WireType};

/// Reads the fields of one struct, in rounds: each round offers every field that is known, in the order in which writers send them, and takes those that come next.
///
/// One round is enough for a message in the order of the IDL. A field out of order begins another round; one that is unknown, or of another type than the IDL says, is skipped.
pub struct Fields<'s, S> {
    from: &'s mut S,
    /// Whether this round took a field.
    progress: bool,
    /// The fields taken, one bit for each number from 0 to 255.
    seen: [u64; 4],
}

impl<'s, S: Source> Fields<'s, S> {
    /// Begins to read a struct.
    #[inline(always)]
    pub fn begin(from: &'s mut S) -> Result<Self, DecodeError> {
        from.enter()?;
        Ok(Self { from, progress: false, seen: [0; 4] })
    }

    /// Takes the field `id`, if it comes next, as a value of its own. Returns whether it did.
    #[inline(always)]
    pub fn read<T: Decode>(&mut self, id: i16, place: &mut T) -> Result<bool, DecodeError> {
        if !self.takes::<T>(id) {
            return Ok(false);
        }
        *place = T::decode(self.from)?;
        Ok(true)
    }

    /// As [`Self::read`], for a variant of a union.
    #[inline(always)]
    pub fn read_as<T: Decode, U>(
        &mut self,
        id: i16,
        place: &mut U,
        variant: impl FnOnce(T) -> U,
    ) -> Result<bool, DecodeError> {
        if !self.takes::<T>(id) {
            return Ok(false);
        }
        *place = variant(T::decode(self.from)?);
        Ok(true)
    }

    /// As [`Self::read`], for a value of fixed size.
    #[inline(always)]
    pub(crate) fn read_fixed<T: Fixed>(
        &mut self,
        id: i16,
        place: &mut T,
    ) -> Result<bool, DecodeError> {
        if !self.takes::<T>(id) {
            return Ok(false);
        }
        *place = self.from.fixed()?;
        Ok(true)
    }

    /// Takes neighbouring fields of fixed size, with one check if all of them come next.
    #[inline(always)]
    pub fn group<G: ReadGroup>(&mut self, mut group: G) -> Result<(), DecodeError> {
        let together = match self.from.peek(G::SIZE) {
            Some(bytes) => group.get(bytes),
            None => false,
        };
        if !together {
            return group.read_each(self);
        }
        self.from.advance(G::SIZE);
        group.each_id(|id| self.mark(id));
        Ok(())
    }

    /// Ends a round: whether the struct ended. If the round took nothing, a field is skipped.
    #[inline(always)]
    pub fn end(&mut self) -> Result<bool, DecodeError> {
        let next = match self.from.peek(1) {
            Some(bytes) => bytes[0],
            None => return Err(self.from.truncated(1)),
        };
        if next == STOP {
            self.from.advance(1);
            self.from.leave();
            return Ok(true);
        }
        if !std::mem::take(&mut self.progress) {
            self.skip_field(next)?;
        }
        Ok(false)
    }

    /// An error if the required field `id` was not taken. Numbers from 0 to 255 only: for others, keep what [`Self::read`] returns.
    #[inline(always)]
    pub fn require(&self, id: u8, name: &'static str) -> Result<(), DecodeError> {
        self.require_if(self.seen[usize::from(id >> 6)] & (1 << (id & 63)) != 0, id.into(), name)
    }

    /// An error if the required field `id` was not taken, as the caller knows.
    #[inline(always)]
    pub fn require_if(&self, taken: bool, id: i16, name: &'static str) -> Result<(), DecodeError> {
        if taken { Ok(()) } else { Err(self.from.fault(Fault::Missing { id, name })) }
    }

    /// Takes the header of field `id`, if it comes next.
    #[inline(always)]
    fn takes<T: Wire>(&mut self, id: i16) -> bool {
        let [high, low] = id.to_be_bytes();
        if self.from.peek(3) != Some(&[T::WIRE_TYPE as u8, high, low]) {
            return false;
        }
        self.from.advance(3);
        self.mark(id);
        true
    }

    #[inline(always)]
    fn mark(&mut self, id: i16) {
        self.progress = true;
        if let Ok(id) = u8::try_from(id) {
            self.seen[usize::from(id >> 6)] |= 1 << (id & 63);
        }
    }

    #[cold]
    #[inline(never)]
    fn skip_field(&mut self, wire_type: u8) -> Result<(), DecodeError> {
        let wire_type = WireType::try_from(wire_type).map_err(|fault| self.from.fault(fault))?;
        self.from.array::<3>()?;
        skip(wire_type, self.from)
    }
}

impl<'a> Fields<'_, Slice<'a>> {
    /// As [`Self::read`], for a value that borrows from the message.
    #[inline(always)]
    pub fn view<T: View<'a>>(&mut self, id: i16, place: &mut T) -> Result<bool, DecodeError> {
        if !self.takes::<T>(id) {
            return Ok(false);
        }
        *place = T::view(self.from)?;
        Ok(true)
    }

    /// As [`Self::view`], for a variant of a union.
    #[inline(always)]
    pub fn view_as<T: View<'a>, U>(
        &mut self,
        id: i16,
        place: &mut U,
        variant: impl FnOnce(T) -> U,
    ) -> Result<bool, DecodeError> {
        if !self.takes::<T>(id) {
            return Ok(false);
        }
        *place = variant(T::view(self.from)?);
        Ok(true)
    }
}
