//! An echo over a plain std socket with `read_exact` and `write_all`, for comparison.
//!
//! A connection starts with the size of its messages, so that they need no header. Sockets block;
//! TCP goes without Nagle's delay.

mod bench;
mod serve;
mod socket;

pub use bench::measure;
pub use serve::{Server, bind};
pub use socket::Address;
