//! The part of a worker that is modelled: how others wake it.

#![allow(dead_code, reason = "its callers need an operating system")]

#[cfg(test)]
mod model;
mod mutants;
mod news;
mod sync;
