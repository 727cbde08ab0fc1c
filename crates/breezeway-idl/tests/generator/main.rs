//! What the generator makes of an IDL, and what it refuses.

mod bad_idl;
mod builder;
mod damaged_idl;
mod golden;
