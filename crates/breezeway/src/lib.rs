//! Calls between processes on one machine at memory speed, safe against the process on the other side.
//!
//! A [`Server`] listens at an [`Address`]; a [`Session`] (one caller at a time), or a [`Client`] (a pool that threads share) calls it. Requests and replies travel through
//! shared memory of which every byte has exactly one writing process: neither side can write, truncate or corrupt what the other relies on, and whatever a peer
//! writes in its own memory is copied before it is judged.
//!
//! # Threads
//!
//! [`Session`] and [`ServerSession`] are `Send` and used by one thread at a time. [`Client`], [`Server`] and handlers are shared. Calls of one session are served in the order in which they were made;
//! between sessions there is no order.
//!
//! # Errors
//!
//! An error's message is one line that says what to do. Its debug form is the same line, so that `main` may return it and `unwrap` reads well.
#![forbid(unsafe_code)]

mod address;
mod call;
mod carrier;
mod client;
mod connect;
mod error;
mod handshake;
mod hello;
mod link;
mod listener;
mod options;
mod printable;
mod protocol;
mod served;
mod server;
mod session;
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
pub use client::{Client, ClientError, ClientReply, PooledSession};
pub use error::{CallError, ConnectError, ReplyError, ServeError, SessionError};
pub use handshake::HandshakeError;
pub use hello::{HelloError, Refusal};
pub use options::{ClientOptions, OptionError, ServerOptions, SessionOptions};
pub use protocol::{CallId, CallViolation, ErrorCode, Violation};
pub use served::ServerSession;
pub use server::{Server, Stopper};
pub use session::{Batch, Reply, RequestSpace, Session};
