//! Google's client for Python at the socket file of a server, as a real process.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::support::{Plain, Serving, run};

const GRPCIO: &str = "grpcio==1.85.3";

/// The interpreter of an environment that has grpcio, made once for a run of the tests; `None`
/// where pip cannot install it.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || {
        let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("grpcio");
        let python = environment.join("bin/python");
        if !python.exists() {
            run_to_end(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        }
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", GRPCIO];
        run_to_end(Command::new(&python).args(pip))?;
        Ok(python)
    };
    let made = PYTHON.get_or_init(|| {
        let made: Result<_, String> = install();
        // Beside the output of tests, which is not shown of one that passes.
        let report = |why| writeln!(std::io::stderr(), "SKIPPED: {GRPCIO} is not there: {why}");
        made.map_err(|why| report(why).unwrap()).ok()
    });
    made.as_deref()
}

fn run_to_end(command: &mut Command) -> Result<(), String> {
    let Output { status, stderr, .. } = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&stderr);
    if status.success() { Ok(()) } else { Err(format!("{status}: {text}")) }
}

#[test]
#[ignore = "needs Python"]
fn grpcio_calls_at_a_socket_file_with_default_options() {
    let Some(python) = python() else { return };
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let ours = Serving::start(&format!("shm:{}", path("ours")));
        let unix = Serving::start(&format!("unix:{}", path("unix")));
        let tonics = Plain::start(&format!("unix:{}", path("tonics")));
        for address in [&ours.address, &unix.address, &tonics.address] {
            let (_, path) = address.split_once(':').unwrap();
            let script =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/grpcio_client.py");
            let mut client = Command::new(python);
            client.arg(script).arg(path);
            let called = tokio::task::spawn_blocking(move || run_to_end(&mut client));
            called.await.unwrap().unwrap_or_else(|why| panic!("{address}: {why}"));
        }
        ours.end().await;
        unix.end().await;
    });
}
