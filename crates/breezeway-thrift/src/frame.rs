//! The length before a message on a socket (Thrift's framed transport).

use crate::{DecodeError, Fault, Limits};

/// Size of the length in bytes.
pub const FRAME_HEADER_SIZE: usize = 4;

/// Returns the header of a message of `size` bytes, or `None` if Thrift cannot represent its
/// length.
pub fn frame_header(size: usize) -> Option<[u8; FRAME_HEADER_SIZE]> {
    i32::try_from(size).ok().map(i32::to_be_bytes)
}

/// Returns the length of the message that follows `header`, checked before memory is allocated for
/// it.
pub fn frame_size(header: [u8; FRAME_HEADER_SIZE], limits: Limits) -> Result<usize, DecodeError> {
    let size = i32::from_be_bytes(header);
    let size = usize::try_from(size).map_err(|_| Fault::NegativeLength(size).at(0))?;
    limits.check(size)?;
    Ok(size)
}

/// A message and the bytes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The message, without its length.
    pub message: &'a [u8],
    /// Bytes behind the message.
    pub rest: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Splits the first frame off `bytes`. Returns `None` if more bytes are needed.
    pub fn split(bytes: &'a [u8], limits: Limits) -> Result<Option<Self>, DecodeError> {
        let Some((header, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let split = rest.split_at_checked(frame_size(*header, limits)?);
        Ok(split.map(|(message, rest)| Self { message, rest }))
    }
}
