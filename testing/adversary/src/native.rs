//! The native protocol, by hand: `docs/abi.md`.

pub mod by_chance;
pub mod frame;
pub mod layout;

mod descriptor;
mod entry;
mod hello;
mod offers;
mod peer;
mod ring;
mod view;

pub use descriptor::Descriptor;
pub use entry::{Entry, Seen};
pub use hello::{Hello, Terms, receive_hello};
pub use offers::{Offer, relay_offering};
pub use peer::Peer;
pub use ring::{Ring, control_segment};
pub use view::View;
