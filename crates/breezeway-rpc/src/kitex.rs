//! Thrift on sockets, compatible with Kitex, Volo and Apache's libraries: framed, unframed, in
//! TTHeader.
//!
//! [`receiver`], [`message`], [`serving`] and [`calling`] are without IO: bytes in, messages out.
//! So are [`frame`] and [`streams`], for Kitex's streams in TTHeader.

mod calling;
mod client;
mod connected;
mod connection;
mod connections;
mod frame;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod incoming;
mod message;
mod output;
mod pool;
mod protobuf;
mod receiver;
mod serving;
#[cfg(feature = "shmipc")]
mod shmipc;
#[cfg(feature = "shmipc")]
mod shmipc_server;
mod side_by_side;
mod socket;
pub(crate) mod stream;
mod streams;
#[cfg(feature = "tokio")]
pub(crate) mod tokio;

pub use calling::ThriftFraming;
pub(crate) use calling::opening;
pub use client::ThriftClient;
pub(crate) use connections::Connections;
pub(crate) use message::Message;
pub(crate) use receiver::{Receiver, WireError};
pub(crate) use serving::Served;
#[cfg(feature = "shmipc")]
pub use shmipc_server::ShmipcServer;
