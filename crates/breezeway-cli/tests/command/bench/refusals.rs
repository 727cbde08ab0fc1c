//! A bench that cannot be run: refused at once, in one line with the remedy.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::report::json;
use crate::support::{Folder, Serve, bench, breezeway, refused, refused_command};

#[test]
fn invalid_options_are_refused_by_name() {
    let serve = Serve::start(&["--cap", "1048576"]);
    let address = serve.folder.address().to_string();
    let with = |arguments: &[&str], words: &[&str]| {
        refused(&[&["bench", "--addr", &address], arguments].concat(), words);
    };
    refused(&["bench"], &["--addr"]);
    for bad in ["nonsense", "", "unix:", "shm:"] {
        refused(&["bench", "--addr", bad], &["--addr", "shm:/path/to.sock"]);
    }
    refused(&["bench", "--addr", "tcp:localhost"], &["--addr", "tcp:host:port"]);
    for (option, values) in [
        ("--size", &["-1", "many", "1.5", "18446744073709551616", "64 frogs", "KiB"][..]),
        ("--count", &["0", "-1", "1.5", "18446744073709551616"]),
        ("--seconds", &["0", "-1", "nan", "inf", "1e300", "soon"]),
        ("--rate", &["0", "-1", "nan", "inf", "1e300"]),
        ("--depth", &["0", "-1", "32769", "4294967296"]),
        ("--batch", &["0", "-1", "1000001"]),
        ("--sessions", &["0", "-1", "1025"]),
        ("--cap", &["-1", "18446744073709551616", "64 frogs"]),
        ("--wait", &["never"]),
        ("--touch", &["some"]),
        ("--pattern", &["zigzag"]),
        ("--cpu", &["-1", "first"]),
    ] {
        for value in values {
            with(&[option, value], &[value]);
        }
    }
    with(&["--cap", "0"], &["cap"]);
    with(&["--cap", "18446744073709551615"], &["cap"]);
    for size in ["1099511627777", "20EiB", "18446744073709551616B"] {
        with(&["--size", size], &[size, "at most 1 TiB"]);
    }
    with(&["--cpu", "99999"], &["cpu 99999", "allowed"]);
    with(&["--count", "1", "--seconds", "1"], &["--count", "--seconds"]);
    with(&["--rate", "1", "--depth", "2"], &["--rate", "--depth"]);
    with(&["--rate", "1", "--pattern", "one-way"], &["--rate"]);
    for option in [&["--rate", "1"][..], &["--depth", "2"], &["--sessions", "2"]] {
        with(&[&["--pattern", "cold"], option].concat(), &[option[0], "--pattern"]);
    }
    with(&["--pattern", "cold", "--touch", "none"], &["--touch none", "--pattern cold"]);
    with(&["--no-such-option"], &["--no-such-option"]);
    with(&["--depth", "1000", "--count", "1"], &["--depth 1000", "512"]);
}

#[test]
fn size_above_cap_is_refused_with_the_cap_and_its_options() {
    let serve = Serve::start(&["--cap", "1048576"]);
    let address = serve.folder.address().to_string();
    for pattern in ["ping-pong", "one-way"] {
        for (arguments, cap) in [
            (&["--size", "1048577"][..], "1048576"),
            (&["--size", "1099511627776"], "1048576"),
            (&["--size", "8193", "--cap", "8192"], "8192"),
        ] {
            let common = ["bench", "--addr", &address, "--pattern", pattern];
            let words = ["--size", arguments[1], cap, "raise --cap"];
            refused(&[&common, arguments].concat(), &words);
        }
    }
    let report = json(&serve, &["--size", "1048576", "--count", "3"]);
    assert_eq!(report["count"], 3);
}

#[test]
fn missing_server_is_named_with_remedy() {
    let folder = Folder::new();
    let address = folder.address().to_string();
    refused(&["bench", "--addr", &address], &[&address[4..], "start the server"]);
    folder.leave_over();
    refused(&["bench", "--addr", &address], &[&address[4..], "left-over"]);
    std::fs::remove_file(folder.socket()).unwrap();
    std::fs::write(folder.socket(), "no socket").unwrap();
    refused(&["bench", "--addr", &address], &[&address[4..], "is not a socket"]);
}

#[test]
fn server_of_another_protocol_is_named_with_remedy() {
    let serve = Serve::start(&[]);
    let address = serve.folder.address().to_string();
    let thrift = ["bench", "--addr", &address, "--protocol", "thrift"];
    refused(&thrift, &["does not serve the echo of Thrift", "breezeway serve --protocol thrift"]);
    let serve = Serve::start(&["--protocol", "thrift"]);
    refused_command(serve.bench(&[]), &["does not serve calls by number", "--protocol"]);
}

#[test]
fn plain_address_of_another_form_is_refused_with_the_forms() {
    for side in ["serve", "bench"] {
        let plain = ["plain", side, "--size", "8", "--addr", "shm:/it.sock"];
        let plain =
            if side == "serve" { [&plain[..2], &plain[4..]].concat() } else { plain.into() };
        refused(&plain, &["'shm:/it.sock'", "is not an address: write unix:/path/to.sock or tcp:"]);
    }
}

mod needs_root {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    #[ignore = "needs root: `make needs` runs it where there is"]
    fn refused_permission_is_named_with_remedy() {
        let folder = Folder::new();
        folder.open_to_others();
        let serve = Serve::start_in(folder, &[]);
        let path = serve.folder.socket();
        let (_binary, command) = by_stranger(&serve.bench(&[]));
        refused_command(command, &["no permission", path.to_str().unwrap(), "write permission"]);
        let address = format!("{}2", serve.folder.address());
        let (_binary, command) = by_stranger(&breezeway(&["serve", "--addr", &address]));
        refused_command(command, &["ermission denied"]);
    }

    /// Runs the same as another user, without access to the folder of the binary. The binary is
    /// named by a descriptor, which has to be open until the command has started.
    fn by_stranger(command: &Command) -> (File, Command) {
        const STRANGER: u32 = 12_345;
        let binary = File::open(command.get_program()).unwrap();
        let mut stranger = Command::new(format!("/proc/self/fd/{}", binary.as_raw_fd()));
        stranger.args(command.get_args()).env_remove("RUST_BACKTRACE").uid(STRANGER).gid(STRANGER);
        stranger.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        (binary, stranger)
    }
}

/// Starts a server of another protocol, which handles each connection with `act`.
fn other_server(folder: &Folder, act: impl Fn(UnixStream, &mut Vec<UnixStream>) + Send + 'static) {
    let listener = UnixListener::bind(folder.socket()).unwrap();
    // It ends with the test process; the bench is long done by then.
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for connection in listener.incoming().map_while(Result::ok) {
            act(connection, &mut kept);
        }
    });
}

#[test]
fn a_server_that_speaks_something_else_is_named_in_one_line() {
    for answer in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        vec![0, 0, 0, 8, 0x77, 0x58, 3, 4],
        vec![0xff; 5000],
        b"\x1b[31mred\n\x07".to_vec(),
    ] {
        let folder = Folder::new();
        other_server(&folder, move |mut connection, kept| {
            let _ = connection.write_all(&answer);
            kept.push(connection);
        });
        refused_command(bench(&folder.address(), &[]), &["does not speak Breezeway"]);
    }
    let folder = Folder::new();
    other_server(&folder, |connection, _| drop(connection));
    refused_command(bench(&folder.address(), &[]), &["Breezeway"]);
    let folder = Folder::new();
    other_server(&folder, |mut connection, _| {
        let _ = connection.read(&mut [0; 100]);
    });
    refused_command(bench(&folder.address(), &[]), &["Breezeway"]);
}

#[test]
fn a_silent_server_is_given_up_in_time() {
    let folder = Folder::new();
    other_server(&folder, |connection, kept| kept.push(connection));
    refused_command(by_default(bench(&folder.address(), &[])), &["no answer", "Breezeway"]);
}

/// Sets the default time for hellos.
fn by_default(mut command: Command) -> Command {
    command.env_remove("BREEZEWAY_HANDSHAKE_TIMEOUT");
    command
}

#[test]
fn a_server_that_stands_still_is_given_up_in_time() {
    let serve = Serve::start(&[]);
    serve.running.signal(Signal::STOP);
    refused_command(by_default(serve.bench(&[])), &["hangs"]);
}

#[test]
fn sessions_beyond_open_files_are_refused_with_that_limit() {
    let serve = Serve::start(&[]);
    let mut shell = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_breezeway");
    shell
        .args(["-c", "ulimit -n 30; exec \"$0\" \"$@\"", program, "bench", "--addr"])
        .arg(serve.folder.address().to_string())
        .args(["--sessions", "100", "--count", "100"])
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    refused_command(shell, &["open files"]);
}
