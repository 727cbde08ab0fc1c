//! `breezeway inspect`: its report about processes that do not help it.

use std::process::Command;
use std::time::{Duration, Instant};

use breezeway::{ExclusiveSession, Session};
use breezeway_shmipc::{Client, ClientOptions, Trust};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Folder, Running, breezeway, is_one_line_of_failure, refused, run};

/// Stops a process, and waits until all of it has stopped.
fn suspend(running: &Running) {
    running.signal(Signal::STOP);
    let stat = format!("/proc/{}/stat", running.pid());
    let until = Instant::now() + Duration::from_secs(30);
    while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
        assert!(Instant::now() < until, "it does not stop");
        std::thread::yield_now();
    }
}

fn inspect(arguments: &[&str]) -> String {
    let output = run(&[&["inspect"], arguments].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A server of shmipc:, and a client of it in this process.
struct Served {
    running: Running,
    client: Client,
    _folder: Folder,
}

impl Served {
    fn start() -> Self {
        let folder = Folder::new();
        let address = format!("shmipc:{}", folder.socket().display());
        let running = Running::start(breezeway(&["serve", "--addr", &address]));
        assert_eq!(running.line(), format!("listening on {address}"));
        let options = ClientOptions::new(Trust::SameUser);
        let client = Client::connect(&address.parse().unwrap(), options).unwrap();
        Self { running, client, _folder: folder }
    }

    fn inspect(&self, arguments: &[&str]) -> String {
        let pid = self.running.pid().to_string();
        inspect(&[&[&*pid], arguments].concat())
    }
}

#[test]
fn suspended_server_is_shown_with_its_queues() {
    let served = Served::start();
    let mut stream = served.client.open().unwrap();
    stream.send(b"first").unwrap();
    assert_eq!(stream.peek_at_least(5).unwrap().unwrap().to_vec(), b"first");
    suspend(&served.running);
    for _ in 0..3 {
        stream.send(b"more").unwrap();
    }
    let id = stream.id();
    drop(stream);
    let report: Value = serde_json::from_str(&served.inspect(&["--json"])).unwrap();
    assert_eq!(
        (&report["pid"], &report["program"]),
        (&served.running.pid().into(), &"breezeway".into())
    );
    let queue = &report["shmipc"]["queues"][0];
    let ring = &queue["to_server"];
    assert_eq!((&ring["put"], &ring["taken"], &ring["depth"]), (&5.into(), &1.into(), &4.into()));
    let closing: Vec<_> = ring["waiting"].as_array().unwrap().iter().collect();
    assert!(closing.iter().all(|element| element["stream"] == id), "{ring}");
    let closes: Vec<_> = closing.iter().map(|element| element["closes"] == true).collect();
    assert_eq!(closes, [false, false, false, true]);
    assert_eq!((&queue["to_client"]["put"], &queue["to_client"]["depth"]), (&1.into(), &0.into()));
    let lists = report["shmipc"]["buffers"][0]["lists"].as_array().unwrap();
    let sizes: Vec<_> = lists.iter().map(|list| list["slice_size"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [8172, 32748, 131_052]);
    for list in lists {
        assert_eq!((&list["whole"], &list["reachable"]), (&true.into(), &list["free"]), "{list}");
    }
    assert_eq!(lists[1]["free"], 307);

    let text = served.inspect(&[]);
    for line in [
        "(breezeway): no sessions\n",
        "  to server  4 of 8192 wait, 5 put, 1 taken, ",
        &format!("    stream {id} closes\n"),
        "  to client  0 of 8192 wait, 1 put, 1 taken, ",
        "  slices of 32748 B  307 of 307 free, 307 in the list, whole\n",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    served.running.signal(Signal::CONT);
}

#[test]
fn unshowable_process_is_refused_in_one_line() {
    refused(&["inspect", "4294967295"], &["no process 4294967295"]);
    refused(&["top", "4294967295"], &["no process 4294967295"]);
    refused(&["top"], &["not a terminal", "--once", "--json"]);
    refused(&["top", "--every", "soon"], &["soon", "; see breezeway top --help"]);
    refused(&["top", "--every", "49ms"], &["not 50ms or more", "; see breezeway top --help"]);
    refused(&["inspect", "0"], &["0", "; see breezeway inspect --help"]);
    for command in [&["inspect", "greeter"][..], &["top", "greeter"], &["dump", "greeter", "1"]] {
        refused(command, &["'greeter' is not a process id", "pidof"]);
    }
    refused(&["inspect", "--session", "1"], &["PID", "; see breezeway inspect --help"]);
    let output = run(&["inspect", &std::process::id().to_string()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.starts_with("process "), "{text}");
}

mod needs_root {
    use super::*;

    /// As root in a container inspects a process outside of it.
    #[test]
    #[ignore = "needs root: `make needs` runs it where there is root"]
    fn process_with_more_privileges_is_refused_with_remedy() {
        let process = Running::start(breezeway(&["serve", "--addr", "tcp:127.0.0.1:0"]));
        process.line();
        let mut inspect = Command::new("setpriv");
        inspect.args(["--bounding-set=-all", env!("CARGO_BIN_EXE_breezeway"), "inspect"]);
        let output = inspect.arg(process.pid().to_string()).output().unwrap();
        let words = ["another user's or has more privileges", "root with CAP_SYS_PTRACE"];
        is_one_line_of_failure(&output, "inspect", &words);
    }
}

#[test]
fn sessions_of_a_stopped_server_are_shown_on_every_carrier() {
    let folder = Folder::new();
    let (shm, unix) = (folder.path().join("shm"), folder.path().join("unix"));
    let address = format!("shm:{},unix:{},tcp:127.0.0.1:0", shm.display(), unix.display());
    let running = Running::start(breezeway(&["serve", "--addr", &address, "--wait", "park"]));
    let listening = running.line();
    let places = listening.strip_prefix("listening on ").unwrap().split(',');
    let mut sessions: Vec<_> =
        places.map(|place| ExclusiveSession::connect(place).unwrap()).collect();
    for session in &mut sessions {
        for len in [40, 5_000] {
            session.call(0, &vec![7; len]).unwrap();
        }
    }
    let pid = running.pid().to_string();
    let asleep = |report: &Value| report["native"]["workers"][0]["asleep_ns"].is_u64();
    let until = Instant::now() + Duration::from_secs(30);
    let report = || serde_json::from_str(&inspect(&[&pid, "--json"])).unwrap();
    while !asleep(&report()) {
        assert!(Instant::now() < until, "{}", report());
    }
    suspend(&running);
    sessions[0].send(0, b"nobody takes this").unwrap();

    let report: Value = report();
    assert_eq!(report["shmipc"]["queues"], Value::Array(vec![]));
    let shown = report["native"]["sessions"].as_array().unwrap();
    let carriers: Vec<_> = shown.iter().map(|session| &session["carrier"]).collect();
    assert_eq!(carriers, ["shm", "unix", "tcp"]);
    for session in shown {
        let counts = &session["counts"];
        assert_eq!((&session["role"], &session["policy"]), (&"server".into(), &"park".into()));
        assert_eq!((&counts["calls_received"], &counts["ends_sent"]), (&2.into(), &2.into()));
        assert_eq!(counts["bytes_received"], 5_040, "{session}");
    }
    assert_eq!(shown[0]["peer_pid"], std::process::id());
    assert_eq!((&shown[0]["waits_for"], shown[0]["waits_ns"].is_u64()), (&"data".into(), true));

    let text = inspect(&[&pid]);
    for part in ["(breezeway): 3 sessions, 3 so far", " server shm     park ", "worker "] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let number = shown[0]["session"].to_string();
    let text = inspect(&[&pid, "--session", &number]);
    for part in
        ["calls received     2\n", "bytes sent         4.9 KiB\n", "waits for          data, "]
    {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let one: Value =
        serde_json::from_str(&inspect(&[&pid, "--session", &number, "--json"])).unwrap();
    assert_eq!(one["native"]["sessions"].as_array().map(Vec::len), Some(1), "{one}");
    let none = format!("process {pid} has no session 4000000000");
    for arguments in [&["4000000000"][..], &["4000000000", "--json"]] {
        refused(&[&["inspect", &pid, "--session"], arguments].concat(), &[&none]);
    }
    let lines = inspect(&["--json"]);
    let all: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for process in [running.pid(), std::process::id()] {
        assert!(all.iter().any(|report| report["pid"] == process), "no {process} in {lines}");
    }
    running.signal(Signal::CONT);
}

#[test]
fn handler_times_are_shown_by_session_for_every_runtime() {
    for (gear, shared) in [
        (&["--workers", "1"][..], false),
        (&["--offload", "1"], false),
        (&["--runtime", "tokio"], false),
        (&["--runtime", "tokio"], true),
    ] {
        let folder = Folder::new();
        let address = folder.address();
        let mut command = breezeway(&["serve", "--addr", &address.to_string()]);
        command.args(gear);
        let running = Running::start(command);
        running.line();
        let (mut idle, pid) =
            (ExclusiveSession::connect(&address).unwrap(), running.pid().to_string());
        idle.call(0, b"once").unwrap();
        // One call in 61 of the one thread, and some that bring the last one to its end.
        if shared {
            let channel = Session::connect(&address).unwrap();
            (0..620).for_each(|_| drop(channel.call(0, b"again").unwrap()));
            shows_ten(&pid, gear);
        } else {
            let mut session = ExclusiveSession::connect(&address).unwrap();
            (0..620).for_each(|_| drop(session.call(0, b"again").unwrap()));
            shows_ten(&pid, gear);
        }
    }
}

/// Shows two sessions; the second one's handlers were timed.
fn shows_ten(pid: &str, gear: &[&str]) {
    let report: Value = serde_json::from_str(&inspect(&[pid, "--json"])).unwrap();
    let shown = report["native"]["sessions"].as_array().unwrap();
    assert_eq!((shown.len(), &shown[0]["handlers"]), (2, &Value::Null), "{gear:?}");
    let handlers = &shown[1]["handlers"];
    assert_eq!(handlers["timed"], 10, "{gear:?}: {handlers}");
    let [p50, p99] = ["p50_ns", "p99_ns"].map(|name| handlers[name].as_u64().unwrap());
    assert!(0 < p50 && p50 <= p99, "{gear:?}: {handlers}");
    let detail = inspect(&[pid, "--session", &shown[1]["session"].to_string()]);
    assert!(detail.contains(", 10 timed\n"), "{detail}");
    let idle = inspect(&[pid, "--session", &shown[0]["session"].to_string()]);
    assert!(idle.contains("handlers           p50 -, p99 -, 0 timed\n"), "{idle}");
    let lines = inspect(&[pid]);
    assert!(lines.contains(" p50        p99        waits for\n"), "{lines}");
}

fn dump(arguments: &[&str]) -> String {
    let output = run(&[&["dump"], arguments].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn entries_of_a_running_and_a_stopped_server_are_dumped() {
    let folder = Folder::new();
    let address = format!("shm:{}", folder.socket().display());
    let running = Running::start(breezeway(&["serve", "--addr", &address, "--wait", "park"]));
    assert_eq!(running.line(), format!("listening on {address}"));
    let mut session = ExclusiveSession::connect(&address).unwrap();
    for len in [40, 5_000] {
        session.call(0, &vec![b'x'; len]).unwrap();
    }
    let pid = running.pid().to_string();
    let report: Value = serde_json::from_str(&inspect(&[&pid, "--json"])).unwrap();
    let number = report["native"]["sessions"][0]["session"].to_string();
    let text = dump(&[&pid, &number]);
    for part in [
        &format!("(breezeway), session {number}: server, peer {}\n", std::process::id()),
        "received: ",
        "0  message  stream 1, method 0, 40 bytes (open, fin)\n",
        ", method 0, 5000 bytes in segment 0 at 0, lend ",
        "segment  0 added, ",
        "  message  stream 1, 40 bytes (fin)\n",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(!text.contains("xxxx"), "bodies only if they are asked for: {text}");
    suspend(&running);
    session.send(0, b"nobody takes this").unwrap();
    let text = dump(&[&pid, &number, "--bodies", "--last", "1"]);
    let waiting = text.split_once("received: ").unwrap().1;
    assert!(waiting.contains(" of 256 wait to be taken\n*"), "{text}");
    assert!(waiting.contains(&format!("{:?}", "nobody takes this")) && !text.contains("x\""));
    assert_eq!(waiting.matches("message").count(), 1, "{text}");
    let report: Value =
        serde_json::from_str(&dump(&[&pid, &number, "--json", "--last", "1"])).unwrap();
    assert_eq!((&report["role"], &report["received"]["capacity"]), (&"server".into(), &256.into()));
    assert!(report["received"]["waiting"].as_u64() >= Some(1), "{report}");
    let [entry] = &report["received"]["entries"].as_array().unwrap()[..] else {
        panic!("{report}")
    };
    assert_eq!((&entry["kind"], &entry["taken"]), (&"message".into(), &false.into()));
    assert_eq!((&entry["method"], &entry["bytes"]), (&0.into(), &17.into()));
    assert_eq!((&entry["flags"], &entry["body"]), (&vec!["open", "fin"].into(), &Value::Null));
    let report: Value =
        serde_json::from_str(&dump(&[&pid, &number, "--json", "--bodies"])).unwrap();
    let all = report["received"]["entries"].as_array().unwrap();
    let hexadecimal: String =
        b"nobody takes this".iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(all.last().unwrap()["body"], hexadecimal);
    let large = all.iter().find(|entry| entry["bytes"] == 5_000).unwrap();
    assert_eq!((&large["lent"]["segment"], &large["body"]), (&0.into(), &Value::Null), "{large}");
    let sent = report["sent"]["entries"].as_array().unwrap();
    assert!(sent.iter().all(|entry| entry["taken"] == true), "{report}");
    // The other end's view of the same rings.
    let own = std::process::id().to_string();
    let report: Value = serde_json::from_str(&inspect(&[&own, "--json"])).unwrap();
    let mine = report["native"]["sessions"].as_array().unwrap().iter();
    let mine = mine.filter(|session| session["peer_pid"] == running.pid());
    let number = mine.map(|session| session["session"].to_string()).next().unwrap();
    let text = dump(&[&own, &number, "--bodies"]);
    let sent = text.split_once("received: ").unwrap().0;
    assert!(sent.contains("client") && sent.contains("nobody takes this"), "{text}");
    running.signal(Signal::CONT);

    let folder = Folder::new();
    let address = format!("unix:{}", folder.socket().display());
    let other = Running::start(breezeway(&["serve", "--addr", &address]));
    other.line();
    let mut session = ExclusiveSession::connect(&address).unwrap();
    session.call(0, b"").unwrap();
    let pid = other.pid().to_string();
    let report: Value = serde_json::from_str(&inspect(&[&pid, "--json"])).unwrap();
    let number = report["native"]["sessions"][0]["session"].to_string();
    refused(&["dump", &pid, &number], &["is not over shm:"]);
    refused(&["dump", &pid, "4000000000"], &["has no session 4000000000"]);
    refused(&["dump", "4294967295", "1"], &["no process 4294967295"]);
}

#[test]
fn bodies_are_dumped_with_the_names_of_an_idl() {
    let folder = Folder::new();
    let idl = folder.path().join("users.thrift");
    std::fs::write(&idl, "service Users { i32 age(1: string name) }").unwrap();
    let address = format!("shm:{}", folder.socket().display());
    let running = Running::start(breezeway(&["serve", "--addr", &address]));
    running.line();
    let mut session = ExclusiveSession::connect(&address).unwrap();
    // A string in field 1, and the end of the struct.
    let arguments = b"\x0b\x00\x01\x00\x00\x00\x03Ada\x00";
    // It only echoes calls of method 0.
    session.call(breezeway_rpc::Method::number("Users", "age"), arguments).map(drop).unwrap_err();
    let pid = running.pid().to_string();
    let report: Value = serde_json::from_str(&inspect(&[&pid, "--json"])).unwrap();
    let number = report["native"]["sessions"][0]["session"].to_string();
    let text = dump(&[&pid, &number, "--idl", idl.to_str().unwrap()]);
    assert!(text.contains(" Users.age, 11 bytes (open, fin)\n"), "{text}");
    assert!(text.contains("name") && text.contains("\"Ada\""), "{text}");
    assert!(
        text.contains(" Users.age, code 4, ") && text.contains("\"there is no method"),
        "{text}"
    );
}

#[test]
fn rates_are_printed_once_as_a_table_and_as_json() {
    let folder = Folder::new();
    let address = folder.address().to_string();
    let running = Running::start(breezeway(&["serve", "--addr", &address]));
    running.line();
    let mut session = ExclusiveSession::connect(folder.address()).unwrap();
    session.call(0, b"hello").unwrap();
    let pid = running.pid().to_string();
    let once = ["top", &pid, "--once", "--every", "50ms"];
    let text = String::from_utf8(run(&once).stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("1 sessions  0 calls/s"), "{text}");
    assert!(lines[1].starts_with("PID      PROGRAM"), "{text}");
    assert!(lines[2].starts_with(&pid) && lines.len() == 3, "{text}");
    let text = run(&[&once[..], &["--json"]].concat()).stdout;
    let report: Value = serde_json::from_slice(&text).unwrap();
    let [shown] = &report["sessions"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!((&shown["pid"].to_string(), &shown["calls_per_second"]), (&pid, &0.0.into()));
    assert_eq!((&shown["role"], &shown["counts"]["calls_received"]), (&"server".into(), &1.into()));
}
