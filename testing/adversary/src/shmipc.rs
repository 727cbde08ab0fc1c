//! The shmipc protocol, versions 2 and 3, by hand: as upstream's implementations speak it.

pub mod buffers;
pub mod by_chance;
pub mod handshake;
pub mod message;
pub mod queue;
pub mod region;

mod peer;

pub use buffers::{Buffers, SliceHeader};
pub use peer::Peer;
pub use queue::Ring;
