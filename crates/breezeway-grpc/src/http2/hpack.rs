//! HPACK (RFC 7541): decodes header blocks, and encodes them without a dynamic table.

use loona_hpack::{Decoder as Blocks, Encoder};

/// The name and the value of a header field.
pub(crate) type Field = (Vec<u8>, Vec<u8>);

/// The size of the dynamic table that h2 grants to its peers by default (RFC 7541, section 4.2).
const TABLE: usize = 4096;
/// The bytes that a field takes beside its name and value (RFC 7541, section 4.1).
const FIELD: usize = 32;

/// Decodes the header blocks of one direction of a connection, in their order.
pub(crate) struct Decoder {
    blocks: Blocks<'static>,
    /// The most bytes of a list that are kept.
    most: usize,
}

impl Decoder {
    /// Creates a decoder whose lists end with the first field beyond `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        let mut blocks = Blocks::new();
        blocks.set_max_allowed_table_size(TABLE);
        Self { blocks, most }
    }

    /// Decodes a block; `None` if it is not one, after which no other can be decoded.
    pub(crate) fn decode(&mut self, block: &[u8]) -> Option<Vec<Field>> {
        let (mut fields, mut total) = (Vec::new(), 0);
        let decoded = self.blocks.decode_with_cb(block, |name, value| {
            // One byte may stand for a whole table, so nothing beyond the bound is copied.
            if total <= self.most {
                total += name.len() + value.len() + FIELD;
                fields.push((name.into_owned(), value.into_owned()));
            }
        });
        decoded.is_ok().then_some(fields)
    }
}

/// Encodes fields into a block that refers to no dynamic table.
pub(crate) fn encode(fields: &[Field]) -> Vec<u8> {
    let mut encoder = Encoder::new();
    encoder.set_max_table_size(0);
    encoder.encode(fields.iter().map(|(name, value)| (&name[..], &value[..])))
}

#[cfg(test)]
mod tests;
