//! Skips a value of any type, in a slice and in a reader: both end at the same byte. A value that a
//! struct accepts can be skipped.

use breezeway_idl_corpus::sample::Node;
use breezeway_thrift::{Decode, ReadOnce, Slice, Source, WireType, skip};

/// Runs one input.
pub fn run(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else { return };
    let Ok(wire_type) = WireType::try_from(*first) else { return };
    let mut slice = Slice::new(bytes).unwrap();
    let skipped = skip(wire_type, &mut slice).map(|()| slice.offset());
    let mut once = ReadOnce::new(bytes, bytes.len()).unwrap();
    let skipped_once = skip(wire_type, &mut once).map(|()| once.offset());
    assert_eq!(skipped.as_ref().ok(), skipped_once.as_ref().ok());
    let mut slice = Slice::new(bytes).unwrap();
    if wire_type == WireType::Struct && Node::decode(&mut slice).is_ok() {
        assert_eq!(skipped, Ok(slice.offset()));
    }
}
