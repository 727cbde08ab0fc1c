//! Random IDLs, smaller ones of them, and random messages of any IDL: for the tests of the
//! generator, here and beside other generators in `testing/peers/`. All follows from seeds.
#![forbid(unsafe_code)]

pub mod dice;
pub mod messages;
pub mod random_idl;
mod smaller;
