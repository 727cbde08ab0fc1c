//! The modelled part of a worker: how it is woken, and how its sessions are taken over.

#![allow(dead_code, reason = "its callers need an operating system")]

mod armed;
#[cfg(test)]
mod model;
mod mutants;
mod news;
mod signal;
mod sync;
