//! Servers in network namespaces of their own, as on other hosts: reached by TCP over a pair of
//! virtual devices. All of it is gone with the processes.

use std::process::Command;

use breezeway::{Address, Place};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::processes::Process;

/// Set in a test that has a namespace of its own.
const APART: &str = "BREEZEWAY_TEST_APART";

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

/// Returns true if this process may make namespaces, and the needed programs exist.
fn may_be_had() -> bool {
    ["ip", "nsenter"].iter().all(|program| {
        let tried = Command::new("unshare").args(["--net", program, "-V"]).output();
        tried.is_ok_and(|output| output.status.success())
    })
}

/// Host of a test's servers that are not on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// In namespaces of their own.
    Apart,
    /// On this host, for want of namespaces.
    Loopback,
}

/// Runs the test of this name once more, in a network namespace of its own, so that this host's
/// network is unchanged. Returns the host of its servers in the process that should run the test.
pub(crate) fn enter(test: &str) -> Option<Elsewhere> {
    if std::env::var_os(APART).is_some() {
        set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
        run("ip", &["link", "set", "lo", "up"]);
        return Some(Elsewhere::Apart);
    }
    if !may_be_had() {
        println!("SKIPPED: network namespaces need root, ip and nsenter; all is on this host");
        return Some(Elsewhere::Loopback);
    }
    let mut again = Command::new("unshare");
    again.arg("--net").arg(std::env::current_exe().unwrap());
    again.args(["--include-ignored", "--exact", "--nocapture", test]).env(APART, "1");
    assert!(again.status().unwrap().success());
    None
}

impl Elsewhere {
    /// Starts a server that listens on TCP. Returns its address; `number` distinguishes it from
    /// others, and is not in use by a live one.
    pub(crate) fn start(self, role: &str, number: usize) -> (Process, Address) {
        if self == Self::Loopback {
            let mut process = Process::start(role, &"tcp:127.0.0.1:0".parse().unwrap());
            let address = process.hear().parse().unwrap();
            return (process, address);
        }
        let mut unshare = Command::new("unshare");
        unshare.arg("--net").arg(std::env::current_exe().unwrap());
        let mut process = Process::start_by(unshare, role, &"tcp:0.0.0.0:0".parse().unwrap());
        let address: Address = process.hear().parse().unwrap();
        let Place::Tcp { port, .. } = address.places()[0] else { panic!("{address}") };
        let pid = process.pid().as_raw_nonzero().to_string();
        let (here, there) = (format!("here{number}"), format!("there{number}"));
        let [near, far] = [1, 2].map(|last| format!("10.77.{number}.{last}"));
        // Of one that was killed it may still be there, for a moment.
        let _ = Command::new("ip").args(["link", "del", &here]).output();
        run("ip", &["link", "add", &here, "type", "veth", "peer", "name", &there, "netns", &pid]);
        run("ip", &["addr", "add", &format!("{near}/30"), "dev", &here]);
        run("ip", &["link", "set", &here, "up"]);
        let inside = ["--net", "--target", &pid, "ip"];
        run(
            "nsenter",
            &[&inside[..], &["addr", "add", &format!("{far}/30"), "dev", &there]].concat(),
        );
        run("nsenter", &[&inside[..], &["link", "set", &there, "up"]].concat());
        (process, format!("tcp:{far}:{port}").parse().unwrap())
    }
}
