//! What the tests share: the published vectors, structs for them, and values of any content.

pub mod arbitrary;
pub mod owned;
pub mod structs;
pub mod vectors;
