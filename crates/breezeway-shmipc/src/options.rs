//! The settings of clients, servers and sessions.

mod client;
mod server;
mod session;
mod trust;

pub use client::{ClientOptions, Memory};
pub use server::ServerOptions;
pub use session::{SessionOptions, WhenExhausted, WhenFull};
pub use trust::Trust;
