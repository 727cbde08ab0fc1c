//! Thrift services at memory speed.
//!
//! A service described in `.thrift` becomes, by
//! [`breezeway_idl::Builder::services`](https://docs.rs/breezeway-idl), a trait to implement, a
//! server that dispatches to it and a client whose methods are the IDL's. They use Breezeway
//! sessions: through shared memory where both sides are on one machine, else over sockets. On
//! sockets the same server and client also support Thrift in the framings of Kitex, Volo and
//! Apache's libraries ([`Server::with_thrift_clients`], [`ThriftClient`]), and with the feature
//! `shmipc` over streams of shmipc.
//!
//! ```thrift
//! exception NoSuchUser { 1: required string name }
//! service Users {
//!     i64 age(1: string name) throws (1: NoSuchUser missing)
//!     oneway void seen(1: string name)
//! }
//! ```
//!
//! ```
//! use breezeway_rpc::{Context, Server};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/users.rs"));
//! use users::{NoSuchUser, Users, UsersAgeError, UsersClient, UsersServer};
//!
//! struct Table;
//!
//! impl Users for Table {
//!     fn age(&self, _: &Context, name: String) -> Result<i64, UsersAgeError> {
//!         if name == "Ada" { Ok(36) } else { Err(NoSuchUser { name }.into()) }
//!     }
//!
//!     fn seen(&self, _: &Context, name: String) {
//!         println!("{name} was here");
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("users.sock").display().to_string();
//! let address = format!("shm:{path},unix:{path}-unix");
//! let server = Server::bind(&address)?.add_service(UsersServer(Table))?;
//! let stopper = server.stopper();
//! let serving = std::thread::spawn(move || server.serve());
//!
//! let client = UsersClient::new(breezeway::Client::connect(&address)?);
//! assert_eq!(client.age("Ada".to_owned())?, 36);
//! assert!(matches!(client.age("Bob".to_owned()), Err(UsersAgeError::Missing(_))));
//! client.seen("Ada".to_owned())?;
//! # drop(client);
//! stopper.stop();
//! serving.join().unwrap()?;
//! # Ok(())
//! # }
//! ```
//!
//! # On the wire
//!
//! `docs/services.md` of the repository has every byte: tags, bodies, errors, metadata and streams.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod business;
mod bytes;
mod call;
mod caller;
mod channel;
mod context;
#[cfg(feature = "opentelemetry")]
mod durations;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
#[cfg(feature = "tower")]
pub mod governance;
mod in_place;
#[cfg(feature = "tower")]
pub mod instances;
mod kitex;
mod metadata;
mod method;
mod registry;
mod reply;
#[cfg(feature = "tower")]
mod route;
mod server;
mod spans;
mod stream;
#[cfg(feature = "tokio")]
mod tokio;
#[cfg(test)]
mod vectors;

/// The Thrift runtime that generated code is written for.
pub use breezeway_thrift as thrift;

/// The number of this protocol in a session's hello: servers of this crate announce it, and so do
/// the sessions that its clients open. A session opened otherwise announces it by
/// [`SessionOptions::service`](breezeway::SessionOptions::service), so that connecting fails if the
/// server serves gRPC.
pub const RPC: u16 = 1;

pub use business::BusinessError;
pub use call::Call;
pub use caller::{CallOptions, Caller};
pub use channel::Channel;
pub use context::Context;
pub use error::Error;
pub use in_place::{ReplyPlace, ReplySpace, Request, Written};
#[cfg(feature = "shmipc")]
#[cfg_attr(docsrs, doc(cfg(feature = "shmipc")))]
pub use kitex::ShmipcServer;
pub use kitex::{ThriftClient, ThriftFraming};
pub use metadata::ReplyMetadata;
pub use method::Method;
pub use registry::Collision;
pub use reply::{Done, MethodError, Reply, Returned};
#[cfg(feature = "tower")]
pub use route::Route;
pub use server::{Server, Service};
pub use stream::{
    DuplexStream, Opened, Replies, ReplyStream, RequestSender, RequestStream, Requests,
    StreamChannel,
};

#[cfg(all(feature = "shmipc", feature = "tokio"))]
#[cfg_attr(docsrs, doc(cfg(feature = "shmipc")))]
pub use crate::kitex::tokio::AsyncShmipcServer;
#[cfg(feature = "tokio")]
pub use crate::kitex::tokio::AsyncThriftClient;
#[cfg(feature = "tokio")]
pub use crate::tokio::{
    AsyncChannel, AsyncDuplexStream, AsyncReplies, AsyncReplyStream, AsyncRequestSender,
    AsyncRequestStream, AsyncRequests, AsyncServer, AsyncService, AsyncServices,
    AsyncStreamChannel, OpenedAsync,
};

/// The programs of the package's README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
