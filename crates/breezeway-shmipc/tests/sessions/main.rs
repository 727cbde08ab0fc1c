//! Sessions as their users see them: in one process and between processes, by threads and by tasks.

mod servers;
mod streams;
#[cfg(feature = "tokio")]
mod tasks;
