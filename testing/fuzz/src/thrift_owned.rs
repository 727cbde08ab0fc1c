//! A value decoded from a slice, and from a reader that yields each byte once: both agree, and a
//! value that is written again can be read again.

use breezeway_idl_corpus::sample::Node;
use breezeway_thrift::{Encode, decode_once, decode_slice, to_vec};

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let owned = decode_slice::<Node>(bytes);
    let once = decode_once::<Node>(bytes);
    assert_eq!(owned.as_ref().err(), once.as_ref().err());
    let (Ok(owned), Ok(once)) = (owned, once) else { return };
    let written = to_vec(&owned).unwrap();
    assert_eq!(written.len(), owned.size());
    assert_eq!(written, to_vec(&once).unwrap());
    let again: Node = decode_slice(&written).unwrap();
    assert_eq!(to_vec(&again).unwrap(), written);
}
