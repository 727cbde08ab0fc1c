//! A peer that does its worst: written from `docs/abi.md` alone, with none of the project's sending code.
//!
//! It keeps its control segment writable and rewrites any byte of it at any moment, speaks the hello by hand, and sends any bytes and descriptors. Whatever it does,
//! the honest side ends that session with an error that names the broken rule, or goes on; it never panics, never hangs, and its other sessions never notice.

#[path = "hostile/abi.rs"]
mod abi;
#[path = "hostile/entry.rs"]
mod entry;
#[path = "hostile/hello.rs"]
mod hello;
#[path = "hostile/log.rs"]
mod log;
#[path = "hostile/memory.rs"]
mod memory;
#[path = "hostile/peer.rs"]
mod peer;
#[path = "hostile/service.rs"]
mod service;
#[path = "hostile/stage.rs"]
mod stage;
#[path = "hostile/watchdog.rs"]
mod watchdog;
#[path = "hostile/wire.rs"]
mod wire;

#[path = "hostile/calls.rs"]
mod calls;
#[path = "hostile/children.rs"]
mod children;
#[path = "hostile/flipping.rs"]
mod flipping;
#[path = "hostile/greetings.rs"]
mod greetings;
#[path = "hostile/leaks.rs"]
mod leaks;
#[path = "hostile/noise.rs"]
mod noise;
#[path = "hostile/own_end.rs"]
mod own_end;
#[path = "hostile/page.rs"]
mod page;
#[path = "hostile/payload.rs"]
mod payload;
#[path = "hostile/progress.rs"]
mod progress;
#[path = "hostile/random.rs"]
mod random;
#[path = "hostile/shortage.rs"]
mod shortage;
#[path = "hostile/stalled.rs"]
mod stalled;
#[path = "hostile/starving.rs"]
mod starving;
#[path = "hostile/sweeping.rs"]
mod sweeping;
#[path = "hostile/transport.rs"]
mod transport;
