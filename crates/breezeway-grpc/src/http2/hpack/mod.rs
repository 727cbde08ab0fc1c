//! HPACK (RFC 7541): decodes header blocks, and encodes them without a table.

mod huffman;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use table::Field;
use table::{Table, size};

/// Decodes the header blocks of one direction of a connection, in their order.
pub(crate) struct Decoder {
    table: Table,
    /// The most bytes of a list that are kept, as [`size`] counts them.
    most: usize,
}

impl Decoder {
    /// Creates a decoder whose lists end with the first field beyond `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { table: Table::new(), most }
    }

    /// Decodes a block; `None` if it is not one, after which no other can be decoded.
    pub(crate) fn decode(&mut self, mut block: &[u8]) -> Option<Vec<Field>> {
        let (mut fields, mut total) = (Vec::new(), 0);
        while let Some(&first) = block.first() {
            let field = match first {
                0x80.. => {
                    let field = self.table.get(integer(&mut block, 7)?)?;
                    // One byte may stand for a whole table, so it is not copied in vain.
                    if total > self.most {
                        continue;
                    }
                    (field.0.to_vec(), field.1.to_vec())
                }
                0x40.. => {
                    let field = self.literal(&mut block, 6)?;
                    self.table.add(field.clone());
                    field
                }
                0x20.. if fields.is_empty() => {
                    self.table.resize(integer(&mut block, 5)?)?;
                    continue;
                }
                0x20.. => return None,
                _ => self.literal(&mut block, 4)?,
            };
            if total <= self.most {
                total += size(&field);
                fields.push(field);
            }
        }
        Some(fields)
    }

    /// Decodes a literal field, whose name may be that of a table's.
    fn literal(&self, block: &mut &[u8], prefix: u32) -> Option<Field> {
        let name = match integer(block, prefix)? {
            0 => string(block)?,
            index => self.table.get(index)?.0.to_vec(),
        };
        Some((name, string(block)?))
    }
}

/// Encodes a field as a literal that no table takes.
pub(crate) fn encode((name, value): &Field, block: &mut Vec<u8>) {
    block.push(0);
    for string in [name, value] {
        write_integer(string.len(), block);
        block.extend_from_slice(string);
    }
}

/// Decodes an integer (section 5.1), whose first `prefix` bits are those of the first byte.
fn integer(block: &mut &[u8], prefix: u32) -> Option<usize> {
    /// Seven bits each: enough for every length that a block can have.
    const LONGEST: u32 = 4;
    let most = (1 << prefix) - 1;
    let mut value = usize::from(take(block)?) & most;
    if value < most {
        return Some(value);
    }
    for index in 0..LONGEST {
        let byte = usize::from(take(block)?);
        value += (byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn write_integer(value: usize, block: &mut Vec<u8>) {
    const MOST: usize = 0x7f;
    if value < MOST {
        return block.push(value as u8);
    }
    block.push(MOST as u8);
    let mut rest = value - MOST;
    while rest >= 0x80 {
        block.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    block.push(rest as u8);
}

/// Decodes a string (section 5.2).
fn string(block: &mut &[u8]) -> Option<Vec<u8>> {
    let is_huffman = *block.first()? >= 0x80;
    let len = integer(block, 7)?;
    let (string, rest) = block.split_at_checked(len)?;
    *block = rest;
    if is_huffman { huffman::decode(string) } else { Some(string.to_vec()) }
}

fn take(block: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = block.split_first()?;
    *block = rest;
    Some(first)
}
