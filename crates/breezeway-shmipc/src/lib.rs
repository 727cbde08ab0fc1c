//! Client and server for the shmipc protocol, versions 2 and 3, to work with existing shmipc-go and
//! shmipc-rs services.
//!
//! A [`Client`] opens [`Stream`]s of bytes to a [`Server`]; their payload is in memory that both
//! processes map, and a socket carries wake-ups only.
//!
//! ```
//! use std::io::Read;
//!
//! use breezeway_shmipc::{Address, Client, ClientOptions, Server, ServerOptions, Trust};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("echo.sock");
//! let address = Address::Unix(path); // or "shmipc:/run/echo.sock".parse()?
//! let server = Server::bind(&address, ServerOptions::new(Trust::SameUser))?;
//! let stopper = server.stopper();
//! let serving = std::thread::spawn(move || {
//!     server.serve(|stream| {
//!         let (reader, writer) = stream.halves();
//!         writer.forward(reader)?; // what has come goes back
//!         Ok(())
//!     });
//! });
//!
//! let client = Client::connect(&address, ClientOptions::new(Trust::SameUser))?;
//! let mut stream = client.open()?;
//! stream.send(b"hello")?;
//! let mut reply = [0; 5];
//! stream.read_exact(&mut reply)?;
//! assert_eq!(&reply, b"hello");
//!
//! stopper.stop();
//! serving.join().unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `tokio`, `asynchronous` has the same for tasks.
//!
//! # Trust
//!
//! **Both sides of a shmipc session write the same memory, so each trusts the other.** A peer that
//! breaks the rules can make this side read wrong bytes, run out of slices, or lose the session. It
//! cannot make this process crash, hang, read or write outside of that session's regions, or
//! allocate without bound, and it harms no other session. For a peer that is not trusted that far,
//! use Breezeway's own `shm:` transport. A client and a server must therefore choose the peers they
//! [`Trust`], and accept none by default.
//!
//! # Example
//!
//! ```
//! use breezeway_shmipc::{Client, ClientOptions, Server, ServerOptions, Stream, Trust};
//! use std::io::{Read, Write};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("breezeway-shmipc-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//! # let address = format!("shmipc:{}", folder.join("echo.sock").display());
//! // let address = "shmipc:/run/echo.sock";
//! let server = Server::bind(&address.parse()?, ServerOptions::new(Trust::SameUser))?;
//! let stopper = server.stopper();
//! let serving = std::thread::spawn(move || {
//! // Called for each stream with new data.
//!     server.serve(|stream: &mut Stream| {
//!         if let Some(arrived) = stream.try_peek()? {
//!             let bytes = arrived.to_vec();
//!             stream.release(bytes.len());
//!             stream.send(&bytes)?;
//!         }
//!         Ok(())
//!     })
//! });
//!
//! let client = Client::connect(&address.parse()?, ClientOptions::new(Trust::SameUser))?;
//! let mut stream = client.open()?;
//! stream.write_all(b"hello")?;
//! stream.flush()?;
//! let mut reply = [0; 5];
//! stream.read_exact(&mut reply)?;
//! assert_eq!(&reply, b"hello");
//! # drop((stream, client));
//! # stopper.stop();
//! # serving.join().unwrap();
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! * `tokio`: asynchronous streams, clients and servers, in `asynchronous`.
//! * `metrics`: counters of sessions for the facade of that name, by `record_metrics`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
#![cfg_attr(
    loom,
    allow(
        dead_code,
        reason = "the model builds without the modules that need an OS, and without their callers"
    )
)]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
compile_error!("shmipc needs a 64-bit little-endian Linux");

mod followers;
mod free_list;
mod layout;
mod queue;
mod region;
mod sync;
mod violation;
mod watched_range;

#[cfg(all(test, loom))]
mod model;

pub use violation::Violation;

cfg_if::cfg_if! {
    if #[cfg(not(loom))] {
        mod address;
        #[cfg(feature = "tokio")]
        pub mod asynchronous;
        mod client;
        mod core;
        mod counters;
        mod created;
        #[cfg(feature = "tokio")]
        mod driver_handle;
        pub mod dump;
        mod error;
        mod file_claim;
        #[allow(unsafe_code, reason = "a signal handler")]
        mod guard;
        mod handle;
        mod handler;
        mod handshake;
        mod incoming;
        mod interrupter;
        mod listener;
        mod lock;
        mod log_limit;
        mod message;
        mod named_file;
        mod options;
        mod outgoing;
        mod pace;
        mod pauses;
        mod pool;
        mod reader;
        mod regions;
        mod restart;
        mod server;
        mod serving;
        mod session;
        #[cfg(test)]
        mod slow_descriptor;
        mod socket;
        mod spin;
        mod stream;
        mod stream_pool;
        mod stream_state;
        mod table;
        mod waiting;
        mod wire;
        mod writer;

        pub use address::{Address, AddressError};
        pub use breezeway_os::{Deadline, Peer, TrustedPeer, WaitPolicy};
        pub use client::Client;
        pub use counters::SessionCounters;
        pub use error::{
            AcceptError, ConnectError, HandshakeError, ServeError, SessionEnd, StreamError,
        };
        pub use handler::Handler;
        pub use interrupter::Interrupter;
        pub use options::{
            ClientOptions, Memory, OptionError, ServerOptions, SessionOptions, Trust,
            WhenExhausted, WhenFull,
        };
        pub use reader::{Peeked, Reader, Run};
        pub use server::{RestartReport, Server, Stopper};
        pub use session::{Session, SessionStatistics};
        pub use stream::Stream;
        pub use table::Role;
        pub use writer::{Reserved, Writer};
    }
}
