//! The settings of clients, servers and sessions.

mod client;
mod error;
mod server;
mod session;
mod trust;

pub use client::{ClientOptions, Memory};
pub use error::OptionError;
pub use server::ServerOptions;
pub use session::{SessionOptions, WhenExhausted, WhenFull};
pub use trust::Trust;
