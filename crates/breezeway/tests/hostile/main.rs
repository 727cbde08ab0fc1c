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

mod abi_page;
mod calls;
mod children;
mod doorbells;
mod endless_entries;
mod fairness;
mod held_memory;
mod hellos;
mod leaks;
mod own_end;
mod payload;
mod pending_segments;
mod progress;
mod random;
mod serving_streams;
mod session_socket;
mod shortage;
mod stopped_processes;
mod streams;
mod transport;
