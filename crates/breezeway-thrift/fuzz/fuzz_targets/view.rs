//! A view, and everything in it: it accepts what the owned type accepts, and says the same.
#![no_main]
#![allow(dead_code, unreachable_pub)]

#[path = "../../tests/codec/support/owned.rs"]
mod owned;
#[path = "../../tests/codec/sample/mod.rs"]
mod sample;

use breezeway_thrift::{decode, to_vec, view};
use libfuzzer_sys::fuzz_target;
use sample::{Node, NodeView};

fuzz_target!(|bytes: &[u8]| {
    let viewed = view::<NodeView<'_>>(bytes);
    let owned = decode::<Node>(bytes);
    assert_eq!(viewed.as_ref().err(), owned.as_ref().err());
    let (Ok(viewed), Ok(owned)) = (viewed, owned) else { return };
    assert_eq!(to_vec(&Node::from(viewed)).unwrap(), to_vec(&owned).unwrap());
});
