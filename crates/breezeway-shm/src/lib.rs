//! Single-writer shared memory between two processes: the bottom layer of Breezeway.
//!
//! Every byte of shared memory has exactly one writing process. Each side creates its own sealed
//! segments and hands out read-only mappings, so a peer can neither write, truncate nor corrupt
//! anything of ours, and an uncommitted entry is invisible. What the peer writes in *its* segments is
//! hostile until proven otherwise: it is copied once to private memory, judged there, and the shared
//! bytes are not read again.
//!
//! An [`Endpoint`] is one process's end of a session: its own control segment with the ring, its
//! payload segments, the peer's segments mapped read-only, and the session socket that serves as
//! doorbell. The byte layout is fixed in `docs/abi.md`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    loom,
    allow(
        dead_code,
        reason = "the model builds without the modules that need an OS, and so without their callers"
    )
)]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
compile_error!("Breezeway's shared memory needs a 64-bit little-endian Linux");

mod ring;
mod violation;

#[cfg(not(loom))]
mod control;
#[cfg(not(loom))]
mod counters;
#[cfg(not(loom))]
mod doorbell;
#[cfg(not(loom))]
mod endpoint;
#[cfg(not(loom))]
pub mod floor;
#[cfg(not(loom))]
mod foreign;
#[cfg(not(loom))]
mod payload;
#[cfg(not(loom))]
mod wait;

pub use ring::{Entry, Flags, Head, Kind, Want, layout};
pub use violation::Violation;

#[cfg(not(loom))]
pub use {
    control::{ControlSegment, ForeignControl},
    doorbell::SocketError,
    endpoint::{Body, Endpoint, Filling, Limits, PayloadMemory, SendError, Space},
    foreign::{ForeignBytes, ForeignReader},
    payload::shortage::Shortage,
    wait::{WaitError, Waiter},
};
