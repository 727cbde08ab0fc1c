//! A bench whose server ends, and a server whose bench does.

use rustix::process::Signal;

use super::report::json;
use crate::support::{PROMPT, Running, Serve, eventually, is_one_line_of_failure, statuses};

const LONG_RUNS: [&[&str]; 6] = [
    &["--seconds", "60"],
    &["--seconds", "60", "--json"],
    &["--seconds", "60", "--wait", "park", "--depth", "8", "--size", "20000"],
    &["--seconds", "60", "--wait", "busy", "--touch", "none"],
    &["--seconds", "60", "--sessions", "3"],
    &["--seconds", "60", "--rate", "1000"],
];

/// Waits until a bench is at work: it has used some CPU time since its connection.
fn is_at_work(bench: &Running) {
    let switches = || {
        let status = statuses(bench.pid());
        (status.len() >= 2).then(|| status.join(""))
    };
    let mut seen = None;
    eventually("the bench is at work", || {
        let now = switches();
        let works = seen.is_some() && now.is_some() && seen != now;
        seen = seen.take().or(now);
        works
    });
}

#[test]
fn server_killed_during_a_bench_ends_it_with_status_1() {
    let one_way = ["--seconds", "60", "--pattern", "one-way"];
    for arguments in LONG_RUNS.into_iter().chain([&one_way[..]]) {
        let serve = Serve::start(&["--workers", "2"]);
        let bench = Running::start(serve.bench(arguments));
        is_at_work(&bench);
        serve.running.signal(Signal::KILL);
        let output = bench.ends_within(PROMPT);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
        is_one_line_of_failure(&output, &format!("{arguments:?}"), &["died"]);
    }
}

#[test]
fn server_stopped_during_a_bench_ends_it_with_status_1() {
    for arguments in LONG_RUNS {
        let serve = Serve::start(&["--workers", "2"]);
        let bench = Running::start(serve.bench(arguments));
        is_at_work(&bench);
        serve.running.signal(Signal::TERM);
        let output = bench.ends_within(PROMPT);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        is_one_line_of_failure(&output, &format!("{arguments:?}"), &[]);
        // The first of the two that it sees depends on its state.
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("closed") || text.contains("about to end"), "{arguments:?}: {text}");
        assert!(serve.running.ends_within(PROMPT).status.success());
    }
}

#[test]
fn a_bench_killed_at_work_leaves_a_server_that_serves() {
    let serve = Serve::start(&[]);
    for arguments in LONG_RUNS {
        let bench = Running::start(serve.bench(arguments));
        is_at_work(&bench);
        drop(bench);
        assert_eq!(json(&serve, &["--count", "100"])["count"], 100);
    }
    serve.running.signal(Signal::TERM);
    assert!(serve.running.ends_within(PROMPT).status.success());
}
