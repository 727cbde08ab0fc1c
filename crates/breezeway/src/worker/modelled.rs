//! The part of a worker that is modelled: how others wake it, and how they take over its sessions.

#![allow(dead_code, reason = "its callers need an operating system")]

mod armed;
#[cfg(test)]
mod model;
mod mutants;
mod news;
mod signal;
mod sync;
