//! Kernel and CPU services for Breezeway, without any protocol.
//!
//! * memory that only its creator can change: [`segment`]; an account of the segments handed out:
//!   [`MemoryLedger`]; and copies out of memory that another process may be writing: [`copy`]
//! * sockets: [`accept`], [`connect`], [`socket_file`], [`inherited`], those that already listen
//!   ([`inherited_listeners`], [`handed_listener`]), an untrusted [`Connection`], bytes with
//!   descriptors ([`scm`]), the identity of the peer ([`Peer`], [`exit_descriptor`]), and received
//!   descriptors ([`ForeignDescriptor`])
//! * waiting: [`Deadline`], [`ready`], [`Sleeper`], [`Notifier`], [`spin`]
//! * memory that another process shares: [`shared_mappings`]
//! * the machine: [`clock`], [`cpu`], [`memory`], the distance of the peer's CPU ([`Distance`]),
//!   and remedies for shortages: [`shortage`]
//! * [`Origin`] shows whether this is a forked child, and [`TrustedPeer`] is the proof that a peer
//!   may be trusted with memory that slices point into.
//!
//! ```
//! use breezeway_os::{clock, segment};
//!
//! let (mapping, descriptor) = segment::create(4096)?;
//! let start = clock::ticks();
//! let received = segment::accept(descriptor.into(), mapping.size() as u64)?;
//! println!("checked and mapped in {} ns", clock::nanoseconds(clock::ticks() - start));
//! # assert_eq!(received.size(), 4096);
//! # Ok::<(), segment::SegmentError>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
compile_error!("Breezeway needs a 64-bit little-endian Linux");

mod accept;
mod cgroup;
pub mod clock;
pub mod connect;
mod connection;
pub mod copy;
pub mod cpu;
mod deadline;
mod descriptor;
mod distance;
mod fork;
mod huge;
mod inherit;
mod ledger;
mod listening;
pub mod memory;
mod peer;
mod placement;
mod ready;
pub mod scm;
pub mod segment;
mod shared_mapping;
pub mod shortage;
mod sleeper;
pub mod socket_file;
pub mod spin;
mod tcp;
mod trust;
mod unmap;

pub use accept::accept;
pub use connection::Connection;
pub use deadline::Deadline;
pub use descriptor::{
    ForeignDescriptor, has_too_many_to_close, make_room_for_descriptors, open_files_limit,
};
pub use distance::Distance;
pub use fork::Origin;
pub use inherit::{NotAStreamSocket, inherited};
pub use ledger::{MemoryAccount, MemoryLedger, MemoryLimit, MemoryLimits};
pub use listening::{handed_listener, inherited_listeners};
pub use peer::{Identity, Peer, exit_descriptor};
pub use ready::{any_ready, ready};
pub use shared_mapping::{SharedMapping, SharedMemory, shared_mappings};
pub use sleeper::{Notifier, Sleeper, Wake, reports_urgent_bytes};
pub use spin::{WaitPolicy, Waiting};
pub use tcp::{listen_tcp, prepare_tcp};
pub use trust::TrustedPeer;
