//! A server's surroundings as `docs/deploy.md` describes them.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use breezeway::{Address, ExclusiveSession, SessionOptions};
use rustix::process::Signal;

use crate::support::{Folder, PATIENCE, Running, Serve, bench, breezeway, eventually};

const PAGE: &str = include_str!("../../../../docs/deploy.md");

/// The units that the page links to, by name.
const UNITS: [(&str, &str); 2] = [
    ("echo.socket", include_str!("../../../../deploy/echo.socket")),
    ("echo.service", include_str!("../../../../deploy/echo.service")),
];

mod needs_systemd {
    use super::*;

    #[test]
    #[ignore = "needs systemd-analyze: `make needs` runs it where it is"]
    fn units_are_valid() {
        let folder = Folder::new();
        for (name, text) in UNITS {
            // The program must exist.
            let text = text.replace("/usr/bin/breezeway", env!("CARGO_BIN_EXE_breezeway"));
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let mut verify = Command::new("systemd-analyze");
        verify.args(["verify", "./echo.socket", "./echo.service"]).current_dir(folder.path());
        let output = verify.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("echo."), "{said}");
    }

    /// Returns the system calls of a set of systemd's, and of the sets in it.
    fn members(set: &str) -> BTreeSet<String> {
        let mut list = Command::new("systemd-analyze");
        let output = list.args(["syscall-filter", set]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().skip(1).map(str::trim);
        let names = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        names
            .flat_map(|name| match name.starts_with('@') {
                true => members(name),
                false => BTreeSet::from([name.to_owned()]),
            })
            .collect()
    }

    #[test]
    #[ignore = "needs systemd-analyze: `make needs` runs it where it is"]
    fn listed_system_calls_are_in_system_service() {
        let service = members("@system-service");
        let others: Vec<_> =
            allowed().into_iter().filter(|&call| !service.contains(call)).collect();
        assert!(others.is_empty() && !service.is_empty(), "{others:?}");
    }
}

/// The words in backticks of the page's table of system calls.
fn allowed() -> BTreeSet<&'static str> {
    let (_, rest) = PAGE.split_once("<!-- system calls -->").expect("there is a table");
    let (table, _) = rest.split_once("<!-- end -->").expect("it ends");
    table.split('`').skip(1).step_by(2).collect()
}

/// Clients come, call with small and large messages, and go, in order and not.
fn load(places: &[Address]) {
    let options = SessionOptions::new().handshake_timeout(PATIENCE);
    for place in places {
        let connect = |_| ExclusiveSession::connect_with(place, &options).unwrap();
        let mut sessions: Vec<_> = (0..3).map(connect).collect();
        for session in &mut sessions {
            for len in [1, 40, 5_000, 3 << 20] {
                assert_eq!(session.call(0, &vec![7; len]).unwrap().to_vec().len(), len);
            }
        }
        drop(sessions);
        let mut bench = breezeway(&["bench", "--addr", &place.to_string(), "--count", "200"]);
        assert!(bench.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    }
}

/// Returns the private memory of a process in bytes.
fn private_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn freed_values_return_to_kernel_with_malloc_threshold() {
    let (_, rest) = PAGE.split_once("Environment=MALLOC_MMAP_THRESHOLD_=").expect("it is there");
    let (threshold, _) = rest.split_once('`').expect("it ends");
    let kept_with = |threshold: Option<&str>| {
        let folder = Folder::new();
        let address = folder.address().to_string();
        let mut command = breezeway(&["serve", "--protocol", "thrift", "--addr", &address]);
        command.envs(threshold.map(|bytes| ("MALLOC_MMAP_THRESHOLD_", bytes)));
        let serve = Running::start(command);
        assert_eq!(serve.line(), format!("listening on {address}"));
        let before = private_memory(serve.pid());
        let arguments = ["--protocol", "thrift", "--size", "8MiB", "--count", "3"];
        let bench = Running::start(bench(&folder.address(), &arguments));
        assert!(bench.ends_within(PATIENCE).status.success());
        let kept = || private_memory(serve.pid()).saturating_sub(before);
        if threshold.is_some() {
            // The server may still hold values when the client has ended.
            eventually("the memory is returned", || kept() < 1 << 20);
        }
        kept()
    };
    let (kept, returned) = (kept_with(None), kept_with(Some(threshold)));
    assert!(kept > 4 << 20 && returned < 1 << 20, "{kept} and {returned} bytes are kept");
}

/// Returns the number of descriptors of a process.
fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

#[test]
fn session_holds_the_descriptors_of_the_page() {
    const SESSIONS: usize = 8;
    assert!(PAGE.contains("A session holds two descriptors, under tokio and in gRPC three"));
    for (arguments, each) in
        [(vec![], 2), (vec!["--runtime", "tokio"], 3), (vec!["--protocol", "grpc"], 3)]
    {
        let serve = Serve::start(&arguments);
        let place = serve.folder.address();
        let service = if arguments.contains(&"grpc") { 2 } else { 0 };
        let options = SessionOptions::new().handshake_timeout(PATIENCE).service(service);
        let without = descriptors(serve.running.pid());
        let connect = |_| ExclusiveSession::connect_with(&place, &options).unwrap();
        let _sessions: Vec<_> = (0..SESSIONS).map(connect).collect();
        eventually("the server has its descriptors of them alone", || {
            descriptors(serve.running.pid()) == without + SESSIONS * each
        });
    }
}

mod needs_strace {
    use super::*;

    #[test]
    #[ignore = "needs strace: `make needs` runs it where it is"]
    fn server_makes_only_the_listed_system_calls() {
        for runtime in ["blocking", "tokio"] {
            let folder = Folder::new();
            let path = folder.path().display();
            let address = format!("shm:{path}/shm,unix:{path}/unix,tcp:127.0.0.1:0");
            let arguments = [
                "serve",
                "--addr",
                &address,
                "--runtime",
                runtime,
                "--workers",
                "2",
                "--take-over",
            ];
            let serve = Running::start(breezeway(&arguments));
            let line = serve.line();
            let places = line.strip_prefix("listening on ").unwrap().split(',');
            let places: Vec<Address> = places.map(|place| place.parse().unwrap()).collect();
            let trace = folder.path().join("trace");
            let mut strace = Command::new("strace");
            strace.args(["-f", "-q", "-p", &serve.pid().to_string(), "-o"]).arg(&trace);
            let mut strace = strace.stderr(Stdio::null()).spawn().unwrap();
            let traced = || {
                let status = std::fs::read_to_string(format!("/proc/{}/status", serve.pid()));
                !status.unwrap().contains("TracerPid:\t0\n")
            };
            eventually("it is traced", || {
                assert!(strace.try_wait().unwrap().is_none(), "strace must not attach");
                traced()
            });
            load(&places);
            serve.signal(Signal::TERM);
            assert!(serve.ends_within(PATIENCE).status.success());
            assert!(strace.wait().unwrap().success());
            let trace = std::fs::read_to_string(trace).unwrap();
            let name = |line: &'_ str| {
                let call = line.split_once(' ')?.1.trim_start().split_once('(')?.0.to_owned();
                call.chars().all(|char| char.is_ascii_alphanumeric() || char == '_').then_some(call)
            };
            let made: BTreeSet<String> = trace.lines().filter_map(name).collect();
            assert!(made.contains("memfd_create") && made.contains("accept4"), "{made:?}");
            let allowed = allowed();
            let others: Vec<_> = made.iter().filter(|call| !allowed.contains(&***call)).collect();
            assert!(others.is_empty(), "{runtime}: {others:?}");
        }
    }
}
