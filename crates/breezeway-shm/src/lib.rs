//! Single-writer shared memory between two processes: the transport under Breezeway.
//!
//! Every byte of shared memory has exactly one writing process. Each side creates its own sealed
//! segments and hands out read-only mappings, so a peer can neither write, truncate nor corrupt
//! anything of ours, and an uncommitted entry is invisible. What the peer writes in *its* segments
//! is hostile until proven otherwise: it is copied once to private memory, judged there, and not
//! read again.
//!
//! An [`Endpoint`] is one process's end of a session: its own control segment with the ring, its
//! payload segments, the peer's segments mapped read-only, and the session socket that serves as
//! doorbell. The byte layout is fixed in `docs/abi.md`. Most programs want the crate `breezeway`,
//! which exchanges the descriptors and adds addresses, calls, servers and clients.
//!
//! ```
//! use breezeway_shm::{
//!     Body, ControlSegment, Endpoint, ForeignControl, Head, Limits, layout::MESSAGE,
//! };
//! use std::os::unix::net::UnixStream;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Each side creates a control segment and sends the other its descriptor. Both are here.
//! let (entries, lend_numbers) = (64, 512);
//! let (ours, our_descriptor) = ControlSegment::create(entries, lend_numbers)?;
//! let (theirs, their_descriptor) = ControlSegment::create(entries, lend_numbers)?;
//! let (our_socket, their_socket) = UnixStream::pair()?;
//! // A received descriptor is refused unless it is sealed, backed, and of the announced size.
//! let accept = |descriptor| ForeignControl::accept(descriptor, entries, lend_numbers);
//! let limits = || Limits::new(1 << 20);
//! let mut sender =
//!     Endpoint::new(our_socket.into(), ours, accept(their_descriptor)?, limits());
//! let mut receiver =
//!     Endpoint::new(their_socket.into(), theirs, accept(our_descriptor)?, limits());
//!
//! let head = Head { kind: MESSAGE, flags: 0, stream: 1, tag: 0, time: 0 };
//! sender.send(head, Body::Bytes(b"hello"))?;
//! // Wakes the receiver if it has announced that it sleeps.
//! sender.flush()?;
//!
//! assert!(receiver.take()?);
//! assert_eq!(receiver.body().to_vec(), b"hello");
//! receiver.finish()?;
//! # Ok(())
//! # }
//! ```
//!
//! `unsafe` is allowed in this crate; every block argues why it is sound. `docs/design.md` lists
//! where else it is.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    loom,
    allow(
        dead_code,
        reason = "the model builds without the modules that need an OS, and so without their \
            callers"
    )
)]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
compile_error!("Breezeway's shared memory needs a 64-bit little-endian Linux");

mod ring;
mod violation;

pub use ring::{Entry, Head, Want, layout};
pub use violation::Violation;

cfg_if::cfg_if! {
    if #[cfg(loom)] {
        /// The part of it that the model checker runs.
        #[path = "statistics/modelled.rs"]
        mod statistics;
    } else {
        mod control;
        mod doorbell;
        pub mod dump;
        mod endpoint;
        mod foreign;
        mod payload;
        mod pending;
        pub mod statistics;
        mod wait;

        pub use control::{ControlSegment, ForeignControl};
        pub use doorbell::{SEND_BUFFER, SocketError};
        pub use endpoint::{
            Body, Endpoint, Filling, FirstSegment, Limits, Message, OwnedSpace, PayloadMemory,
            SendError, Space,
        };
        pub use foreign::{ForeignBytes, ForeignReader};
        pub use payload::accounts::Account;
        pub use payload::shortage::Shortage;
        pub use wait::{WaitError, Waiter};
    }
}
