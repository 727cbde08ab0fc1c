//! Writing TTHeader.

use super::{FIXED_SIZE, MAGIC, MAX_INFO, TtHeader, block};
use crate::sink::Size;
use crate::{EncodeError, Sink};

impl TtHeader {
    /// Returns the encoded size in bytes, without the payload.
    pub fn size(&self) -> usize {
        FIXED_SIZE + self.info_size().next_multiple_of(4)
    }

    /// Writes the header; a payload of `payload` bytes follows.
    pub fn encode<'a, S: Sink<'a>>(&'a self, payload: usize, to: &mut S) {
        let info = self.info_size();
        if info > MAX_INFO {
            to.fail(EncodeError::HeaderTooLong { size: info, limit: MAX_INFO });
        }
        self.encode_fixed(info.div_ceil(4), payload, to);
        self.encode_info(to);
        let padding = info.next_multiple_of(4) - info;
        to.fixed(padding, |to| to.fill(block::PADDING));
    }

    fn encode_fixed<'a, S: Sink<'a>>(&self, words: usize, payload: usize, to: &mut S) {
        let length = to.checked_count(FIXED_SIZE - 4 + words * 4 + payload);
        to.fixed(FIXED_SIZE, |to| {
            to[..4].copy_from_slice(&length);
            to[4..6].copy_from_slice(&MAGIC.to_be_bytes());
            to[6..8].copy_from_slice(&self.flags.to_be_bytes());
            to[8..12].copy_from_slice(&self.sequence.to_be_bytes());
            to[12..14].copy_from_slice(&(words as u16).to_be_bytes());
        });
    }

    /// Returns the size of the header information without padding.
    fn info_size(&self) -> usize {
        let mut size = Size::new();
        self.encode_info(&mut size);
        size.bytes()
    }

    fn encode_info<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.fixed(2, |to| to.copy_from_slice(&[self.protocol as u8, 0]));
        if let Some(token) = &self.acl_token {
            put_block(block::ACL_TOKEN, to);
            put_text(token, to);
        }
        if !self.texts.is_empty() {
            put_block(block::TEXTS, to);
            put_u16(self.texts.len(), to);
        }
        for (key, value) in &self.texts {
            put_text(key, to);
            put_text(value, to);
        }
        if !self.numbered.is_empty() {
            put_block(block::NUMBERED, to);
            put_u16(self.numbered.len(), to);
        }
        for (key, value) in &self.numbered {
            put_u16(key.0.into(), to);
            put_text(value, to);
        }
    }
}

fn put_block<'a, S: Sink<'a>>(block: u8, to: &mut S) {
    to.fixed(1, |to| to[0] = block);
}

fn put_u16<'a, S: Sink<'a>>(value: usize, to: &mut S) {
    if value > u16::MAX.into() {
        to.fail(EncodeError::HeaderTooLong { size: value, limit: u16::MAX.into() });
    }
    to.fixed(2, |to| to.copy_from_slice(&(value as u16).to_be_bytes()));
}

fn put_text<'a, S: Sink<'a>>(text: &'a [u8], to: &mut S) {
    put_u16(text.len(), to);
    to.bytes(text);
}
