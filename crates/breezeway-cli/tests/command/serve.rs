//! `breezeway serve`: the contract that scripts rely on.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{
    Folder, PATIENCE, PROMPT, Running, Serve, breezeway, eventually, refused, statuses,
};
use breezeway::{CallError, ExclusiveSession, Pool};
use rustix::process::Signal;

const EVERY_POLICY: [&str; 3] = ["busy", "adaptive", "park"];

#[test]
fn serve_accepts_once_its_address_is_printed() {
    for wait in EVERY_POLICY {
        let serve = Serve::start(&["--wait", wait]);
        let mut session = ExclusiveSession::connect(serve.folder.address()).unwrap();
        assert_eq!(session.call(0, b"hello").unwrap().to_vec(), b"hello");
    }
}

#[test]
fn sigterm_and_sigint_end_serve_with_status_0_without_socket() {
    for signal in [Signal::TERM, Signal::INT] {
        for wait in EVERY_POLICY {
            for sessions in 0..3 {
                let serve = Serve::start(&["--wait", wait, "--workers", "2"]);
                let mut sessions: Vec<_> = (0..sessions)
                    .map(|_| ExclusiveSession::connect(serve.folder.address()).unwrap())
                    .collect();
                for session in &mut sessions {
                    session.call(0, b"hello").unwrap();
                }
                serve.running.signal(signal);
                let output = serve.running.ends_within(PROMPT);
                assert!(output.status.success(), "{signal:?} {wait}: {output:?}");
                assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
                assert!(!serve.folder.socket().exists());
                for session in &mut sessions {
                    let error = session.call(0, b"hello").unwrap_err();
                    assert!(matches!(error, CallError::Closed), "{error:?}");
                }
            }
        }
    }
}

#[test]
fn predecessor_ends_once_its_clients_moved_to_the_successor() {
    for runtime in ["blocking", "tokio"] {
        let arguments = ["--take-over", "--drain", "60s", "--runtime", runtime];
        let Serve { running: mut last, folder } = Serve::start(&arguments);
        let client = Pool::connect(folder.address()).unwrap();
        for _ in 0..2 {
            client.call(0, b"hello").unwrap();
            let successor = Serve::start_at(&folder.address(), &arguments);
            let mut predecessor = std::mem::replace(&mut last, successor);
            eventually("the client moves", || {
                assert_eq!(client.call(0, b"again").unwrap().to_vec(), b"again");
                predecessor.has_ended()
            });
            assert!(predecessor.ends_within(PATIENCE).status.success());
        }
        drop(client);
        last.signal(Signal::TERM);
        assert!(last.ends_within(PROMPT).status.success());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_socket_that_a_service_manager_passes_on_is_served_and_kept() {
    let folder = Folder::new();
    let listener = std::os::unix::net::UnixListener::bind(folder.socket()).unwrap();
    let address = folder.address().to_string();
    let passed_on = "export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$@\" 3<&0 </dev/null";
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", passed_on, "sh", env!("CARGO_BIN_EXE_breezeway"), "serve"])
        .args(["--take-over", "--addr", &address])
        .stdin(std::os::fd::OwnedFd::from(listener.try_clone().unwrap()))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let running = Running::start(command);
    assert_eq!(running.line(), format!("listening on {address}"));
    let mut session = ExclusiveSession::connect(folder.address()).unwrap();
    assert_eq!(session.call(0, b"hello").unwrap().to_vec(), b"hello");
    drop(session);
    running.signal(Signal::TERM);
    assert!(running.ends_within(PROMPT).status.success());
    assert!(folder.socket().exists());
    // The manager would start it again for this one.
    let waiting = std::os::unix::net::UnixStream::connect(folder.socket()).unwrap();
    assert!(listener.accept().is_ok());
    drop(waiting);
}

#[test]
fn a_signal_in_the_middle_of_a_flood_ends_serve_with_status_0() {
    let serve = Serve::start(&[]);
    let address = serve.folder.address();
    let (sender, posted) = std::sync::mpsc::channel();
    let flood = std::thread::spawn(move || {
        let mut session = ExclusiveSession::connect(&address).unwrap();
        for number in 0u64.. {
            if session.post(2, &[7; 2000]).is_err() {
                return;
            }
            if number == 100 {
                sender.send(()).unwrap();
            }
        }
    });
    posted.recv_timeout(PATIENCE).unwrap();
    serve.running.signal(Signal::TERM);
    let output = serve.running.ends_within(PROMPT);
    assert!(output.status.success(), "{output:?}");
    assert!(!serve.folder.socket().exists());
    flood.join().unwrap();
}

#[test]
fn several_signals_are_like_one() {
    let serve = Serve::start(&[]);
    for _ in 0..5 {
        serve.running.signal(Signal::TERM);
        serve.running.signal(Signal::INT);
    }
    assert!(serve.running.ends_within(PROMPT).status.success());
}

#[test]
fn serve_acts_by_method_number() {
    let serve = Serve::start(&[]);
    let mut session = ExclusiveSession::connect(serve.folder.address()).unwrap();
    for len in [0, 1, 7, 8, 9, 104, 105, 5000, 300_000] {
        let request: Vec<u8> = (0..len).map(|index| (index % 251) as u8 + 1).collect();
        assert_eq!(session.call(0, &request).unwrap().to_vec(), request, "echo of {len}");
        let hollow = session.call(1, &request).unwrap().to_vec();
        let few = request.len().min(8);
        assert_eq!((hollow.len(), &hollow[..few]), (request.len(), &request[..few]));
    }
    // 2 counts and sums little-endian words, the last one filled up with zeros; 3 replies with
    // both.
    session.post(2, &[1, 0, 0, 0, 0, 0, 0, 0, 2]).unwrap();
    session.post(2, &[0xff; 8]).unwrap();
    session.post(2, &[]).unwrap();
    assert!(session.call(2, &5u64.to_le_bytes()).unwrap().bytes().is_empty());
    let large: Vec<u8> = (0..1000u64).flat_map(u64::to_le_bytes).collect();
    session.post(2, &large).unwrap();
    let tally = session.call(3, &[]).unwrap().to_vec();
    assert_eq!(tally.len(), 16);
    assert_eq!(tally[..8], 5u64.to_le_bytes());
    let sum = 3u64.wrapping_add(u64::MAX).wrapping_add(5).wrapping_add(499_500);
    assert_eq!(tally[8..], sum.to_le_bytes());
    // Method 4 counts like 2, but only the first 8 bytes.
    session.post(4, &large[8..]).unwrap();
    let tally = session.call(3, &[]).unwrap().to_vec();
    assert_eq!(tally, [6u64, sum.wrapping_add(1)].map(u64::to_le_bytes).concat());
    for method in [5, u32::MAX] {
        let error = session.call(method, b"?").unwrap_err().to_string();
        assert!(error.contains(&format!("no method {method}")), "{error}");
    }
    assert_eq!(session.call(0, b"still there").unwrap().to_vec(), b"still there");
}

#[test]
fn tally_counts_messages_of_all_workers() {
    let serve = Serve::start(&["--workers", "3"]);
    let mut sessions: Vec<_> =
        (0..6).map(|_| ExclusiveSession::connect(serve.folder.address()).unwrap()).collect();
    for (number, session) in sessions.iter_mut().enumerate() {
        session.call(2, &(number as u64).to_le_bytes()).unwrap();
    }
    let tally = sessions[0].call(3, &[]).unwrap().to_vec();
    assert_eq!((&tally[..8], &tally[8..]), (&6u64.to_le_bytes()[..], &15u64.to_le_bytes()[..]));
}

#[test]
fn every_thread_of_serve_is_pinned_where_it_was_asked_to() {
    let allowed = breezeway_os::cpu::allowed();
    let cpu = allowed.last().unwrap().to_string();
    let serve = Serve::start(&["--cpu", &cpu, "--workers", "2"]);
    let mut session = ExclusiveSession::connect(serve.folder.address()).unwrap();
    session.call(0, b"hello").unwrap();
    let statuses = statuses(serve.running.pid());
    assert!(statuses.len() >= 4, "main, signals, two workers");
    for status in statuses {
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some(cpu.as_str()), "{status}");
    }
}

#[test]
fn serve_without_sessions_uses_no_cpu_time_under_any_policy() {
    for wait in EVERY_POLICY {
        let serve = Serve::start(&["--wait", wait]);
        drop(ExclusiveSession::connect(serve.folder.address()).unwrap());
        let switches = || {
            statuses(serve.running.pid())
                .iter()
                .flat_map(|status| status.lines())
                .filter(|line| line.contains("ctxt_switches"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (mut seen, mut same) = (switches(), 0);
        eventually("it falls idle", || {
            let now = switches();
            same = if now == seen { same + 1 } else { 0 };
            seen = now;
            same == 50
        });
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(switches(), seen, "{wait}");
    }
}

#[test]
fn serve_takes_over_a_left_over_socket() {
    let folder = Folder::new();
    folder.leave_over();
    let serve = Serve::start_in(folder, &[]);
    assert!(ExclusiveSession::connect(serve.folder.address()).is_ok());
}

#[test]
fn serve_survives_a_closed_output() {
    let folder = Folder::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = breezeway(&["serve", "--addr", &folder.address().to_string()]);
    command.stdout(writer);
    let running = Running::start(command);
    eventually("it listens", || ExclusiveSession::connect(folder.address()).is_ok());
    running.signal(Signal::TERM);
    assert!(running.ends_within(PROMPT).status.success());
}

#[test]
fn every_option_goes_with_shmipc_or_is_refused() {
    let folder = Folder::new();
    let address = format!("shmipc:{}", folder.socket().display());
    for (option, value) in [
        ("--workers", "2"),
        ("--max-memory", "1GiB"),
        ("--max-memory-of-user", "1GiB"),
        ("--max-calls-in-flight", "9"),
        ("--spin-bound", "1us"),
        ("--cap", "1MiB"),
        ("--prefault", "1MiB"),
        ("--shrink-after", "1s"),
        ("--ring-capacity", "16"),
        ("--call-timeout", "1s"),
    ] {
        let words = [option, "does nothing for a shmipc: address"];
        refused(&["serve", "--addr", &address, option, value], &words);
        if option != "--workers" && !option.starts_with("--max-") {
            refused(&["bench", "--addr", &address, option, value], &words);
        }
    }
    let tcp = "shmipc:tcp:127.0.0.1:0";
    let own = ["--files-of-unknown-users", "--folder", "/dev/shm/own"];
    refused(
        &[&["serve", "--addr", tcp, "--socket-mode", "600"], &own[..]].concat(),
        &["--socket-mode", "no socket file"],
    );
    refused(&["serve", "--addr", &address, "--folder", "shm"], &["shm is not an absolute path"]);
    let shm = folder.address().to_string();
    let words = ["goes with a shmipc: address only"];
    for arguments in [&["--folder", "/dev/shm"][..], &["--keep-files"], &own] {
        refused(&[&["serve", "--addr", &shm], arguments].concat(), &words);
    }
    for arguments in [&["--memory", "memfd"][..], &["--prefix", "/dev/shm/x"]] {
        refused(&[&["bench", "--addr", &shm], arguments].concat(), &words);
    }
}

#[test]
fn files_over_tcp_need_the_flag_and_a_folder() {
    let serve = ["serve", "--addr", "shmipc:tcp:127.0.0.1:0"];
    let risk = ["--files-of-unknown-users", "--folder", "clients of other servers"];
    refused(&serve, &risk);
    refused(&[&serve[..], &["--folder", "/dev/shm"]].concat(), &risk);
    let without_folder = [&serve[..], &["--files-of-unknown-users"]].concat();
    refused(&without_folder, &["--folder <DIR>", "; see breezeway serve --help"]);
    for common in ["/dev/shm", "/dev/shm/.", "/"] {
        let folder = [&without_folder[..], &["--folder", common]].concat();
        refused(&folder, &["of this server's own", "/dev/shm/NAME"]);
    }
}

#[test]
fn options_apply_to_shmipc() {
    let folder = Folder::new();
    let address = format!("shmipc:{}", folder.socket().display());
    let mut command = breezeway(&["serve", "--addr", &address, "--socket-mode", "640"]);
    command.args(["--max-sessions", "1", "--handshake-timeout", "1s"]);
    let serve = Running::start(command);
    assert_eq!(serve.line(), format!("listening on {address}"));
    let mode = std::fs::metadata(folder.socket()).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o640);
    // Nothing is sent: the server closes within its time limit.
    let mut silent = std::os::unix::net::UnixStream::connect(folder.socket()).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(std::io::Read::read(&mut silent, &mut [0]).unwrap(), 0);
    let bench = ["bench", "--addr", &address, "--sessions", "2", "--count", "10"];
    // shmipc has no refusal: the client sees the end in its handshake, or at its first message.
    refused(&bench, &["closed the"]);
    serve.signal(Signal::TERM);
    let output = serve.ends_within(PROMPT);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("handshake in time") && said.contains("max_sessions"), "{said}");
}

#[test]
fn log_option_overrides_the_environment() {
    let folder = Folder::new();
    let address = format!("shmipc:{}", folder.socket().display());
    let says = |option: &[&str], own: &str, common: &str, expected: &[&str]| {
        let mut command = breezeway(&["serve", "--addr", &address]);
        command.args(option).env("BREEZEWAY_LOG", own).env("RUST_LOG", common);
        if own.is_empty() {
            command.env_remove("BREEZEWAY_LOG");
        }
        let serve = Running::start(command);
        serve.line();
        // A connection without a byte is logged at debug, and one that does not speak shmipc as a
        // warning.
        for bytes in [&b""[..], b"GET / HTTP/1.1"] {
            let mut stranger = std::os::unix::net::UnixStream::connect(folder.socket()).unwrap();
            std::io::Write::write_all(&mut stranger, bytes).unwrap();
            stranger.shutdown(std::net::Shutdown::Write).unwrap();
            // The server hangs up without an answer, if need be with bytes unread.
            let _ = std::io::Read::read_to_end(&mut stranger, &mut Vec::new());
        }
        let lines: Vec<_> = expected.iter().map(|_| serve.complaint()).collect();
        for level in expected {
            assert!(lines.iter().any(|line| line.contains(level)), "no {level} in {lines:?}");
        }
        serve.signal(Signal::TERM);
        let rest = serve.ends_within(PROMPT).stderr;
        assert!(rest.is_empty(), "{rest:?}");
    };
    says(&[], "", "", &["WARN"]);
    says(&[], "", "breezeway_shmipc=debug", &["DEBUG", "WARN"]);
    says(&[], "off", "debug", &[]);
    says(&["--log", "breezeway_shmipc=debug"], "off", "off", &["DEBUG", "WARN"]);
    says(&["--log", "warn,breezeway_shmipc=off"], "", "", &[]);
    for bad in ["loud", "breezeway_shmipc", "breezeway_shmipc=loud", "warn,"] {
        refused(&["serve", "--addr", &address, "--log", bad], &["--log", "target=level"]);
    }
}

#[test]
fn client_beyond_max_memory_is_refused_with_serves_option() {
    for option in ["--max-memory", "--max-memory-of-user"] {
        // Less than a session's own control segment takes.
        let serve = Serve::start(&[option, "4KiB"]);
        let refused =
            ExclusiveSession::connect(serve.folder.address()).map(drop).unwrap_err().to_string();
        let name = option.trim_start_matches("--").replace('-', "_");
        let words = format!("of the 4096 bytes that the server's {name} ");
        assert!(refused.contains(&words), "{refused}");
    }
}

#[test]
fn invalid_options_are_refused_by_name() {
    let folder = Folder::new();
    let address = folder.address().to_string();
    let with = |arguments: &[&str], words: &[&str]| {
        refused(&[&["serve", "--addr", &address], arguments].concat(), words);
    };
    refused(&["serve"], &["--addr"]);
    for bad in ["nonsense", "", "http://localhost", "/tmp/echo.sock"] {
        refused(&["serve", "--addr", bad], &["--addr", "shm:/path/to.sock"]);
    }
    refused(&["serve", "--addr", "shmipc:"], &["not a shmipc address"]);
    refused(&["serve", "--addr", "tcp:localhost"], &["tcp:host:port"]);
    refused(&["serve", "--addr", "unix:"], &["lacks a path"]);
    refused(&["serve", "--addr", "shm:"], &["lacks a path"]);
    refused(&["serve", "--addr", &format!("shm:/{}", "x".repeat(200))], &["201 bytes"]);
    refused(&["serve", "--addr", "shm:/no/such/folder/x.sock"], &["/no/such/folder/x.sock"]);
    with(&["--workers", "0"], &["workers"]);
    with(&["--workers", "100000"], &["workers"]);
    with(&["--workers", "-1"], &["-1"]);
    with(&["--workers", "99999999999999999999999"], &["99999999999999999999999"]);
    with(&["--cap", "0"], &["cap"]);
    with(&["--cap", "99999999999999999"], &["cap", "TiB"]);
    with(&["--cap", "64 frogs"], &["64 frogs", "64MiB"]);
    with(&["--cpu", "99999"], &["cpu 99999", "allowed"]);
    with(&["--cpu", "18446744073709551615"], &["18446744073709551615", "allowed"]);
    with(&["--wait", "never"], &["never"]);
    with(&["--no-such-option"], &["--no-such-option"]);
    with(&["surplus"], &["surplus"]);
    assert!(!folder.socket().exists());
}

#[test]
fn missing_folder_is_named_with_remedy() {
    let folder = Folder::new();
    for carrier in ["shm", "unix", "shmipc"] {
        let path = folder.path().join("missing/it.sock").display().to_string();
        let address = format!("{carrier}:{path}");
        let words = [&path[..], "does not exist; create it"];
        refused(&["serve", "--addr", &address], &words);
        if carrier != "shmipc" {
            refused(&["serve", "--addr", &address, "--take-over"], &words);
        }
    }
}

#[test]
fn serve_refuses_an_address_that_is_taken() {
    let serve = Serve::start(&[]);
    let address = serve.folder.address().to_string();
    refused(&["serve", "--addr", &address], &["in use by a running server", &address[4..]]);
    assert!(ExclusiveSession::connect(serve.folder.address()).is_ok());
    let folder = Folder::new();
    std::fs::write(folder.socket(), "precious").unwrap();
    refused(&["serve", "--addr", &folder.address().to_string()], &["is not a socket"]);
    assert_eq!(std::fs::read(folder.socket()).unwrap(), b"precious");
}

/// Soft and hard limit of open files of a process.
fn open_files(pid: u32) -> (String, String) {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let mut words = line.split_whitespace().skip(3).map(str::to_owned);
    (words.next().unwrap(), words.next().unwrap())
}

#[test]
fn serve_raises_its_soft_limit_of_open_files_to_the_hard_one() {
    let folder = Folder::new();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -Sn 40; ulimit -Hn 200; exec \"$0\" serve --addr \"$1\""]);
    shell.arg(breezeway(&[]).get_program()).arg(folder.address().to_string());
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let running = Running::start(shell);
    assert!(running.line().starts_with("listening on"));
    assert_eq!(open_files(running.pid()), ("200".to_owned(), "200".to_owned()));
    // More than the soft limit would have allowed.
    let mut sessions: Vec<_> =
        (0..40).map(|_| ExclusiveSession::connect(folder.address()).unwrap()).collect();
    for session in &mut sessions {
        assert_eq!(session.call(0, b"hello").unwrap().to_vec(), b"hello");
    }
}

#[test]
fn log_level_option_sets_the_verbosity() {
    let denied = |arguments: &[&str]| {
        let serve = Serve::start(&[&["--max-sessions", "1"], arguments].concat());
        let mut session = ExclusiveSession::connect(serve.folder.address()).unwrap();
        session.call(0, b"hello").unwrap();
        assert!(ExclusiveSession::connect(serve.folder.address()).is_err());
        drop(session);
        serve.running.signal(Signal::TERM);
        String::from_utf8(serve.running.ends_within(PROMPT).stderr).unwrap()
    };
    assert!(denied(&[]).contains("WARN"));
    assert_eq!(denied(&["--log", "off"]), "");
    assert_eq!(denied(&["--log", "error"]), "");
    assert!(denied(&["--log", "debug"]).contains("WARN"));
    refused(&["serve", "--addr", "shm:/tmp/x", "--log", "loud"], &["loud", "--log", "warn"]);
}

#[test]
fn server_and_session_events_are_logged() {
    for runtime in ["blocking", "tokio"] {
        let folder = Folder::new();
        let address = folder.address().to_string();
        let arguments =
            ["serve", "--addr", &address, "--take-over", "--drain", "60s", "--runtime", runtime];
        let start = || {
            let mut command = breezeway(&arguments);
            command.env_remove("BREEZEWAY_LOG").env("RUST_LOG", "debug");
            let serve = Running::start(command);
            serve.line();
            serve
        };
        let serve = start();
        let says = |words: [&str; 2]| loop {
            let line = serve.complaint();
            if words.iter().all(|word| line.contains(word)) {
                break;
            }
        };
        says(["INFO", "server started"]);
        let mut session = ExclusiveSession::connect(folder.address()).unwrap();
        session.call(0, b"hello").unwrap();
        says(["DEBUG", "session started"]);
        drop(session);
        says(["DEBUG", "session closed"]);
        let mut stranger = std::os::unix::net::UnixStream::connect(folder.socket()).unwrap();
        std::io::Write::write_all(&mut stranger, b"GET / HTTP/1.1").unwrap();
        says(["INFO", "no session"]);
        let bench = Running::start(breezeway(&["bench", "--addr", &address, "--seconds", "600"]));
        says(["DEBUG", "session started"]);
        drop(bench);
        says(["WARN", "session ended"]);
        let _successor = start();
        says(["INFO", "a successor has taken over"]);
        says(["INFO", "server stopped"]);
        assert!(serve.ends_within(PATIENCE).status.success());
    }
}

#[test]
fn log_at_trace_has_no_bytes_of_messages() {
    for runtime in ["blocking", "tokio"] {
        let serve = Serve::start(&["--log", "trace", "--runtime", runtime]);
        let mut session = ExclusiveSession::connect(serve.folder.address()).unwrap();
        for times in [1, 5, 12, 1_000, 100_000] {
            let body = b"WITNESS.".repeat(times);
            session.post(0, &body).unwrap();
            assert_eq!(session.call(0, &body).unwrap().to_vec(), body);
        }
        drop(session);
        serve.running.signal(Signal::TERM);
        let log = String::from_utf8(serve.running.ends_within(PATIENCE).stderr).unwrap();
        assert!(log.contains("session started"), "{log}");
        let as_numbers = "87, 73, 84, 78"; // "WITN"
        assert!(!log.contains("WITN") && !log.contains(as_numbers), "{runtime}: {log}");
    }
}

/// Returns head and body of what an HTTP server answers.
fn get(at: &str, path: &str) -> (String, String) {
    let mut socket = TcpStream::connect(at).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Returns the address in the line that announces figures.
fn place_of_metrics(serve: &Running) -> String {
    let line = serve.line();
    let url = line.strip_prefix("metrics at http://").unwrap();
    url.strip_suffix("/metrics").unwrap().to_owned()
}

#[test]
fn metrics_option_serves_figures_by_http() {
    let folder = Folder::new();
    let address = folder.address().to_string();
    let arguments = ["serve", "--take-over", "--addr", &address, "--metrics"];
    let start = |at: &str| {
        let mut command = breezeway(&arguments);
        command.arg(at);
        Running::start(command)
    };
    let serve = start("127.0.0.1:0");
    let at = place_of_metrics(&serve);
    assert_eq!(serve.line(), format!("listening on {address}"));
    let mut session = ExclusiveSession::connect(folder.address()).unwrap();
    for _ in 0..62 {
        session.call(0, b"hello").unwrap();
    }
    // A scraper that sends nothing delays no other.
    let _silent = TcpStream::connect(&at).unwrap();
    let (head, body) = get(&at, "/metrics");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    for line in [
        "breezeway_sessions{role=\"server\"} 1",
        "breezeway_calls_received_total{role=\"server\"} 62",
        "breezeway_bytes_received_total{role=\"server\"} 310",
    ] {
        assert!(body.lines().any(|other| other == line), "{line} is not in {body}");
    }
    assert!(body.contains("\nbreezeway_handler_seconds_bucket{"), "{body}");
    assert!(get(&at, "/").0.starts_with("HTTP/1.1 404 "));
    let elsewhere = format!("{address}-2");
    refused(&["serve", "--addr", &elsewhere, "--metrics", &at], &["--metrics", "in use"]);
    refused(
        &["serve", "--addr", &elsewhere, "--metrics", "here"],
        &["--metrics", "socket address"],
    );
    // A successor has the same port.
    let successor = start(&at);
    assert_eq!(place_of_metrics(&successor), at);
    drop(session);
    assert!(serve.ends_within(PATIENCE).status.success());
    assert!(get(&at, "/metrics").0.starts_with("HTTP/1.1 200 OK\r\n"));
    successor.signal(Signal::TERM);
    assert!(successor.ends_within(PROMPT).status.success());
}
