//! Options of sessions, servers and clients: one type for each, with a range for each value.

mod client;
mod server;
mod session;
mod trust;
mod tuning;

pub use client::ClientOptions;
pub use server::ServerOptions;
pub use session::SessionOptions;
pub(crate) use trust::TrustPolicy;
pub use tuning::Tuning;
