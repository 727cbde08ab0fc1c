//! Output of this project's generator and the other systems' for the files in `idl/`; README.md has
//! the commands.
#![allow(warnings, clippy::all)]

pub mod apache;
pub mod capnp;

mod pilota_file {
    include!(concat!(env!("OUT_DIR"), "/bench_pilota.rs"));
}
pub use pilota_file::bench_pilota::bench as pilota;

mod breezeway_file {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}
pub use breezeway_file::bench as breezeway;

mod wide_pilota_file {
    include!(concat!(env!("OUT_DIR"), "/wide_pilota.rs"));
}
pub use breezeway_file::wide;
pub use wide_pilota_file::wide_pilota::wide as wide_pilota;

mod small_file {
    include!(concat!(env!("OUT_DIR"), "/small.rs"));
}
/// With short strings in place.
pub use small_file::{bench as small, wide as small_wide};

mod kitex_file {
    include!(concat!(env!("OUT_DIR"), "/kitex.rs"));
}
/// Written in Kitex's order.
pub use kitex_file::wide as kitex;

mod sample_pilota_file {
    include!(concat!(env!("OUT_DIR"), "/sample_pilota.rs"));
}
/// The types of the differential tests.
pub use sample_pilota_file::sample_pilota::sample as sample_pilota;
