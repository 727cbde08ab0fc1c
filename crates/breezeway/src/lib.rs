//! Calls between processes on one machine at memory speed, safe against the process on the other
//! side.
//!
//! A [`Server`] listens at an [`Address`]. A [`Client`] calls it, for any number of threads, with
//! calls and [streams](Stream), and follows its restarts. A [`Session`] is one connection that
//! threads share, an [`ExclusiveSession`] one of a single caller, a [`Pool`] a set of such.
//!
//! Requests and replies travel through shared memory of which every byte has exactly one writing
//! process: neither side can write, truncate or corrupt data that the peer relies on, and bytes
//! that a peer writes in its own memory are copied before they are validated.
//!
//! ```
//! use breezeway::{Call, Client, Server};
//!
//! const GREET: u32 = 0;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("breezeway-docs-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//! # let path = folder.join("hello.sock").display().to_string();
//! // In one process; `shm:` falls back to `unix:` where shared memory is not available.
//! let address = format!("shm:{path},unix:{path}-unix");
//! let server = Server::bind(&address)?;
//! let stopper = server.stopper();
//! let serving = std::thread::spawn(move || {
//!     server.serve(|call: Call<'_>| {
//!         let name = String::from_utf8(call.request().to_vec())?;
//!         call.reply(format!("hello {name}"))
//!     })
//! });
//!
//! // In another.
//! let client = Client::connect(&address)?;
//! assert_eq!(client.call(GREET, b"world")?.to_vec(), b"hello world");
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
//! [`ExclusiveSession`] and [`ExclusiveServerSession`] are `Send` and used by one thread at a time.
//! [`Pool`], [`Server`] and handlers are shared, and so are [`Session`] and [`ServerSession`],
//! whose [`Stream`]s have a half for each direction, each used by one thread at a time. Tasks use
//! them through the crate `breezeway-tokio`; another event loop drives them by a [`Driver`].
//!
//! Calls of one [`ExclusiveSession`] are served in the order in which they were made; between
//! sessions there is no order. The order on a shared session, for streams too, is described at
//! [`Session`] under "Order".
//!
//! # Errors
//!
//! An error's message names what is wrong and the remedy; its cause is its
//! [source](std::error::Error::source). [`describe`] returns both in one line, and a `main` that
//! returns a [`Report`] prints it. Programs branch on [`ErrorKind`] (the method `kind` of each
//! error) and repeat a call if `may_have_run` returns false.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
// The model checker runs a part of this crate, which needs no operating system: see
// `tests/model.rs`.
#![cfg(not(loom))]

mod address;
mod bytes;
mod call;
mod call_limit;
mod carrier;
mod client;
mod connect;
mod error;
mod error_kind;
mod exclusive;
mod exclusive_server;
mod foreign;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod hand_over;
mod handler_timer;
mod handshake;
mod link;
mod listener;
mod log_limit;
mod message;
#[cfg(feature = "metrics")]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub mod metrics;
mod offload;
mod options;
mod pool;
mod presence;
mod reasons;
mod reconnect;
mod request;
mod server;
mod serving;
mod session;
mod slice;
mod spans;
mod stream_threads;
mod time;
mod try_send;
mod unserved;
pub mod unstable;
mod violation;
mod wake;
mod worker;

pub use address::{Address, AddressError, Place};
pub use breezeway_os::{Identity, NotAStreamSocket, Peer, TrustedPeer, WaitPolicy, inherited};
#[doc(inline)]
pub use breezeway_proto::connection::{MetadataError, Window};
#[doc(inline)]
pub use breezeway_proto::hello::{HelloError, Refusal};
#[doc(inline)]
pub use breezeway_proto::in_flight::CallId;
#[doc(inline)]
pub use breezeway_proto::{CallViolation, ErrorCode, StreamViolation};
#[doc(inline)]
pub use breezeway_shm::statistics::{Record as SessionStats, Totals};
pub use breezeway_shm::{ForeignBytes, ForeignReader, PayloadMemory};
pub use bytes::{ByteStream, MessageBytes};
pub use call::{Call, Handled, Handler, HandlerError, Replied, ReplySpace};
pub use carrier::Carrier;
#[cfg(feature = "tls")]
#[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
pub use carrier::tls::Tls;
pub use carrier::tls::TlsError;
pub use client::Client;
pub use error::{
    CallError, ClientError, ConnectError, ErrorKind, HandshakeError, OptionError, ReplyError,
    Report, SegmentError, ServeError, SessionError, Shortage, StreamError, describe,
};
pub use exclusive::{Batch, ExclusiveSession, Reply, RequestSpace};
pub use exclusive_server::ExclusiveServerSession;
pub use foreign::ForeignConnection;
pub use hand_over::TakeOverError;
pub use message::Message;
pub use options::{ClientOptions, ServerOptions, SessionOptions};
pub use pool::{Pool, PoolReply, PooledSession};
pub use presence::SessionId;
pub use request::Request;
pub use server::{Monitor, Server, ServerStats, SessionListener, Stopper};
pub use session::{
    Driver, Incoming, Next, OwnedCall, OwnedSpace, PendingCall, ReceiveHalf, SendHalf,
    ServerSession, Session, Stream, StreamOpener,
};
pub use try_send::TrySendError;
pub use unserved::Unserved;
pub use violation::{MemoryViolation, Violation};

/// The programs of the package's README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
