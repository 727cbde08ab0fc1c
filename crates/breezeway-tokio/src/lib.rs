//! Breezeway sessions under tokio: asynchronous calls, streams and servers.
//!
//! One task drives each session, without a thread of its own. The task takes entries from shared
//! memory, polls for more for a bounded time during which other tasks run, and then sleeps until
//! the session's socket is readable. An idle session costs no CPU.
//!
//! ```
//! use breezeway_tokio::{Client, Server};
//!
//! const GREET: u32 = 0;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("hello.sock").display().to_string();
//! let address = format!("shm:{path},unix:{path}-unix");
//! let server = Server::bind(&address)?;
//! let stopper = server.stopper();
//! let serving = tokio::spawn(server.serve(|call| async move {
//!     let name = String::from_utf8_lossy(&call.request().to_vec()).into_owned();
//!     call.reply(format!("hello {name}"))
//! }));
//!
//! let client = Client::connect(&address).await?;
//! assert_eq!(client.call(GREET, b"world").await?.to_vec(), b"hello world");
//! stopper.stop();
//! serving.await??;
//! # Ok(())
//! # }
//! ```
//!
//! # Cancellation
//!
//! Every future of this crate may be dropped at any time. A call that is dropped is cancelled, as
//! the server's handler may learn; a send that is dropped has sent all of its message or nothing; a
//! receive that is dropped has received nothing.
//!
//! # Runtimes
//!
//! The crate runs on the current-thread and on the multi-thread runtime. Their IO and time drivers
//! must be enabled (`enable_all`).
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod bytes;
mod client;
mod drive;
mod foreign;
mod handlers;
mod opener;
mod request;
mod served;
mod server;
mod server_session;
mod session;
mod space;
mod stopper;
mod stream;
mod threads;
pub mod unstable;

pub use bytes::{ByteListener, ByteStream};
pub use client::Client;
pub use foreign::ForeignStream;
pub use opener::StreamOpener;
pub use request::Request;
pub use server::Server;
pub use server_session::{Incoming, ServerSession, cancelled};
pub use session::Session;
pub use space::{reserve, reserve_with_metadata};
pub use stopper::Stopper;
pub use stream::{ReceiveHalf, SendHalf, Stream};

pub use breezeway::{
    Address, AddressError, CallError, Carrier, ClientError, ClientOptions, ConnectError, ErrorCode,
    ErrorKind, ForeignConnection, Identity, Message, Monitor, OwnedCall, OwnedSpace, Peer,
    ReplyError, Report, ServeError, ServerOptions, ServerStats, SessionError, SessionId,
    SessionOptions, StreamError, TrustedPeer, TrySendError, Unserved, WaitPolicy, describe,
};

/// Programs of the package's README, which the doctests compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
