//! `breezeway serve` under resource limits of its process (getrlimit(2)).

use std::process::{Command, Stdio};

use breezeway::{CallError, ExclusiveSession, SessionOptions, describe};

use crate::support::{Folder, PATIENCE, Running, Serve, breezeway, is_one_line_of_failure};

/// The server's command under a limit, as `ulimit` takes it.
fn limited(limit: &str, address: &str) -> Command {
    let serve = breezeway(&["serve", "--cap", "512MiB", "--addr", address]);
    let mut limited = Command::new("sh");
    // More arenas are a matter of luck, and can be done without.
    limited
        .env("MALLOC_ARENA_MAX", "1")
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
    let mut session = ExclusiveSession::connect(serve.folder.address()).unwrap();
    // The reply waits for memory, which never comes.
    let error = session.call(0, &vec![7; 20 << 20]).unwrap_err();
    let CallError::Failed { .. } = &error else { panic!("{error:?}") };
    assert!(describe(&error).contains("RLIMIT_FSIZE"), "{error}");
    let other = ExclusiveSession::connect(serve.folder.address());
    assert_eq!(other.unwrap().call(0, b"other").unwrap().to_vec(), b"other");
    assert_eq!(session.call(0, b"again").unwrap().to_vec(), b"again");
}

#[test]
fn reply_above_address_space_limit_fails_one_call() {
    // KiB: enough for the command, its threads and one request.
    let serve = serve("-v 700000");
    let options = SessionOptions::new().cap(512 << 20);
    let mut session = ExclusiveSession::connect_with(serve.folder.address(), &options).unwrap();
    let error = session.call(0, &vec![7; 400 << 20]).unwrap_err();
    assert!(describe(&error).contains("RLIMIT_AS"), "{error}");
    let other = ExclusiveSession::connect(serve.folder.address());
    assert_eq!(other.unwrap().call(0, b"other").unwrap().to_vec(), b"other");
}

/// The option of `ulimit`, the name that an error must contain, and values; the first one is too
/// small and the last enough.
type Limit = (&'static str, &'static str, Vec<u64>);

fn swept() -> [Limit; 4] {
    [
        ("-n", "ulimit -n", [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 32, 64].into()),
        ("-v", "RLIMIT_AS", address_space()),
        // Blocks of 512 bytes.
        ("-f", "RLIMIT_FSIZE", [0, 1, 8, 256, 2_048, 8_192, 12_296, 16_384, 65_536].into()),
        // A session always works without locked memory.
        ("-l", "RLIMIT_MEMLOCK", [0, 8, 64].into()),
    ]
}

/// KiB of address space around those that this build of the server takes to start.
fn address_space() -> Vec<u64> {
    let folder = Folder::new();
    let mut command = breezeway(&["serve", "--cap", "512MiB", "--addr"]);
    command.arg(folder.address().to_string()).env("MALLOC_ARENA_MAX", "1");
    let running = Running::start(command);
    running.line();
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap();
    let peak: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    // With much less, the program itself may fail before it takes a server's memory.
    let around = (0..=14).map(|mebibytes| peak - 10 * 1024 + mebibytes * 1024);
    [peak / 4].into_iter().chain(around).chain([4 * peak]).collect()
}

/// Returns true if the program itself starts under a limit.
fn starts(limit: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh"]);
    command.arg(breezeway(&[]).get_program()).arg("--version");
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn start_under_each_limit_names_it_or_serves() {
    for (option, name, values) in swept() {
        let mut outcomes = Vec::new();
        for value in values {
            let limit = format!("{option} {value}");
            if !starts(&limit) {
                outcomes.push(false);
                continue;
            }
            for carrier in ["unix", "shm"] {
                let folder = Folder::new();
                let address = format!("{carrier}:{}", folder.socket().display());
                let what = format!("ulimit {limit}, {carrier}");
                let mut running = Running::start(limited(&limit, &address));
                if running.line_or_end().is_none() {
                    let output = running.ends_within(PATIENCE);
                    is_one_line_of_failure(&output, &what, &[name]);
                    outcomes.push(false);
                    continue;
                }
                let options = SessionOptions::new().handshake_timeout(PATIENCE);
                let address: breezeway::Address = address.parse().unwrap();
                match ExclusiveSession::connect_with(&address, &options) {
                    Ok(mut session) => {
                        let reply = session.call(0, b"x").map(|reply| reply.to_vec());
                        assert!(reply.is_ok_and(|reply| reply == b"x"), "{what}");
                        outcomes.push(true);
                    }
                    Err(error) => panic!("{what}: {error}"),
                }
                assert!(!running.has_ended(), "{what}");
            }
        }
        assert_eq!(outcomes.last(), Some(&true), "ulimit {option}");
        assert!(outcomes.contains(&false) || option == "-l", "ulimit {option}");
    }
}

#[test]
fn request_above_address_space_limit_fails_one_call() {
    // KiB: enough for the command and its threads, and too little for the request.
    for carrier in ["unix", "tcp", "shm"] {
        let folder = Folder::new();
        let address = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            _ => format!("{carrier}:{}", folder.socket().display()),
        };
        let running = Running::start(limited("-v 500000", &address));
        let line = running.line();
        let address = line.strip_prefix("listening on ").unwrap();
        let options = SessionOptions::new().cap(512 << 20).handshake_timeout(PATIENCE);
        let options = options.call_timeout(Some(PATIENCE));
        let mut session = ExclusiveSession::connect_with(address, &options).unwrap();
        let len = if carrier == "shm" { 300 << 20 } else { 450 << 20 };
        let error = session.call(0, &vec![7; len]).map(drop).unwrap_err();
        assert!(describe(&error).contains("RLIMIT_AS"), "{carrier}: {error}");
        assert_eq!(session.call(0, b"again").unwrap().to_vec(), b"again", "{carrier}");
        let mut other = ExclusiveSession::connect(address).unwrap();
        assert_eq!(other.call(0, b"other").unwrap().to_vec(), b"other", "{carrier}");
    }
}
