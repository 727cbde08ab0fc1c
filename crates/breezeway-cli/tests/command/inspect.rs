//! `breezeway inspect`: what it says of processes that do not help it.

use std::time::{Duration, Instant};

use breezeway_shmipc::{Client, ClientOptions, Trust};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Folder, Running, breezeway, refused, run};

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

    /// Stops the server, and waits until all of it has stopped.
    fn suspend(&self) {
        self.running.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.running.pid());
        let until = Instant::now() + Duration::from_secs(30);
        while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::yield_now();
        }
    }

    fn inspect(&self, arguments: &[&str]) -> String {
        let pid = self.running.pid().to_string();
        let output = run(&[&["inspect", &pid], arguments].concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn a_stopped_server_is_shown_with_what_waits_for_it() {
    let served = Served::start();
    let mut stream = served.client.open().unwrap();
    stream.send(b"first").unwrap();
    assert_eq!(stream.peek_at_least(5).unwrap().unwrap().to_vec(), b"first");
    served.suspend();
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
        "(breezeway)\n",
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
fn what_cannot_be_shown_is_said_in_a_line() {
    refused(&["inspect", "4294967295"], &["no process 4294967295"]);
    refused(&["inspect", "0"], &["0", "; see breezeway inspect --help"]);
    refused(&["inspect"], &["PID", "; see breezeway inspect --help"]);
    let output = run(&["inspect", &std::process::id().to_string()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.starts_with("process "), "{text}");
}
