//! Messages to and from bytes.

use std::cell::RefCell;

use breezeway::ForeignBytes;

use crate::thrift::{Decode, DecodeError, decode_once, decode_slice};

/// Up to so many bytes, a private copy that is then decoded costs less than decoding while copying.
const COPIED: usize = 64 << 10;

/// Messages of up to so many bytes travel in the ring: they are written to the stack first, as that
/// costs less than to ask for their size and for space.
pub(crate) const INLINE: usize = 104;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The value that `bytes` are, each of which is read once, as the peer may be changing them.
#[inline]
pub(crate) fn decode<T: Decode>(bytes: ForeignBytes<'_>) -> Result<T, DecodeError> {
    match bytes.as_slice() {
        Some(private) => decode_slice(private),
        None => decode_foreign(bytes),
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
