//! Builds upstream's programs, once per test run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Returns true if there is a Go toolchain.
pub(crate) fn has_go() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| Command::new("go").arg("version").output().is_ok())
}

/// Returns the path of the program that uses shmipc-go.
pub(crate) fn shmipc_go() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(build_go)
}

/// Returns the path of the program that uses the crate shmipc.
pub(crate) fn shmipc_rs() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(build_rust)
}

fn build_go() -> PathBuf {
    announce("building bench/shmipc-go");
    let program = target().join("shmipc-go");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&program).arg(".").current_dir(bench().join("shmipc-go"));
    check(&mut go);
    program
}

/// Returns the path of one of the examples that shmipc-go publishes.
pub(crate) fn shmipc_go_example(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(build_examples).join(name)
}

/// Builds the examples from the published module, in the version that `bench/shmipc-go` depends on.
fn build_examples() -> PathBuf {
    announce("building the examples of shmipc-go");
    let folder = target().join("shmipc-go-examples");
    for name in EXAMPLES {
        let mut go = Command::new("go");
        go.args(["build", "-o"]).arg(folder.join(name));
        go.arg(format!("github.com/cloudwego/shmipc-go/example/{name}"));
        check(go.current_dir(bench().join("shmipc-go")));
    }
    folder
}

/// The examples that tests run.
const EXAMPLES: [&str; 8] = [
    "helloworld/greeter_client",
    "helloworld/greeter_server",
    "best_practice/shmipc_client",
    "best_practice/shmipc_server",
    "best_practice/shmipc_async_client",
    "best_practice/shmipc_async_server",
    "hot_restart_test/client",
    "hot_restart_test/server",
];

/// Returns the path of the asynchronous example, with a `Flush` that empties its buffer before it
/// sends.
pub(crate) fn mended_async_client() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(build_mended)
}

/// Changes in the `Flush` of shmipc-go.
const MENDED: [(&str, &str); 3] = [
    ("\tdefer s.sendBuf.clean()\n", ""),
    ("\tbuf := s.sendBuf\n", "\tbuf := s.sendBuf\n\troot := buf.rootBufOffset()\n\tbuf.clean()\n"),
    ("buf.rootBufOffset(),", "root,"),
];

/// Builds in a copy of the module, because go replaces none of its files.
fn build_mended() -> PathBuf {
    announce("building an example of shmipc-go with a mended Flush");
    let copy = target().join("shmipc-go-mended");
    let peers = bench().join("shmipc-go");
    check(Command::new("go").args(["mod", "download"]).current_dir(&peers));
    let mut list = Command::new("go");
    list.args(["list", "-m", "-f", "{{.Dir}}", "github.com/cloudwego/shmipc-go"]);
    let found = check(list.current_dir(&peers)).stdout;
    let module = String::from_utf8_lossy(&found).trim().to_owned();
    assert!(!module.is_empty(), "go has no sources of shmipc-go");
    let module = Path::new(&module).join(".");
    std::fs::create_dir_all(&copy).expect("our own folder");
    check(Command::new("cp").args(["-r", "--no-preserve=mode"]).arg(module).arg(&copy));
    let path = copy.join("stream.go");
    let mut source = std::fs::read_to_string(&path).expect("it was copied");
    for (from, to) in MENDED {
        assert!(source.contains(from), "{path:?} has no {from:?}");
        source = source.replace(from, to);
    }
    std::fs::write(&path, source).expect("our own folder");
    let mut go = Command::new("go");
    go.args(["build", "./example/best_practice/shmipc_async_client"]);
    check(go.current_dir(&copy));
    copy.join("shmipc_async_client")
}

fn build_rust() -> PathBuf {
    announce("building bench/shmipc-rs, which takes a minute the first time");
    let target = target();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--locked", "--profile", "interop", "-p", "shmipc-rs", "--target-dir"]);
    cargo.arg(&target).current_dir(bench());
    // Cargo's variables for a test of this crate do not apply to the other one.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG")) {
        cargo.env_remove(name);
    }
    check(&mut cargo);
    target.join("interop/shmipc-rs")
}

fn bench() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench")
}

/// Returns a folder beside cargo's own, so that a nested cargo need not wait for the outer one.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers")
}

fn check(command: &mut Command) -> Output {
    let output =
        command.output().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{complaints}");
    output
}

/// Prints a line past the test harness, which would hold it back.
fn announce(line: &str) {
    // Fails if stderr is closed.
    let _ = writeln!(std::io::stderr(), "\ninterop: {line}");
}
