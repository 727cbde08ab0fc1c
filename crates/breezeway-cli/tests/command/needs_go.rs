//! `breezeway call` to servers in Go.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::{Folder, Running, breezeway};

const IDL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/matrix/matrix.thrift");

/// Builds the program of the service matrix, and returns its path.
fn matrix_go() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/matrix/go");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("matrix-go").display().to_string();
    for step in [&["generate", "./..."][..], &["build", "-o", &program, "."]] {
        let Output { status, stderr, .. } =
            Command::new("go").args(step).current_dir(&folder).output().unwrap();
        assert!(status.success(), "go {step:?}: {}", String::from_utf8_lossy(&stderr));
    }
    program
}

#[track_caller]
fn calls(address: &str, idl: &str, rest: &[&str], status: i32, printed: &str) {
    let called = breezeway(&["call", address, "--idl", idl]).args(rest).output().unwrap();
    let text = String::from_utf8([called.stdout.clone(), called.stderr.clone()].concat()).unwrap();
    assert!(text.contains(printed), "{address}: {called:?}");
    assert_eq!(called.status.code(), Some(status), "{address}: {called:?}");
}

#[test]
#[ignore = "needs Go"]
fn go_servers_are_called_natively_and_by_ttheader() {
    let program = matrix_go();
    for (kind, carrier) in
        [("go-rpc", "shm"), ("go-rpc", "unix"), ("go-kitex", "shm"), ("kitex", "unix")]
    {
        let folder = Folder::new();
        let address = format!("{carrier}:{}", folder.socket().display());
        let mut server = Command::new(&program);
        server.args(["serve", kind, &address]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let server = Running::start(server);
        assert_eq!(server.line(), "listening");
        calls(&address, IDL, &["Matrix.echo", r#"{"text":"hello"}"#], 0, "\"hello\"\n");
        let metadata = ["--metadata", "name=Ada", "Matrix.echo", r#"{"text":"metadata"}"#];
        calls(&address, IDL, &metadata, 0, "\"Ada\"\n");
        let thrown = "Matrix.echo threw Missing: {\"name\":\"missing\"}";
        calls(&address, IDL, &["Matrix.echo", r#"{"text":"missing"}"#], 3, thrown);
        calls(&address, IDL, &["Matrix.echo", r#"{"text":"refused"}"#], 3, "too late (status 410)");
        let late = ["--timeout", "50ms", "Matrix.echo", r#"{"text":"wait:late"}"#];
        calls(&address, IDL, &late, 4, "Matrix.echo failed");
        let listen = ["Matrix.listen", r#"{"text":"line","number":2}"#];
        // Kitex writes fields in an order of its own.
        let lines = "\"number\":1";
        calls(&address, IDL, &listen, 0, lines);
        // Kitex alone names the unknown service, and not its own ones.
        let served = if kind == "kitex" { "Absent" } else { "(served here: Matrix)" };
        calls(&address, IDL, &["Absent.nothing"], 4, served);
        if kind != "kitex" {
            let other = folder.path().join("other.thrift");
            let idl = "struct Line { 1: string text }\nservice Other { \
                Line listen(1: Line wanted) (streaming.mode = \"server\") }";
            std::fs::write(&other, idl).unwrap();
            calls(&address, &other.display().to_string(), &["Other.listen"], 4, served);
        }
    }
}
