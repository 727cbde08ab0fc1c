//! Streams, sessions, clients and servers for tokio (feature `tokio`).
//!
//! A session has one driver task, which sleeps until the session's socket becomes readable. A task
//! that reads first polls the queue itself and delivers the data of other streams too, so while
//! tasks are busy no wake-up passes between them, and one running task serves all received data.

mod client;
mod driver;
mod reader;
mod reserved;
mod server;
mod session;
mod stream;
mod writer;

pub use client::Client;
pub use reader::Reader;
pub use reserved::Reserved;
pub use server::Server;
pub use session::Session;
pub use stream::Stream;
pub use writer::Writer;
