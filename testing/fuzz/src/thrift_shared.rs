//! A value whose binaries are parts of the message: on every input it equals the others, its parts
//! lie in the message, and they outlive all other owners of the message.

use std::ops::Range;

use breezeway_idl_corpus::sample;
use breezeway_thrift::{Bytes, decode_once, decode_shared, decode_slice, to_vec};

mod parts {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}
use parts::sample::Node;

/// Runs one input.
pub fn run(bytes: &[u8]) {
    // A part of a larger buffer, like messages that were received in one read.
    let buffer = Bytes::from([b"what came before", bytes, b"what came behind"].concat());
    let message = buffer.slice(16..16 + bytes.len());
    let place = message.as_ptr_range();
    let shared = decode_shared::<Node>(&message);
    drop((message, buffer));
    let owned = decode_slice::<sample::Node>(bytes);
    assert_eq!(shared.as_ref().err(), owned.as_ref().err());
    assert_eq!(shared.as_ref().err(), decode_once::<Node>(bytes).as_ref().err());
    assert_eq!(shared.as_ref().err(), decode_slice::<Node>(bytes).as_ref().err());
    let (Ok(shared), Ok(owned)) = (shared, owned) else { return };
    lies_in(&shared, &place);
    assert_eq!(to_vec(&shared).unwrap(), to_vec(&owned).unwrap());
}

fn lies_in(node: &Node, place: &Range<*const u8>) {
    let part = node.blob.as_ptr_range();
    assert!(node.blob.is_empty() || place.start <= part.start && part.end <= place.end);
    node.next_node.iter().for_each(|next| lies_in(next, place));
    node.children.iter().for_each(|child| lies_in(child, place));
}
