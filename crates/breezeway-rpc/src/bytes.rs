//! Messages to and from bytes.

use std::cell::{Cell, RefCell};

use breezeway::ForeignBytes;

use crate::error::Error;
use crate::thrift::{Decode, DecodeError, Slice, decode_once, decode_slice};

/// Up to so many bytes, a private copy that is then decoded costs less than decoding while copying.
const COPIED: usize = 64 << 10;

/// Messages of up to so many bytes travel in the ring: they are written to the stack first, as that
/// costs less than to ask for their size and for space.
pub(crate) const INLINE: usize = 104;

/// Memory of up to so many bytes is kept by a thread for its next message.
pub(crate) const KEPT: usize = 1 << 20;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static WRITTEN: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Memory to write a message to before it is sent, which [`keep_buffer`] gives back.
#[inline]
pub(crate) fn take_buffer() -> Vec<u8> {
    WRITTEN.take()
}

/// Keeps such memory for the thread's next message.
#[inline]
pub(crate) fn keep_buffer(buffer: Vec<u8>) {
    if buffer.capacity() <= KEPT {
        WRITTEN.set(buffer);
    }
}

/// Returns a private copy, or an error that names the limit where there is no memory for it.
pub(crate) fn copy_of(bytes: ForeignBytes<'_>) -> Result<Vec<u8>, Error> {
    bytes.try_to_vec().map_err(Error::memory)
}

/// The value that `bytes` are, each of which is read once, as the peer may be changing them.
#[inline]
pub(crate) fn decode<T: Decode>(bytes: ForeignBytes<'_>) -> Result<T, DecodeError> {
    match bytes.as_slice() {
        Some(private) => decode_slice(private),
        None => decode_foreign(bytes),
    }
}

/// As [`decode`], into a place that holds the default. What is decoded so is not moved out of one
/// result into another, of which the first move waits until each field is stored.
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

// Not a part of each method, which it would make several times larger.
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
