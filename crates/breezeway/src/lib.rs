//! Calls between processes on one machine at memory speed, safe against the process on the other
//! side.
//!
//! A [`Server`] listens at an [`Address`]; a [`Session`] (one caller at a time), a [`Client`] (a
//! pool that threads share) or a [`Channel`] (one session that threads share, with calls and
//! [streams](Stream)) calls it. Requests and replies travel through shared memory of which
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
//! [`Server`] and handlers are shared, and so are [`Channel`] and [`ServerChannel`], whose
//! [`Stream`]s have a half for each direction, each used by one thread at a time. Tasks use them
//! through the crate `breezeway-tokio`; another event loop drives them by a [`Driver`].
//!
//! Calls of one [`Session`] are served in the order in which they were made; between sessions there
//! is no order. What holds on a shared one, for streams too, says [`Channel`] under "Order".
//!
//! # Errors
//!
//! An error's message is one line that says what to do. Its debug form is the same line, so that
//! `main` may return it and `unwrap` reads well.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(not(loom))]
mod address;
#[cfg(not(loom))]
mod bytes;
#[cfg(not(loom))]
mod call;
#[cfg(not(loom))]
mod call_limit;
#[cfg(not(loom))]
mod carrier;
#[cfg(not(loom))]
mod channel;
#[cfg(not(loom))]
mod channel_client;
#[cfg(not(loom))]
mod client;
#[cfg(not(loom))]
mod connect;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod foreign;
#[cfg(all(feature = "fuzzing", not(loom)))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(not(loom))]
mod hand_over;
#[cfg(not(loom))]
mod handler_timer;
#[cfg(not(loom))]
mod handshake;
#[cfg(not(loom))]
mod link;
#[cfg(not(loom))]
mod listener;
#[cfg(not(loom))]
mod log_limit;
#[cfg(not(loom))]
mod message;
#[cfg(all(feature = "metrics", not(loom)))]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub mod metrics;
#[cfg(not(loom))]
mod offload;
#[cfg(not(loom))]
mod options;
#[cfg(not(loom))]
mod post_queue;
#[cfg(not(loom))]
mod presence;
#[cfg(not(loom))]
mod reconnect;
#[cfg(not(loom))]
mod served;
#[cfg(not(loom))]
mod server;
#[cfg(not(loom))]
mod session;
#[cfg(not(loom))]
mod short_reason;
#[cfg(not(loom))]
mod slice;
#[cfg(not(loom))]
mod spans;
#[cfg(not(loom))]
mod streaming;
#[cfg(not(loom))]
mod time;
#[cfg(not(loom))]
mod tls;
#[cfg(not(loom))]
mod violation;
#[cfg(not(loom))]
mod wire;
#[cfg(not(loom))]
mod worker;
/// What of it the model checker runs, which needs no operating system.
#[cfg(loom)]
#[path = "worker/modelled.rs"]
mod worker;

#[cfg(not(loom))]
pub use address::{Address, AddressError, Place};
/// For the crates on top.
#[cfg(not(loom))]
#[doc(hidden)]
pub use breezeway_os::shortage;
#[cfg(not(loom))]
pub use breezeway_os::{
    Identity, NotAStreamSocket, Peer, TrustedPeer, WaitPolicy, inherited, segment::SegmentError,
};
#[cfg(not(loom))]
#[doc(inline)]
pub use breezeway_proto::connection::{MetadataError, Window};
#[cfg(not(loom))]
#[doc(inline)]
pub use breezeway_proto::hello::{HelloError, Refusal};
#[cfg(not(loom))]
#[doc(inline)]
pub use breezeway_proto::in_flight::CallId;
#[cfg(not(loom))]
#[doc(inline)]
pub use breezeway_proto::{CallViolation, ErrorCode, StreamViolation};
#[cfg(not(loom))]
#[doc(inline)]
pub use breezeway_shm::statistics::{Record as SessionStats, Totals};
#[cfg(not(loom))]
pub use breezeway_shm::{
    ForeignBytes, ForeignReader, PayloadMemory, Shortage, Violation as MemoryViolation,
};
#[cfg(not(loom))]
#[doc(hidden)]
pub use bytes::gather;
#[cfg(not(loom))]
pub use bytes::{ByteStream, MessageBytes};
#[cfg(not(loom))]
pub use call::{Call, Handled, Handler, HandlerError, Replied, ReplySpace};
#[cfg(not(loom))]
#[doc(hidden)]
pub use call_limit::{CallInFlight, CallLimit};
#[cfg(not(loom))]
pub use carrier::Carrier;
#[cfg(not(loom))]
pub use channel::{
    BackChannel, Channel, Driver, Incoming, Next, OwnedCall, OwnedSpace, PendingCall, ReceiveHalf,
    SendHalf, ServerChannel, Stream, StreamError,
};
#[cfg(not(loom))]
pub use channel_client::ChannelClient;
#[cfg(not(loom))]
pub use client::{Client, ClientError, ClientReply, PooledSession};
#[cfg(not(loom))]
pub use error::{CallError, ConnectError, ReplyError, ServeError, SessionError};
#[cfg(not(loom))]
pub use foreign::ForeignConnection;
#[cfg(not(loom))]
pub use hand_over::TakeOverError;
#[cfg(not(loom))]
#[doc(hidden)]
pub use handler_timer::HandlerTimer;
#[cfg(not(loom))]
pub use handshake::HandshakeError;
#[cfg(not(loom))]
pub use message::Message;
#[cfg(not(loom))]
pub use options::{ClientOptions, OptionError, ServerOptions, SessionOptions};
#[cfg(not(loom))]
pub use post_queue::{PostQueue, TryPost};
#[cfg(not(loom))]
pub use presence::SessionId;
#[cfg(not(loom))]
#[doc(hidden)]
pub use reconnect::Reconnecting;
#[cfg(not(loom))]
pub use served::ServerSession;
#[cfg(not(loom))]
pub use server::{Monitor, Server, ServerStats, SessionListener, Stopper, Unserved};
#[cfg(not(loom))]
pub use session::{Batch, Reply, RequestSpace, Session};
#[cfg(not(loom))]
#[doc(hidden)]
pub use slice::Slice;
#[cfg(not(loom))]
#[doc(hidden)]
pub use spans::{CallOf, CallSpan};
#[cfg(all(feature = "tls", not(loom)))]
#[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
pub use tls::Tls;
#[cfg(not(loom))]
pub use tls::TlsError;
#[cfg(not(loom))]
pub use violation::Violation;

/// The programs of the package's README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
