//! Reading the fields of a struct.

use crate::skip::skip;
use crate::wire_type::STOP;
use crate::{Decode, DecodeError, Fault, Fixed, ReadGroup, Slice, Source, View, Wire, WireType};

/// Reads the fields of one struct: first those that come in the expected order, one comparison
/// each, then the rest by their numbers, in any order.
///
/// The work is bounded by the bytes of the struct if expected fields are offered in portions, as
/// long as [`Self::in_order`] returns true: an unknown, repeated or early field costs one match,
/// however many fields the struct has.
pub struct Fields<'s, S> {
    from: &'s mut S,
    /// True if a field was taken since the last call of [`Self::in_order`].
    progress: bool,
    /// Field whose header [`Self::next_id`] took.
    id: i16,
    wire_type: WireType,
    /// Fields taken, one bit for each number from 0 to 255.
    seen: [u64; 4],
}

impl<'s, S: Source> Fields<'s, S> {
    /// Begins to read a struct.
    #[inline(always)]
    pub fn begin(from: &'s mut S) -> Result<Self, DecodeError> {
        from.enter()?;
        Ok(Self { from, progress: false, id: 0, wire_type: WireType::Bool, seen: [0; 4] })
    }

    /// Takes the field `id` as an owned value, if it comes next. Returns true if it did.
    #[inline(always)]
    pub fn read<T: Decode>(&mut self, id: i16, place: &mut T) -> Result<bool, DecodeError> {
        if !self.takes::<T>(id) {
            return Ok(false);
        }
        *place = T::decode(self.from)?;
        Ok(true)
    }

    /// Takes a field like [`read`](Self::read), through one function for all fields of a type: less
    /// code to compile for structs with many fields, at the cost of a call for each.
    #[inline(always)]
    pub fn read_shared<T: Decode>(&mut self, id: i16, place: &mut T) -> Result<bool, DecodeError> {
        if !self.takes::<T>(id) {
            return Ok(false);
        }
        decode_next(self.from, place)
    }

    /// Takes a field like [`read`](Self::read), for a value of fixed size.
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

    /// Returns true if any of the fields offered since the last call came next. If not, the rest is
    /// read faster by numbers.
    #[inline(always)]
    pub fn in_order(&mut self) -> bool {
        std::mem::take(&mut self.progress)
    }

    /// Takes the header of the next field and returns its number; `None` at the end of the struct.
    /// The value must be taken by [`Self::read_next`] and similar methods, or [`Self::skip_next`].
    #[inline(always)]
    pub fn next_id(&mut self) -> Result<Option<i16>, DecodeError> {
        match self.from.peek(1) {
            Some(&[STOP]) => {
                self.from.advance(1);
                self.from.leave();
                Ok(None)
            }
            _ => self.header().map(Some),
        }
    }

    #[inline(always)]
    fn header(&mut self) -> Result<i16, DecodeError> {
        (self.wire_type, self.id) = header(self.from)?;
        Ok(self.id)
    }

    /// Takes the value of the next field. Returns false if it was skipped because of another type.
    #[inline(always)]
    pub fn read_next<T: Decode>(&mut self, place: &mut T) -> Result<bool, DecodeError> {
        if self.wire_type != T::WIRE_TYPE {
            return self.skip_next();
        }
        self.mark(self.id);
        decode_next(self.from, place)
    }

    /// Takes a value like [`read_next`](Self::read_next), for a variant of a union.
    #[inline]
    pub fn read_next_as<T: Decode, U>(
        &mut self,
        place: &mut U,
        variant: impl FnOnce(T) -> U,
    ) -> Result<bool, DecodeError> {
        if self.wire_type != T::WIRE_TYPE {
            return self.skip_next();
        }
        *place = variant(T::decode(self.from)?);
        Ok(true)
    }

    /// Skips the value of the next field. Returns false: it was not taken.
    #[inline(always)]
    pub fn skip_next(&mut self) -> Result<bool, DecodeError> {
        skip_value(self.wire_type, self.from)
    }

    /// Fails if the required field `id` was not taken. Numbers from 0 to 255 only: for others, use
    /// the result of [`Self::read`].
    #[inline(always)]
    pub fn require(&self, id: u8, name: &'static str) -> Result<(), DecodeError> {
        self.require_if(self.seen[usize::from(id >> 6)] & (1 << (id & 63)) != 0, id.into(), name)
    }

    /// Fails if the required field `id` was not taken, according to the caller.
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
}

// Rare paths are functions of the source and not of `Fields`: a call with a reference to that would
// keep it in memory, to be stored and loaded for each field that comes in order.

/// The header of a field.
#[inline(always)]
fn header<S: Source>(from: &mut S) -> Result<(WireType, i16), DecodeError> {
    let byte = match from.peek(1) {
        Some(bytes) => bytes[0],
        None => return Err(from.truncated(1)),
    };
    let wire_type = WireType::try_from(byte).map_err(|fault| from.fault(fault))?;
    let [_, high, low] = from.array()?;
    Ok((wire_type, i16::from_be_bytes([high, low])))
}

#[inline(never)]
fn decode_next<S: Source, T: Decode>(from: &mut S, place: &mut T) -> Result<bool, DecodeError> {
    *place = T::decode(from)?;
    Ok(true)
}

// Inlined only where the optimiser shares the stack slots of inlined code: otherwise deep messages
// exhaust the stack.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
fn view_next<'a, T: View<'a>>(from: &mut Slice<'a>, place: &mut T) -> Result<bool, DecodeError> {
    *place = T::view(from)?;
    Ok(true)
}

#[cold]
#[inline(never)]
fn skip_value<S: Source>(wire_type: WireType, from: &mut S) -> Result<bool, DecodeError> {
    skip(wire_type, from)?;
    Ok(false)
}

impl<'a> Fields<'_, Slice<'a>> {
    /// Takes a field like [`read`](Self::read), for a value that borrows from the message.
    #[inline(always)]
    pub fn view<T: View<'a>>(&mut self, id: i16, place: &mut T) -> Result<bool, DecodeError> {
        if !self.takes::<T>(id) {
            return Ok(false);
        }
        *place = T::view(self.from)?;
        Ok(true)
    }

    /// Takes a value like [`read_next`](Self::read_next), for a value that borrows from the
    /// message.
    #[inline(always)]
    pub fn view_next<T: View<'a>>(&mut self, place: &mut T) -> Result<bool, DecodeError> {
        if self.wire_type != T::WIRE_TYPE {
            return self.skip_next();
        }
        self.mark(self.id);
        view_next(self.from, place)
    }

    /// Takes a value like [`view_next`](Self::view_next), for a variant of a union.
    #[inline]
    pub fn view_next_as<T: View<'a>, U>(
        &mut self,
        place: &mut U,
        variant: impl FnOnce(T) -> U,
    ) -> Result<bool, DecodeError> {
        if self.wire_type != T::WIRE_TYPE {
            return self.skip_next();
        }
        *place = variant(T::view(self.from)?);
        Ok(true)
    }
}
