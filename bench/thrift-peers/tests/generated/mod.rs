//! Output of the other systems' generators for the sample: see `README.md` for the versions.

pub mod apache;
