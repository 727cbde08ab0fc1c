//! Thrift clients and servers on sockets, under tokio.

mod client;
mod client_stream;
mod connection;
#[cfg(feature = "shmipc")]
mod shmipc;
mod streams;
mod watched;

pub use client::AsyncThriftClient;
pub(crate) use connection::serve_connection;
#[cfg(feature = "shmipc")]
pub use shmipc::AsyncShmipcServer;

/// Streams, for their clients and for their handlers.
pub(crate) mod stream {
    pub(crate) use super::client_stream::{Replies, Requests};
    pub(crate) use super::streams::{Replies as ServedReplies, Requests as ServedRequests};
}
