//! Reading TTHeader.

use super::{FIXED_SIZE, HeaderKey, MAGIC, PayloadProtocol, TtHeader, block};
use crate::{DecodeError, Fault, Limits, Slice, Source};

/// A message in TTHeader, and the bytes behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtFrame<'a> {
    /// Description of the payload.
    pub header: TtHeader,
    /// The message, framed or not.
    pub payload: &'a [u8],
    /// Bytes behind the message.
    pub rest: &'a [u8],
}

impl<'a> TtFrame<'a> {
    /// Splits the first envelope off `bytes`. Returns `None` if more bytes are needed.
    ///
    /// A length above the limit, or one that no header can have, is an error as soon as its first
    /// 14 bytes have arrived.
    pub fn split(bytes: &'a [u8], limits: Limits) -> Result<Option<Self>, DecodeError> {
        let Some(fixed) = bytes.first_chunk() else { return Ok(None) };
        let size = envelope_size(fixed, limits)?;
        let Some((envelope, rest)) = bytes.split_at_checked(size) else { return Ok(None) };
        let (header, payload) = TtHeader::decode(envelope)?;
        Ok(Some(Self { header, payload, rest }))
    }
}

impl TtHeader {
    /// Reads an envelope whose fixed part was validated.
    fn decode(envelope: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let end_of_info = FIXED_SIZE + info_size(envelope);
        let (info, payload) = envelope.split_at(end_of_info);
        // Reading from the start of the envelope makes offsets in errors relative to it.
        let mut from =
            Slice::within(Limits { depth: 0, size: usize::MAX, ..Limits::default() }, info)?;
        from.pass(6)?;
        let mut header = Self { flags: u16::from_be_bytes(from.array()?), ..Self::default() };
        header.sequence = from.fixed()?;
        from.pass(2)?;
        header.protocol = take_protocol(&mut from)?;
        while from.remaining() > 0 {
            header.take_block(&mut from)?;
        }
        Ok((header, payload))
    }

    fn take_block(&mut self, from: &mut Slice<'_>) -> Result<(), DecodeError> {
        match from.byte()? {
            block::PADDING => {}
            block::ACL_TOKEN => self.acl_token = Some(take_text(from)?),
            block::TEXTS => {
                for _ in 0..take_count(from, 4)? {
                    self.texts.push((take_text(from)?, take_text(from)?));
                }
            }
            block::NUMBERED => {
                for _ in 0..take_count(from, 4)? {
                    let key = HeaderKey(u16::from_be_bytes(from.array()?));
                    self.numbered.push((key, take_text(from)?));
                }
            }
            unknown => return Err(Fault::HeaderBlock(unknown).at(from.offset() - 1)),
        }
        Ok(())
    }
}

/// Returns the size of the header information in the fixed part of an envelope.
fn info_size(fixed: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([fixed[12], fixed[13]])) * 4
}

/// Validates the fixed part and returns the size of the whole envelope.
fn envelope_size(fixed: &[u8; FIXED_SIZE], limits: Limits) -> Result<usize, DecodeError> {
    let magic = u16::from_be_bytes([fixed[4], fixed[5]]);
    if magic != MAGIC {
        return Err(Fault::HeaderMagic(magic).at(4));
    }
    let length = u32::from_be_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]) as usize;
    limits.check(length)?;
    let info = info_size(fixed);
    if info == 0 || length < FIXED_SIZE - 4 + info {
        return Err(Fault::HeaderSize { info, length }.at(12));
    }
    Ok(4 + length)
}

fn take_protocol(from: &mut Slice<'_>) -> Result<PayloadProtocol, DecodeError> {
    let [protocol, transforms] = from.array()?;
    if transforms != 0 {
        return Err(Fault::Transforms(transforms).at(from.offset() - 1));
    }
    PayloadProtocol::try_from(protocol).map_err(|fault| fault.at(from.offset() - 2))
}

/// Returns the number of pairs of a block, checked for at least `min_size` bytes per pair.
fn take_count(from: &mut Slice<'_>, min_size: usize) -> Result<u16, DecodeError> {
    let count = u16::from_be_bytes(from.array()?);
    let left = from.remaining();
    if usize::from(count) > left / min_size {
        return Err(Fault::Count { count: count.into(), left }.at(from.offset() - 2));
    }
    Ok(count)
}

fn take_text(from: &mut Slice<'_>) -> Result<Vec<u8>, DecodeError> {
    let length = u16::from_be_bytes(from.array()?);
    let left = from.remaining();
    if usize::from(length) > left {
        return Err(Fault::Length { length: length.into(), left }.at(from.offset() - 2));
    }
    from.binary(length.into())
}
