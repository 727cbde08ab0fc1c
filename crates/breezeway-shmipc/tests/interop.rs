//! Breezeway, shmipc-go and the crate shmipc against each other: every client with every server, as real processes.
//!
//! The peers are built from `peers/` with the toolchains of this machine, once per run. Without Go its part is skipped, which is said on stderr.
//! A cell is named `client_to_server_version_memory`; what it must show stands once, in `scenario.rs`.
#![cfg(target_os = "linux")]

#[path = "interop/build.rs"]
mod build;
#[path = "interop/cells.rs"]
mod cells;
#[path = "interop/folder.rs"]
mod folder;
#[path = "interop/hello_world.rs"]
mod hello_world;
#[path = "interop/hot_restart.rs"]
mod hot_restart;
#[path = "interop/ours.rs"]
mod ours;
#[path = "interop/pattern.rs"]
mod pattern;
#[path = "interop/process.rs"]
mod process;
#[path = "interop/program.rs"]
mod program;
#[path = "interop/protocol_4.rs"]
mod protocol_4;
#[path = "interop/scenario.rs"]
mod scenario;
#[path = "../../breezeway/tests/support/stopwatch.rs"]
mod stopwatch;
#[path = "interop/tcp.rs"]
mod tcp;

/// Plays a role of our own side in a process of its own; does nothing in an ordinary test run.
#[test]
#[ignore = "only for processes that the other tests start"]
fn another_process() {
    ours::play();
}
