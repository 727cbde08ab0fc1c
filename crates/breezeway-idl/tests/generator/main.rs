//! Generated code, and refused IDL.

mod bad_idl;
mod builder;
mod damaged_idl;
mod go_names;
mod golden;
