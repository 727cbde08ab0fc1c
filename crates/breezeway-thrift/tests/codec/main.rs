//! Messages written and read by all functions, and refused ones.
#![allow(missing_docs, dead_code, unreachable_pub, reason = "the sample has more than is used")]

mod agreement;
#[cfg(feature = "prost")]
mod codecs;
mod foreign_memory;
mod go_fixtures;
mod hostile;
mod macro_names;
mod number_lists;
mod number_maps;
mod one_call;
mod scan;
#[cfg(feature = "shared-bytes")]
mod shared_bytes;
mod sinks;
#[cfg(feature = "small-strings")]
mod small_strings;
mod support;
mod vectors;
