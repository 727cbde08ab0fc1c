//! The hand-over of the listening sockets of a running server to a successor, through a door of its
//! own: the admin socket, a unix socket beside the server's.
//!
//! The successor asks, and receives each listening socket, and that of the door itself, as a
//! descriptor with its place. The predecessor continues to accept, so a successor that dies now has
//! changed nothing. Once the successor serves, it announces that, with the sockets that it has
//! taken; then the predecessor accepts no more and sends its clients away. Clients that wait in a
//! socket's backlog are accepted by either server, and none is lost, as the sockets are the same.
//!
//! A server of another user receives none of this: each side asks the kernel for the peer's
//! credentials.

mod door;
mod error;
mod successor;
mod wire;

pub(crate) use door::{ClosedDoor, Door, Offered};
pub use error::TakeOverError;
pub(crate) use successor::{Offering, ask};
