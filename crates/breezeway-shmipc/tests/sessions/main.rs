//! Sessions through the public API: in one process and between processes, by threads and by tasks.

mod put_back;
mod servers;
mod streams;
#[cfg(feature = "tokio")]
mod tasks;
