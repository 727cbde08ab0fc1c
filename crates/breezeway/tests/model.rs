//! The part of the workers that the model checker runs: see `src/worker/model.rs`.
#![cfg(loom)]

#[path = "../src/worker/modelled.rs"]
mod worker;
