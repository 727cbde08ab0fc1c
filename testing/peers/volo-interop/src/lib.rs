//! The shop of `idl/shop.thrift` by both generators, for the tests.

/// By volo-build.
#[path = "volo_gen.rs"]
#[allow(warnings, unreachable_pub, missing_docs, unsafe_code, reason = "generated")]
#[allow(clippy::undocumented_unsafe_blocks, reason = "generated")]
#[rustfmt::skip]
mod generated;
pub use generated::volo_gen::shop as volo;

#[allow(dead_code, unreachable_pub, missing_docs, reason = "generated")]
mod thrift {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}
pub use thrift::shop as ours;
