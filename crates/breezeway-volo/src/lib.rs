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
//! # Trust
//!
//! Peers have to be trusted, as with Volo itself. pilota, by which Volo reads messages, does not
//! check that strings are UTF-8, and reads elements by the types of the IDL whatever the message
//! announces: a hostile message can make it recurse until the stack ends, or reserve memory until
//! the process aborts. This crate checks lengths, counts and nesting as the message has them, and
//! fails the call if pilota panics. That helps against damaged messages, not against hostile ones.
//!
//! `call_over` replaces Volo's load balance and with it `retry_count`, which has no effect.
#![forbid(unsafe_code)]

mod body;
mod client;
mod error;
mod metadata;
mod service;

pub use breezeway_rpc::Method;
#[doc(hidden)]
pub use breezeway_rpc::thrift::Streaming;
pub use client::{CallOver, Calls, Direct, Over};
pub use error::UnknownMethod;
pub use service::{Methods, VoloService};
