//! The part of the workers that the model checker runs: see `src/wake/model.rs`.
#![cfg(loom)]

#[path = "../src/wake/modelled.rs"]
mod wake;
