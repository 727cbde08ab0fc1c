//! Single-writer shared memory between two processes: the bottom layer of Breezeway.
//!
//! Every byte of shared memory has exactly one writing process. Each side creates its own sealed segments and hands out read-only mappings,
//! so a peer can neither write, truncate nor corrupt anything of ours, and an uncommitted entry is invisible. What the peer writes in
//! *its* segments is hostile until proven otherwise: it is copied once to private memory, judged there, and never looked at again.
//!
//! An [`Endpoint`] is one process's end of a session: its own control segment with the ring, its payload segments, the peer's segments
//! mapped read-only, and the session socket that serves as doorbell. The byte layout is fixed in `docs/abi.md`.
//!
//! This is the only transport crate with `unsafe`; every block argues why it is sound.
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

pub mod layout;
mod ring;
pub mod spin;
mod violation;

mod allocator;
mod duplex;
mod entry;
mod sync;
mod words;

#[cfg(all(test, loom))]
mod model;

#[cfg(not(loom))]
mod accept;
#[cfg(not(loom))]
mod borrower;
#[cfg(not(loom))]
mod cgroup;
#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
pub mod copy;
#[cfg(not(loom))]
mod counters;
#[cfg(not(loom))]
pub mod cpu;
#[cfg(not(loom))]
mod descriptor;
#[cfg(not(loom))]
pub mod distance;
#[cfg(not(loom))]
mod doorbell;
#[cfg(not(loom))]
mod endpoint;
#[cfg(not(loom))]
pub mod floor;
#[cfg(not(loom))]
mod foreign;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
mod inherit;
#[cfg(not(loom))]
mod lender;
#[cfg(not(loom))]
pub mod memory;
#[cfg(not(loom))]
mod peer;
#[cfg(not(loom))]
pub mod segment;
#[cfg(not(loom))]
mod segments;
#[cfg(not(loom))]
mod shortage;
#[cfg(not(loom))]
mod sleeper;
#[cfg(not(loom))]
pub mod socket_file;
#[cfg(not(loom))]
mod staging;
#[cfg(not(loom))]
mod trust;
#[cfg(not(loom))]
mod wait;

pub use duplex::Want;
pub use entry::{Entry, Flags, Head, Kind};
pub use spin::{WaitPolicy, Waiting};
pub use violation::Violation;

#[cfg(not(loom))]
pub use {
    accept::accept,
    descriptor::ForeignDescriptor,
    doorbell::SocketError,
    endpoint::{Endpoint, Limits, PayloadMemory, PublishError, ReserveError, Space},
    foreign::{ForeignBytes, ForeignReader},
    fork::Origin,
    inherit::inherited,
    peer::{Peer, exit_descriptor},
    segment::{ControlSegment, ForeignControl, SegmentError},
    shortage::Shortage,
    sleeper::{Notifier, Sleeper, Wake},
    trust::TrustedPeer,
    wait::{WaitError, Waiter},
};
