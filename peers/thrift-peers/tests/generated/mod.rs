//! What the other systems' generators make of the sample: see `README.md` for the versions.

pub mod apache;
