//! Sessions through the public API: in one process and between processes, by threads and by tasks.

#[cfg(feature = "tokio")]
mod async_streams;
mod put_back;
mod servers;
mod streams;
