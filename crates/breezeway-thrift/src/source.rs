//! Sources of bytes for owned values.

use crate::{DecodeError, Fault, Fixed};

/// Approximate overhead of an allocator for each piece of memory.
const PIECE: usize = 16;

/// Provides the bytes of a message in order, each once: a slice ([`Slice`](crate::Slice)), or
/// memory that may still change ([`ReadOnce`](crate::ReadOnce)).
pub trait Source: Sized {
    /// Maximum length for [`Self::peek`].
    const MAX_PEEK: usize = 256;

    /// Returns the next `size` bytes (at most [`Self::MAX_PEEK`]), which stay unread; `None` if
    /// fewer are left.
    fn peek(&mut self, size: usize) -> Option<&[u8]>;

    /// Takes bytes that were peeked.
    fn advance(&mut self, size: usize);

    /// Returns the number of bytes left.
    fn remaining(&self) -> usize;

    /// Returns the number of bytes taken.
    fn offset(&self) -> usize;

    /// Skips `size` bytes.
    fn pass(&mut self, size: usize) -> Result<(), DecodeError>;

    /// Takes `length` bytes, a result of [`Self::length`]. The caller counts the memory.
    fn binary(&mut self, length: usize) -> Result<Vec<u8>, DecodeError>;

    /// Takes bytes like [`binary`](Self::binary), and counts the memory: none, for a part of the
    /// message.
    #[cfg(feature = "shared-bytes")]
    #[inline(always)]
    fn shared(&mut self, length: usize) -> Result<bytes::Bytes, DecodeError> {
        self.charge(length)?;
        self.binary(length).map(bytes::Bytes::from)
    }

    /// Takes bytes like [`binary`](Self::binary) that are UTF-8.
    fn string(&mut self, length: usize) -> Result<String, DecodeError>;

    /// Takes text like [`string`](Self::string), converted by `make`.
    #[inline(always)]
    fn text_as<T>(
        &mut self,
        length: usize,
        make: impl FnOnce(&str) -> T,
    ) -> Result<T, DecodeError> {
        self.string(length).map(|text| make(&text))
    }

    /// Takes `count` values, a result of [`Self::count`].
    fn fixed_list<T: Fixed>(&mut self, count: usize) -> Result<Vec<T>, DecodeError>;

    /// Returns the number of levels that structs and containers may still be nested.
    fn depth(&mut self) -> &mut u32;

    /// Returns the number of bytes that may still be allocated for a count before elements have
    /// arrived.
    fn credit(&mut self) -> &mut usize;

    /// Returns the number of bytes of memory that the value may still take.
    fn memory(&mut self) -> &mut usize;

    /// Counts a piece of memory of `size` bytes that is about to be allocated; 0 bytes count as
    /// none.
    #[inline(always)]
    fn charge(&mut self, size: usize) -> Result<(), DecodeError> {
        if size == 0 {
            return Ok(());
        }
        let memory = self.memory();
        let needed = size.saturating_add(PIECE);
        match memory.checked_sub(needed) {
            Some(left) => *memory = left,
            None => {
                let left = *memory;
                return Err(self.fault(Fault::Memory { needed, left }));
            }
        }
        Ok(())
    }

    /// Counts the memory of `count` elements.
    #[inline(always)]
    fn charge_list<T>(&mut self, count: usize) -> Result<(), DecodeError> {
        self.charge(count.saturating_mul(size_of::<T>()))
    }

    /// Returns an error at the next byte.
    #[cold]
    fn fault(&self, fault: Fault) -> DecodeError {
        fault.at(self.offset())
    }

    /// Returns the error of a message that has fewer than `size` bytes left.
    #[cold]
    #[inline(never)]
    fn truncated(&self, size: usize) -> DecodeError {
        let left = self.remaining();
        Fault::Truncated(size - left).at(self.offset() + left)
    }

    /// Takes `N` bytes.
    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let Some(bytes) = self.peek(N) else { return Err(self.truncated(N)) };
        let mut array = [0; N];
        array.copy_from_slice(bytes);
        self.advance(N);
        Ok(array)
    }

    /// Takes a byte.
    #[inline(always)]
    fn byte(&mut self) -> Result<u8, DecodeError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// Takes a value of fixed size.
    #[inline(always)]
    fn fixed<T: Fixed>(&mut self) -> Result<T, DecodeError> {
        let Some(bytes) = self.peek(T::SIZE) else { return Err(self.truncated(T::SIZE)) };
        if !T::is_valid(bytes) {
            let byte = bytes[0];
            return Err(self.fault(Fault::Bool(byte)));
        }
        let value = T::get(bytes);
        self.advance(T::SIZE);
        Ok(value)
    }

    /// Takes the length of a string, checked against the bytes left.
    #[inline(always)]
    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = u32::from_be_bytes(self.array()?);
        let left = self.remaining();
        if length as usize > left || length > i32::MAX as u32 {
            return Err(impossible_length(length, left).at(self.offset() - 4));
        }
        Ok(length as usize)
    }

    /// Takes the count of a container, checked against the bytes left for elements of at least
    /// `min_size` bytes.
    #[inline(always)]
    fn count(&mut self, min_size: usize) -> Result<usize, DecodeError> {
        let count = u32::from_be_bytes(self.array()?);
        let left = self.remaining();
        if count as usize > left / min_size || count > i32::MAX as u32 {
            return Err(impossible_count(count, left).at(self.offset() - 4));
        }
        Ok(count as usize)
    }

    /// Enters a level of nesting.
    #[inline(always)]
    fn enter(&mut self) -> Result<(), DecodeError> {
        let depth = self.depth();
        if *depth == 0 {
            return Err(self.fault(Fault::Depth));
        }
        *depth -= 1;
        Ok(())
    }

    /// Leaves a level of nesting.
    #[inline(always)]
    fn leave(&mut self) {
        *self.depth() += 1;
    }
}

#[cold]
fn impossible_length(length: u32, left: usize) -> Fault {
    match i32::try_from(length) {
        Ok(_) => Fault::Length { length, left },
        Err(_) => Fault::NegativeLength(length as i32),
    }
}

#[cold]
fn impossible_count(count: u32, left: usize) -> Fault {
    match i32::try_from(count) {
        Ok(_) => Fault::Count { count, left },
        Err(_) => Fault::NegativeLength(count as i32),
    }
}
