//! What the tests share: the published vectors, and structs for them.

pub mod structs;
pub mod vectors;
