//! A view, and everything in it: it accepts the same bytes as the owned type, and reads the same
//! values.

use breezeway_idl_corpus::sample::{Node, NodeView};
use breezeway_thrift::{IntoOwned, decode_slice, to_vec, view_slice};

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let viewed = view_slice::<NodeView<'_>>(bytes);
    let owned = decode_slice::<Node>(bytes);
    assert_eq!(viewed.as_ref().err(), owned.as_ref().err());
    let (Ok(viewed), Ok(owned)) = (viewed, owned) else { return };
    assert_eq!(to_vec::<Node>(&viewed.into_owned()).unwrap(), to_vec(&owned).unwrap());
}
