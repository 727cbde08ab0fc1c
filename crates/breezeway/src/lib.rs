//! Calls between processes on one machine at memory speed, safe against the process on the other
//! side.
//!
//! A [`Server`] listens at an [`Address`]; a [`Session`] (one caller at a time) or a [`Client`] (a
//! pool that threads share) calls it. Requests and replies travel through shared memory of which
//! every byte has exactly one writing process: neither side can write, truncate or corrupt what the
//! other relies on, and whatever a peer writes in its own memory is copied before it is judged.
//!
//! ```
//! use breezeway::{Address, Call, Client, Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("breezeway-docs-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//! # let path = folder.join("hello.sock").display().to_string();
//! // In one process; `shm:` falls back to `unix:` where shared memory is not available.
//! let address: Address = format!("shm:{path},unix:{path}-unix").parse()?;
//! let server = Server::bind(&address)?;
//! let stopper = server.stopper();
//! let serving = std::thread::spawn(move || {
//!     server.serve(|call: Call<'_>| {
//!         let name = String::from_utf8(call.request().to_vec())?;
//!         call.reply(format!("hello {name}").as_bytes())
//!     })
//! });
//!
//! // In another.
//! let client = Client::connect(&address)?;
//! assert_eq!(client.call(0, b"world")?.to_vec(), b"hello world");
//! # drop(client);
//! # stopper.stop();
//! # serving.join().unwrap()?;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! The repository's `examples` folder has programs to copy: a pool shared by threads, an
//! authorisation policy, pipelined calls, frames of 8 MiB without a copy.
//!
//! # Threads
//!
//! [`Session`] and [`ServerSession`] are `Send` and used by one thread at a time. [`Client`],
//! [`Server`] and handlers are shared. Calls of one session are served in the order in which they
//! were made; between sessions there is no order.
//!
//! # Errors
//!
//! An error's message is one line that says what to do. Its debug form is the same line, so that
//! `main` may return it and `unwrap` reads well.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod address;
mod call;
mod carrier;
mod channel;
mod client;
mod connect;
mod connection;
mod deferred;
mod error;
mod handshake;
mod hello;
mod link;
mod listener;
mod log_limit;
mod message;
mod offload;
mod options;
mod presence;
mod printable;
mod protocol;
mod served;
mod server;
mod session;
mod slice;
mod time_left;
mod worker;

pub use address::{Address, AddressError, Place};
pub use breezeway_os::{
    NotAStreamSocket, Peer, TrustedPeer, WaitPolicy, inherited, segment::SegmentError,
};
pub use breezeway_shm::{
    ForeignBytes, ForeignReader, PayloadMemory, Shortage, Violation as MemoryViolation,
};
pub use call::{Call, Handled, Handler, HandlerError, Replied, ReplySpace};
pub use carrier::Carrier;
pub use channel::{
    Channel, Driver, Incoming, IncomingCall, Next, PendingCall, ReceiveHalf, SendHalf,
    ServerChannel, Stream, StreamError,
};
pub use client::{Client, ClientError, ClientReply, PooledSession};
pub use connection::{MetadataError, StreamViolation, Window};
pub use deferred::{DeferredCall, DeferredError};
pub use error::{CallError, ConnectError, ReplyError, ServeError, SessionError};
pub use handshake::HandshakeError;
pub use hello::{HelloError, Refusal};
pub use message::Message;
pub use options::{ClientOptions, OptionError, ServerOptions, SessionOptions};
pub use presence::SessionId;
pub use protocol::{CallId, CallViolation, ErrorCode, Violation};
pub use served::ServerSession;
pub use server::{Server, Stopper};
pub use session::{Batch, Reply, RequestSpace, Session};

/// The programs of the package's README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
