//! The work for a message is bounded by its bytes, whatever the order of its fields.

use breezeway_idl_corpus::wide::{Wide, Wides};
use breezeway_thrift::{Decode, DecodeError, Fixed, Slice, Source, to_vec};

/// Counts how often the next bytes are asked for.
struct Counting<'a> {
    from: Slice<'a>,
    peeks: usize,
}

impl Source for Counting<'_> {
    fn peek(&mut self, size: usize) -> Option<&[u8]> {
        self.peeks += 1;
        self.from.peek(size)
    }

    fn advance(&mut self, size: usize) {
        self.from.advance(size);
    }

    fn remaining(&self) -> usize {
        self.from.remaining()
    }

    fn offset(&self) -> usize {
        self.from.offset()
    }

    fn pass(&mut self, size: usize) -> Result<(), DecodeError> {
        self.from.pass(size)
    }

    fn binary(&mut self, length: usize) -> Result<Vec<u8>, DecodeError> {
        self.from.binary(length)
    }

    fn string(&mut self, length: usize) -> Result<String, DecodeError> {
        self.from.string(length)
    }

    fn fixed_list<T: Fixed>(&mut self, count: usize) -> Result<Vec<T>, DecodeError> {
        self.from.fixed_list(count)
    }

    fn depth(&mut self) -> &mut u32 {
        self.from.depth()
    }

    fn credit(&mut self) -> &mut usize {
        self.from.credit()
    }

    fn memory(&mut self) -> &mut usize {
        self.from.memory()
    }
}

/// Decodes a message, and returns how often bytes were requested.
fn peeks<T: Decode>(bytes: &[u8]) -> (T, usize) {
    let mut from = Counting { from: Slice::new(bytes).unwrap(), peeks: 0 };
    (T::decode(&mut from).unwrap(), from.peeks)
}

fn full() -> Wide {
    let mut bytes = Vec::new();
    for id in 1..=100_u8 {
        bytes.extend([8, 0, id, 0, 0, 0, id]);
    }
    bytes.push(0);
    breezeway_thrift::decode_slice(&bytes).unwrap()
}

#[test]
fn fields_in_the_reverse_order_cost_little_more_than_in_order() {
    let bytes = to_vec(&full()).unwrap();
    let (value, in_order) = peeks::<Wide>(&bytes);
    assert_eq!(value, full());
    let (fields, stop) = bytes.split_at(700);
    let reversed: Vec<u8> = fields.rchunks(7).flatten().chain(stop).copied().collect();
    let (value, in_reverse) = peeks::<Wide>(&reversed);
    assert_eq!(value, full());
    assert!(in_reverse <= 4 * 100 + 16 && in_order <= 3 * 100, "{in_order} and {in_reverse}");
}

#[test]
fn unknown_and_repeated_fields_cost_the_same_in_any_struct() {
    let unknown = [2, 0x70, 0, 1].repeat(10_000);
    let repeated = [8, 0, 100, 0, 0, 0, 1].repeat(10_000);
    for bytes in [unknown, repeated] {
        let (_, peeks) = peeks::<Wide>(&[&bytes[..], &[0]].concat());
        assert!(peeks <= 5 * 10_000 + 16, "{peeks}");
    }
}

#[test]
fn empty_struct_costs_the_same_with_any_number_of_fields() {
    let mut bytes = vec![15, 0, 1, 12, 0, 0, 0x10, 0];
    bytes.resize(8 + 0x1000 + 1, 0);
    let (value, peeks) = peeks::<Wides>(&bytes);
    assert_eq!(value.wides.len(), 0x1000);
    assert!(peeks <= 12 * 0x1000 + 16, "{peeks}");
}
