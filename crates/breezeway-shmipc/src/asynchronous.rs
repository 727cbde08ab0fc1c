//! Streams, sessions, clients and servers for tokio (feature `tokio`).
//!
//! A session has one driver task, which sleeps until the session's socket rings. A task that reads
//! polls the queue itself first and gives other streams what is theirs on the way, so while
//! tasks are busy nothing is handed on, and one task that runs serves all that came.

mod client;
mod driver;
mod reader;
mod reserved;
mod server;
mod session;
mod stream;
mod writer;

pub use client::Client;
pub(crate) use driver::DriverHandle;
pub use reader::Reader;
pub use reserved::Reserved;
pub use server::Server;
pub use session::Session;
pub use stream::Stream;
pub use writer::Writer;
