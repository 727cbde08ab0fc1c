//! The modelled part of this folder: how a worker is woken, and how its sessions are taken over.

#![allow(dead_code, reason = "its callers need an operating system")]

mod armed;
mod flag;
#[cfg(test)]
mod model;
mod mutants;
mod signal;
mod sync;
