//! Google's client for Python at the socket file of a server, as a real process.

use std::path::Path;
use std::process::Command;

use crate::support::{Plain, Serving, run};

/// Runs a command to its end, and returns its output.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{command:?}: {}: {stderr}", output.status);
    stdout
}

#[test]
#[ignore = "needs Python"]
fn grpcio_calls_at_a_socket_file_with_default_options() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = output(&mut Command::new(crates.join("../../.ci/python")));
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let ours = Serving::start(&format!("shm:{}", path("ours")));
        let unix = Serving::start(&format!("unix:{}", path("unix")));
        let tonics = Plain::start(&format!("unix:{}", path("tonics")));
        for address in [&ours.address, &unix.address, &tonics.address] {
            let (_, path) = address.split_once(':').unwrap();
            let mut client = Command::new(python.trim());
            client.arg(crates.join("tests/interop/grpcio_client.py")).arg(path);
            tokio::task::spawn_blocking(move || output(&mut client)).await.unwrap();
        }
        ours.end().await;
        unix.end().await;
    });
}
