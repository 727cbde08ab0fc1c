//! A peer that does its worst: written from `docs/abi.md` alone, with none of the project's sending
//! code.
//!
//! It keeps its control segment writable and rewrites any byte of it at any moment, speaks the
//! hello by hand, and sends any bytes and descriptors. Whatever it does, the honest side ends that
//! session with an error that names the broken rule, or goes on; it never panics, never hangs, and
//! its other sessions never notice.

mod service;
mod stage;
mod watchdog;

mod accounts;
mod calls;
mod children;
mod doorbells;
mod greetings;
mod holding;
mod leaks;
mod noise;
mod own_end;
mod page;
mod payload;
mod progress;
mod random;
mod serving_streams;
mod shortage;
mod stalled;
mod starving;
mod streams;
mod sweeping;
mod transport;
