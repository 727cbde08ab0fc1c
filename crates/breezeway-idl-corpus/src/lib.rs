//! Every IDL of the generator's corpus, compiled: its text is held to the lints of this workspace,
//! and the tests here use it.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
