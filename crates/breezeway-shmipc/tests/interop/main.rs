//! Breezeway, shmipc-go and the crate shmipc against each other: every client with every server, as
//! real processes.
//!
//! The peers are built from `bench/` with the toolchains of this machine, once per run, if
//! `BREEZEWAY_TEST_UPSTREAM` is set (`make upstream`). The tests have their own harness here, so
//! that those with peers are ignored, and counted as such, without it, and those with shmipc-go
//! where Go is missing. A cell is named `client_to_server_version_memory`; its scenarios are
//! defined once, in `scenario.rs`.

mod build;
mod combinations;
mod dump;
mod folder;
mod hello_world;
mod hot_restart;
mod ours;
mod pattern;
mod process;
mod program;
mod protocol_4;
mod published_examples;
mod scenario;
mod shared_files;
mod tcp;
mod trial;

use libtest_mimic::Arguments;

fn main() {
    ours::play();
    // A trial is ignored only where it cannot run. A run of the workspace's ignored tests has
    // several filters, where this harness takes one.
    if std::env::args().any(|argument| argument == "--ignored") {
        return;
    }
    let arguments = Arguments::from_args();
    let trials = [
        combinations::trials(),
        dump::trials(),
        hello_world::trials(),
        hot_restart::trials(),
        shared_files::trials(),
        protocol_4::trials(),
        published_examples::trials(),
        tcp::trials(),
    ];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit();
}
