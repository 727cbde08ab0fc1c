//! Structs that are nested deeper than rustc allows without `recursion_limit`, which the generator
//! suggests in a warning.
#![recursion_limit = "256"]

#[allow(dead_code, reason = "the test uses a part of it")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/deep.rs"));
}

use breezeway_thrift::{decode_slice, to_vec, view_slice};
use generated::deep::{D79, D80, DeepCallArgs, DeepCallArgsView};

fn sent<T: Send + Sync + 'static>(value: T) -> T {
    value
}

#[test]
fn long_chain_of_structs_compiles_and_comes_back() {
    let arguments = sent(DeepCallArgs::default());
    let bytes = to_vec(&arguments).unwrap();
    assert_eq!(decode_slice::<DeepCallArgs>(&bytes), Ok(arguments));
    assert_eq!(view_slice::<DeepCallArgsView<'_>>(&bytes), Ok(DeepCallArgsView::default()));
    let end = sent(D79 { next: Some(D80 { end: 7 }) });
    assert_eq!(decode_slice::<D79>(&to_vec(&end).unwrap()), Ok(end));
}
