//! The length before a message on a socket (Thrift's framed transport).

use crate::{DecodeError, Fault, Limits};

/// How many bytes the length takes.
pub const FRAME_HEADER_SIZE: usize = 4;

/// The bytes before a message of `size` bytes. Nothing if Thrift has no length for it.
pub fn frame_header(size: usize) -> Option<[u8; FRAME_HEADER_SIZE]> {
    i32::try_from(size).ok().map(i32::to_be_bytes)
}

/// How long the message is that follows `header`. Checked before memory is taken for it.
pub fn frame_size(header: [u8; FRAME_HEADER_SIZE], limits: Limits) -> Result<usize, DecodeError> {
    let size = i32::from_be_bytes(header);
    let size = usize::try_from(size).map_err(|_| Fault::NegativeLength(size).at(0))?;
    limits.check(size)?;
    Ok(size)
}

/// A message and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The message, without its length.
    pub message: &'a [u8],
    /// What follows.
    pub rest: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The frame with which `bytes` begin. Nothing if more bytes must come first.
    pub fn split(bytes: &'a [u8], limits: Limits) -> Result<Option<Self>, DecodeError> {
        let Some((header, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let split = rest.split_at_checked(frame_size(*header, limits)?);
        Ok(split.map(|(message, rest)| Self { message, rest }))
    }
}
