//! [Volo](https://docs.rs/volo-thrift)'s Thrift clients and services over
//! [Breezeway](https://docs.rs/breezeway-rpc) sessions: through shared memory where both sides are
//! on one host, else over sockets.
//!
//! The code that Volo generates stays as it is, and so do handlers, layers and calls. A Volo client
//! calls any Breezeway service, and a Volo service serves any Breezeway client: of Rust, of Go, and
//! of Volo. Calls are native calls of `docs/services.md`: all calls of a client share one session.
//!
//! A client, whose builder Volo generated:
//!
//! ```ignore
//! use breezeway_volo::CallOver;
//!
//! let client = breezeway_tokio::Client::connect("shm:/run/shop.sock").await?;
//! let shop = ShopClientBuilder::new("Shop").call_over(client).build();
//! let tea = shop.buy(wanted, None).await?;
//! ```
//!
//! A service, whose dispatcher Volo generated:
//!
//! ```ignore
//! use breezeway_rpc::AsyncServer;
//! use breezeway_volo::{VoloService, methods};
//!
//! let methods = methods!(Shop: check, buy, count, echo; oneway: look);
//! let shop = VoloService::<_, ShopRequestRecv>::new(ShopServer::from_handler(Corner), methods)?;
//! AsyncServer::bind("shm:/run/shop.sock")?.add_service(shop)?.serve().await?;
//! ```
//!
//! # Hostile peers
//!
//! pilota, by which Volo reads messages, takes strings that are not UTF-8 as they are, and trusts
//! lengths, counts, the types of elements and the depth of nesting. This crate checks them while
//! pilota reads, and fails the call alone. A message has at most 8 Mi numbers, or 1 Mi other
//! elements, in lists, sets and maps. pilota reserves memory for each announced element, of the
//! size of the IDL's type, before it reads the first, and does not free the elements of a list in
//! front of one that is refused: serve clients that may do so on purpose by `breezeway-rpc`.
//!
//! `call_over` replaces Volo's load balance and with it `retry_count`, which has no effect.
#![forbid(unsafe_code)]

mod body;
mod checked;
mod client;
mod error;
mod metadata;
mod service;

pub use breezeway_rpc::Method;
pub use breezeway_rpc::thrift::Streaming;
pub use client::{CallOver, Calls, Direct, Over};
pub use error::UnknownMethod;
pub use service::{Methods, VoloService};
