//! The protocol of Breezeway without IO: entries and numbers in, decisions out.
//!
//! Nothing here reads a clock, a ring or a socket, wakes a waiter or copies a message. The owner of
//! a session moves entries and time in and out; most programs want the crate `breezeway`, which
//! holds the carriers and the drivers. The rules are fixed in `docs/abi.md`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod entry;

pub use entry::{Flags, Head, Kind};
