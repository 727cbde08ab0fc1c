//! Random IDLs as Rust of three generators, for `idl-exchange` to compile and run.

pub mod mutant;
pub mod prepare;
