//! Hostile peers, written by hand from the protocols' descriptions, for tests and fuzzing.
//!
//! A peer of this crate keeps its memory writable, sends any bytes on its socket, and follows only
//! the rules that its attack requires. The crate depends on none of the project's crates, so that a
//! mistake in theirs cannot hide in it: every number was typed from the description.
//!
//! * [`native`] speaks `docs/abi.md`: hello, control segment, ring, payload, doorbell, and frames
//!   on sockets. Most attacks begin with [`native::Peer`].
//! * [`shmipc`] speaks shmipc, versions 2 and 3: handshake, queue, buffers. Most attacks begin with
//!   [`shmipc::Peer`].
//! * [`native::by_chance`] and [`shmipc::by_chance`] are random sessions. A [`recording`] of an
//!   honest client is repeated with small changes, in any protocol.
//! * All share: bytes and descriptors on a [`socket`], [`memory`] and [`memfd`]s of every fitness,
//!   descriptors that are [`slow`] to close, threads that keep [`flipping`] bytes, repeatable
//!   [`chance`], a [`journal`] of the honest side's log, a [`stopwatch`] for time limits.
//! * [`vectors`] plays the conversations of `docs/vectors`; [`abi_page`] reads the tables of
//!   `docs/abi.md`.
//! * [`interception`] lets the system calls of an honest side fail.
//!
//! ```no_run
//! use breezeway_adversary::native::{Entry, Peer, Terms};
//!
//! // A client that announces a segment which it never sends.
//! let mut peer = Peer::connect("/run/echo.sock".as_ref(), Terms::default());
//! peer.publish(&Entry::segment_add(0, 4096));
//! peer.wait_for_end();
//! ```
//!
//! A peer panics where the *honest* side does something that no attack provokes, so that the test
//! fails: if it sends nothing for [`PATIENCE`], or breaks a rule itself.

pub mod abi_page;
#[cfg(feature = "certificates")]
pub mod certificates;
pub mod chance;
pub mod connection;
pub mod flipping;
pub mod interception;
pub mod journal;
pub mod memfd;
pub mod memory;
pub mod native;
#[cfg(feature = "arbitrary")]
pub mod offered;
pub mod recording;
#[cfg(feature = "certificates")]
pub mod records;
pub mod shmipc;
pub mod slow;
pub mod socket;
pub mod stopwatch;
pub mod vectors;

pub use chance::Chance;
pub use connection::{Connection, Listener};
pub use flipping::while_flipping;
pub use memory::{Mapping, Shared};
pub use slow::slow_to_close;
pub use socket::PATIENCE;
