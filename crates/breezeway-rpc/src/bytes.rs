//! Conversion of messages to and from bytes.

use std::cell::{Cell, RefCell};

use breezeway::ForeignBytes;

use crate::error::Error;
use crate::thrift::{Decode, DecodeError, Slice, decode_once, decode_slice};

/// Size up to which decoding a private copy costs less than decoding while copying.
const COPIED: usize = 64 << 10;

/// Size up to which messages travel in the ring: they are first written to the stack, which costs
/// less than computing their size and reserving space.
pub(crate) const INLINE: usize = 104;

/// Size up to which a thread keeps memory for its next message.
pub(crate) const KEPT: usize = 1 << 20;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static WRITTEN: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Takes memory for writing a message before it is sent. [`keep_buffer`] gives it back.
#[inline]
pub(crate) fn take_buffer() -> Vec<u8> {
    WRITTEN.take()
}

/// Keeps the memory for the thread's next message.
#[inline]
pub(crate) fn keep_buffer(buffer: Vec<u8>) {
    if buffer.capacity() <= KEPT {
        WRITTEN.set(buffer);
    }
}

/// Returns a private copy, or an error that names the limit if memory for it is lacking.
pub(crate) fn copy_of(bytes: ForeignBytes<'_>) -> Result<Vec<u8>, Error> {
    bytes.try_to_vec().map_err(Error::memory)
}

/// Decodes a value from `bytes`, each of which is read once, because the peer may be changing them.
#[inline]
pub(crate) fn decode<T: Decode>(bytes: ForeignBytes<'_>) -> Result<T, DecodeError> {
    match bytes.as_slice() {
        Some(private) => decode_slice(private),
        None => decode_foreign(bytes),
    }
}

/// Decodes like [`decode`], into a place that holds the default. This avoids moving the value from
/// one result into another: the first move would wait until each field is stored.
#[inline]
pub(crate) fn decode_into<T: Decode>(
    bytes: ForeignBytes<'_>,
    place: &mut T,
) -> Result<(), DecodeError> {
    match bytes.as_slice() {
        Some(private) => {
            let mut from = Slice::new(private)?;
            place.decode_into(&mut from)?;
            from.end()
        }
        None => {
            *place = decode_foreign(bytes)?;
            Ok(())
        }
    }
}

// Not inlined into each method, which would make those several times larger.
#[inline(never)]
fn decode_foreign<T: Decode>(bytes: ForeignBytes<'_>) -> Result<T, DecodeError> {
    if bytes.len() > COPIED {
        return decode_once((bytes.reader(), bytes.len()));
    }
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.clear();
        bytes.append_to(scratch);
        decode_slice(scratch)
    })
}
