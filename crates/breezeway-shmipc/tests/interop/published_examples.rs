//! The examples that upstream publishes, unchanged, with this crate on one side.
//!
//! They find each other at `../ipc_test.sock`, so each runs in a folder below that of the test. The
//! reply of "best practice" has the bytes of its request, and so has that of "hot restart": an echo
//! serves both.

use std::path::{Path, PathBuf};
use std::process::Command;

use breezeway_adversary::stopwatch::{Stopwatch, eventually};
use libtest_mimic::Trial;

use super::build::{mended_async_client, shmipc_go_example};
use super::folder::Folder;
use super::process::{PATIENCE, Process};
use super::program::{Program, Sharing};
use super::trial::trial;

const ASYNC_CLIENT: &str = "best_practice/shmipc_async_client";
const ASYNC_SERVER: &str = "best_practice/shmipc_async_server";

/// Returns the path of the socket in the folder of a test.
fn socket(folder: &Folder) -> PathBuf {
    folder.path().join("ipc_test.sock")
}

/// Starts an example in a folder below.
fn start(folder: &Folder, name: &str) -> Process {
    Process::start(name, &mut example(folder, name))
}

fn example(folder: &Folder, name: &str) -> Command {
    at(folder, &shmipc_go_example(name))
}

fn at(folder: &Folder, program: &Path) -> Command {
    let below = folder.path().join("below");
    std::fs::create_dir_all(&below).expect("our own folder");
    let mut command = Command::new(program);
    // Files are named below the test's folder where the example allows that.
    command.current_dir(below).env("PATH_PREFIX", folder.prefix());
    command
}

/// Waits for a line that begins with `word`.
fn hears(process: &Process, word: &str) {
    while !process.hear().starts_with(word) {}
}

/// Returns the errors that a server of "hot restart" has counted, from its next line with a rate.
fn errors_of(process: &Process) -> String {
    let counted = || process.hear().split("errcount").nth(1).map(str::to_owned);
    let line = std::iter::repeat_with(counted).find_map(|line| line);
    let words = line.expect("it goes on for ever");
    words.split_whitespace().next().expect("a number").to_owned()
}

/// Waits until a server has its socket, and not an earlier one.
fn listens(path: &Path) {
    eventually("the example listens", || path.exists());
}

/// Waits for `lines` lines of the rate that an example prints each second, with a rate above 0.
fn runs(process: &Process, lines: usize) -> Vec<String> {
    let (mut found, mut heard) = (Vec::new(), String::new());
    let start = Stopwatch::start();
    while found.len() < lines {
        assert!(!start.passed(PATIENCE), "it does not go on; it said:\n{heard}");
        let line = process.hear();
        heard = heard + &line + "\n";
        // The examples' complaints; the library's own concern files that the peer has
        // removed.
        assert!(!line.starts_with("stream ") && !line.contains("failed, err="), "{line}");
        if rate(&line).is_some_and(|rate| rate != "0") {
            found.push(line);
        }
    }
    found
}

fn greeter_client() {
    let folder = Folder::new();
    let server = Program::Ours.serve_hello(&socket(&folder), &[]);
    let client = start(&folder, "helloworld/greeter_client");
    server.expect("server receive request message:client say hello world!!!");
    client.expect("client stream send request:client say hello world!!!");
    client.expect("client stream receive response server hello world!!!");
    client.succeeds();
}

fn greeter_server() {
    for sharing in [Sharing::V2File, Sharing::V3Memfd] {
        let folder = Folder::new();
        let server = start(&folder, "helloworld/greeter_server");
        listens(&socket(&folder));
        let (place, prefix) = (socket(&folder), folder.prefix());
        let client = Program::Ours.client("hello-client", &place, &prefix, sharing).start();
        server.expect("server receive request message:client say hello world!!!");
        client.expect("client stream receive response server hello world!!!");
        client.succeeds();
        server.expect("server reply response: server hello world!!!");
        server.succeeds();
    }
}

/// Number of times that the asynchronous example may lose its session to the defect below.
const ATTEMPTS: usize = 5;

/// The example continues, and all of its streams are served.
fn best_practice_client(program: &Path) {
    let folder = Folder::new();
    let mut server = Program::Ours.serve(&socket(&folder), &[]);
    let client = Process::start("best practice", &mut at(&folder, program));
    runs(&client, 2);
    assert_eq!(server.ask("streams"), "streams 500");
}

/// Upstream's `Flush` empties its buffer after it has sent it. A callback that runs in between,
/// because the answer may already be there, appends to the sent data (docs/from-shmipc.md). Our
/// server ends such a session, and the example does not continue with another.
fn best_practice_async_client() {
    for _ in 0..ATTEMPTS {
        let folder = Folder::new();
        let mut server = Program::Ours.serve(&socket(&folder), &[]);
        let client = start(&folder, ASYNC_CLIENT);
        if goes_on(&client, 2) {
            assert_eq!(server.ask("streams"), "streams 500");
            return;
        }
        let why = server.complains("ours: a session ended: ");
        assert!(why.contains("the peer broke the protocol"), "{why}");
        eprintln!("the example sent what it had given back; once more");
    }
    panic!("the example lost its session {ATTEMPTS} times");
}

/// Waits for `lines` lines with a rate above 0. Returns false if its session ends before.
fn goes_on(process: &Process, lines: usize) -> bool {
    let mut found = 0;
    let start = Stopwatch::start();
    while found < lines {
        assert!(!start.passed(PATIENCE), "it does not go on");
        let line = process.hear();
        assert!(!line.starts_with("stream ") && !line.contains("failed, err="), "{line}");
        if line.contains("exitErr") {
            return false;
        }
        found += usize::from(rate(&line).is_some_and(|rate| rate != "0"));
    }
    true
}

/// Returns the rate that an example prints each second.
fn rate(line: &str) -> Option<&str> {
    line.split("qps:").nth(1)?.split_whitespace().next()
}

fn best_practice_server(example: &str) {
    for sharing in [Sharing::V2File, Sharing::V3Memfd] {
        let folder = Folder::new();
        let _server = start(&folder, example);
        listens(&socket(&folder));
        let client = Program::Ours.client("call", &socket(&folder), &folder.prefix(), sharing);
        let client = client.option("--streams", "20").option("--count", "200").start();
        client.expect("done 4000");
        client.succeeds();
    }
}

/// The example counts errors; a hot restart makes none.
fn hot_restart_client() {
    let folder = Folder::new();
    let mut old = Program::Ours.serve(&socket(&folder), &[]);
    let client = start(&folder, "hot_restart_test/client");
    runs(&client, 1);
    let mut new = Program::Ours.serve(&socket(&folder), &[]);
    assert_eq!(old.ask("hot-restart 7"), "restarted");
    assert_eq!(old.ask("close"), "closed");
    let last = runs(&client, 3).pop().expect("three lines");
    assert!(last.contains("errCount =  0"), "{last}");
    assert_ne!(new.ask("streams"), "streams 0");
    drop(client);
    eventually("its files are removed", || folder.regions().is_empty());
}

/// The example's second process makes the first hand over, and no call of our client fails. Each
/// prints a rate every second.
fn hot_restart_server() {
    let folder = Folder::new();
    let start = |environment: &[(&str, &str)]| {
        let mut command = example(&folder, "hot_restart_test/server");
        // Any port suffices for an unused service.
        command.env("DEBUG_PORT", "0").envs(environment.iter().copied());
        Process::start("hot_restart_test/server", &mut command)
    };
    let old = start(&[]);
    hears(&old, "server normal start");
    listens(&socket(&folder));
    listens(&folder.path().join("admin.sock"));
    let client =
        Program::Ours.client("client", &socket(&folder), &folder.prefix(), Sharing::V2File);
    let mut client = client.option("--sessions", "2").obey();
    assert_eq!(client.ask("greet 40 50"), "done 22000");
    let new = start(&[("IS_HOT_RESTART", "1"), ("HOT_RESTART_EPOCH", "1122")]);
    hears(&new, "start hot restart");
    // Until the old one has ended its sessions.
    loop {
        assert_eq!(client.ask("greet 40 50"), "done 22000");
        if old.heard("shmipcListener Run Ret err") {
            break;
        }
    }
    assert_eq!(client.ask("greet 40 50"), "done 22000");
    assert_eq!(errors_of(&new), "0");
}

pub(crate) fn trials() -> Vec<Trial> {
    use Program::{Go, Ours};
    let of_client =
        |name, test: fn()| trial(format!("published_examples::{name}"), [Go, Ours], test);
    let of_server =
        |name, test: fn()| trial(format!("published_examples::{name}"), [Ours, Go], test);
    vec![
        of_client("helloworld_client_and_our_server", greeter_client),
        of_server("our_client_and_helloworld_server", greeter_server),
        of_client("best_practice_client_and_our_server", || {
            best_practice_client(&shmipc_go_example("best_practice/shmipc_client"));
        }),
        of_server("our_client_and_best_practice_server", || {
            best_practice_server("best_practice/shmipc_server");
        }),
        of_client("best_practice_async_client_and_our_server", best_practice_async_client),
        of_client("mended_best_practice_async_client_and_our_server", || {
            best_practice_client(mended_async_client());
        }),
        of_server("our_client_and_best_practice_async_server", || {
            best_practice_server(ASYNC_SERVER);
        }),
        of_client("hot_restart_client_and_our_servers", hot_restart_client),
        of_server("our_client_and_hot_restart_servers", hot_restart_server),
    ]
}
