//! gRPC over shared memory, unix sockets and TCP, by changing one address: services and clients of
//! [tonic] as they are, with their generated code, interceptors and tower layers.
//!
//! A [`Server`] serves tonic's services at an address; [`connect`] returns a [`Channel`] for
//! tonic's generated clients. Between two sides that both use this crate calls travel natively, as
//! streams of a Breezeway session ([`Gear::Native`]); with every other peer, on the same sockets,
//! as HTTP/2. Status codes, deadlines, cancellation, compression and limits are the same.
//!
//! ```
//! use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let address = format!("shm:{}/app.sock", folder.path().display());
//! let (_reporter, health) = tonic_health::server::health_reporter();
//! let server = breezeway_grpc::Server::builder().add_service(health).bind(&address)?;
//! tokio::spawn(server.serve());
//!
//! let channel = breezeway_grpc::connect(&address).await?;
//! let mut client = HealthClient::new(channel);
//! let reply = client.check(HealthCheckRequest { service: String::new() }).await?;
//! assert_eq!(reply.into_inner().status, 1);
//! # Ok(())
//! # }
//! ```
//!
//! The carrier and the peer of a call are in its extensions: [`ConnectInfo`].
//!
//! [tonic]: https://docs.rs/tonic
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod channel;
mod connect_info;
mod connection;
mod connector;
mod endpoint;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod http2;
mod incoming;
mod listening;
mod native;
mod server;
mod timeout;

pub use channel::{Channel, ResponseFuture};
pub use connect_info::{ConnectInfo, Gear};
pub use connection::Connection;
pub use endpoint::Endpoint;
pub use error::Error;
pub use incoming::{Incoming, incoming, incoming_with};
pub use server::{Bound, Router, Server};

pub use breezeway::{Address, Carrier, ErrorKind, Peer, Report, ServerOptions, SessionOptions};

/// Connects to the service at an address, with default options: to the first of its places that
/// works. For other options see [`Endpoint`].
pub async fn connect(address: impl AsRef<str>) -> Result<Channel, Error> {
    Endpoint::new(address)?.connect().await
}

/// The programs of the package's README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
