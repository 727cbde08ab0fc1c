//! `breezeway call` to servers of gRPC.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::grpc::serve;
use crate::support::{Folder, Running, Serve, breezeway};

const PROTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proto/echo.proto");

fn called(address: &str, rest: &[&str], input: &str) -> Output {
    let mut command = breezeway(&["call", address]);
    let mut child = command.args(rest).stdin(Stdio::piped()).spawn().unwrap();
    // A command that needs no input may have ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[track_caller]
fn gives(address: &str, rest: &[&str], input: &str, printed: &str) {
    let called = called(address, rest, input);
    assert_eq!(str::from_utf8(&called.stdout), Ok(printed), "{called:?}");
    assert_eq!(called.status.code(), Some(0), "{called:?}");
}

#[track_caller]
fn fails(address: &str, rest: &[&str], status: i32, words: &[&str]) {
    let called = called(address, rest, "");
    let stderr = str::from_utf8(&called.stderr).unwrap();
    assert!(words.iter().all(|words| stderr.contains(words)), "{called:?}");
    assert_eq!(stderr.lines().count(), 1, "{called:?}");
    assert_eq!(called.status.code(), Some(status), "{called:?}");
}

/// Runs a test with a server on each carrier.
fn with_servers(test: impl Fn(&str)) {
    for carrier in ["shm", "unix"] {
        let folder = Folder::new();
        let (_serve, address): (Running, String) =
            serve(&format!("{carrier}:{}", folder.socket().display()), &[]);
        test(&address);
    }
}

#[test]
fn methods_are_called_by_reflection_and_by_file() {
    with_servers(|address| {
        let check = ["grpc.health.v1.Health/Check", "{}"];
        gives(address, &check, "", "{\"status\":\"SERVING\"}\n");
        let echo = r#"{"body":"AAEC"}"#;
        let echoed = format!("{echo}\n");
        gives(address, &["breezeway.echo.v1.Echo.Echo", echo], "", &echoed);
        gives(address, &["--proto", PROTO, "Echo/Echo", "-"], echo, &echoed);
        gives(
            address,
            &["--timeout", "20s", "--metadata", "user=ada", "Echo/Echo", echo],
            "",
            &echoed,
        );
    });
}

#[test]
fn streams_take_and_print_messages() {
    with_servers(|address| {
        let method = ["grpc.reflection.v1.ServerReflection/ServerReflectionInfo"];
        let asked = called(address, &method, r#"{"list_services":""} {"list_services":""}"#);
        let lines = str::from_utf8(&asked.stdout).unwrap();
        let listing = lines.lines().filter(|line| line.contains("grpc.health.v1.Health"));
        assert_eq!(listing.count(), 2, "{asked:?}");
        assert_eq!(asked.status.code(), Some(0), "{asked:?}");
    });
}

#[test]
fn unknown_service_or_method_fails_with_names_of_served_ones() {
    with_servers(|address| {
        fails(address, &["Nothing/Check"], 1, &["'Nothing'", "breezeway.echo.v1.Echo"]);
        fails(address, &["Health/Nothing"], 1, &["no method 'Nothing'", "Check"]);
        let folder = Folder::new();
        let file = folder.path().join("other.proto");
        let proto = "syntax = \"proto3\"; message M {} service Other { rpc Call(M) returns (M); }";
        std::fs::write(&file, proto).unwrap();
        let other = ["--proto", &file.display().to_string(), "Other/Call"];
        fails(address, &other, 4, &["Other/Call failed: Unimplemented", "grpc.health.v1.Health"]);
    });
}

#[test]
fn bad_messages_fail_before_anything_is_sent() {
    with_servers(|address| {
        fails(address, &["Echo/Echo", "{"], 1, &["not JSON"]);
        fails(address, &["Echo/Echo", r#"{"nothing":1}"#], 1, &["breezeway.echo.v1", "nothing"]);
        fails(address, &["Echo/Echo", "{} {}"], 1, &["takes one message"]);
        fails(address, &["Echo"], 1, &["'Echo' is not a method"]);
    });
}

#[test]
fn server_of_another_protocol_is_refused_in_words() {
    let numbers = Serve::start(&[]);
    let address = numbers.folder.address().to_string();
    fails(&address, &["Echo/Echo", "{}"], 1, &["HTTP/2"]);
}
