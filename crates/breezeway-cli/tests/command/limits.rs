//! `breezeway serve` under resource limits of its process (getrlimit(2)).

use std::process::{Command, Stdio};

use breezeway::{CallError, Session, SessionOptions};

use crate::support::{Folder, PATIENCE, Running, Serve, breezeway, is_one_line_of_failure};

/// The server's command under a limit, as `ulimit` takes it.
fn limited(limit: &str, address: &str) -> Command {
    let serve = breezeway(&["serve", "--cap", "512MiB", "--addr", address]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh"])
        .arg(serve.get_program())
        .args(serve.get_args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    limited
}

/// A running server under a limit, and its folder.
fn serve(limit: &str) -> Serve {
    let folder = Folder::new();
    let address = folder.address().to_string();
    let running = Running::start(limited(limit, &address));
    assert_eq!(running.line(), format!("listening on {address}"));
    Serve { running, folder }
}

#[test]
fn start_above_file_size_limit_names_it() {
    let folder = Folder::new();
    for carrier in ["unix", "shm"] {
        let address = format!("{carrier}:{}", folder.socket().display());
        // Blocks of 512 bytes.
        let output = Running::start(limited("-f 2048", &address)).ends_within(PATIENCE);
        assert!(output.stdout.is_empty(), "{output:?}");
        is_one_line_of_failure(&output, carrier, &["RLIMIT_FSIZE", "1048576 bytes", "ulimit -f"]);
    }
}

#[test]
fn segment_above_file_size_limit_fails_one_call() {
    let serve = serve("-f 32768");
    let mut session = Session::connect(&serve.folder.address()).unwrap();
    // The reply waits for memory, which never comes.
    let error = session.call(0, &vec![7; 20 << 20]).unwrap_err();
    let CallError::Failed { .. } = &error else { panic!("{error:?}") };
    assert!(error.to_string().contains("RLIMIT_FSIZE"), "{error}");
    let other = Session::connect(&serve.folder.address());
    assert_eq!(other.unwrap().call(0, b"other").unwrap().to_vec(), b"other");
    assert_eq!(session.call(0, b"again").unwrap().to_vec(), b"again");
}

#[test]
fn reply_above_address_space_limit_fails_one_call() {
    // KiB: enough for the command, its threads and one request.
    let serve = serve("-v 700000");
    let options = SessionOptions::new().cap(512 << 20);
    let mut session = Session::connect_with(&serve.folder.address(), &options).unwrap();
    let error = session.call(0, &vec![7; 400 << 20]).unwrap_err();
    assert!(error.to_string().contains("RLIMIT_AS"), "{error}");
    let other = Session::connect(&serve.folder.address());
    assert_eq!(other.unwrap().call(0, b"other").unwrap().to_vec(), b"other");
}
