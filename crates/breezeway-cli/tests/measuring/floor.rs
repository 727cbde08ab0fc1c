//! The `floor` and `doctor` commands, run as a user runs them.

use crate::both_cpus;
use crate::support::{PATIENCE, Running, breezeway, eventually, refused, run};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// Returns the child processes of `parent`.
fn children(parent: u32) -> Vec<Pid> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// A long measurement and its partner, which has had time to set itself up.
fn long_measurement(only: &str) -> (Running, Pid) {
    let measurer = Running::start(breezeway(&["floor", "--only", only, "--milliseconds", "60000"]));
    let mut partner = None;
    eventually("the partner's start", || {
        partner = children(measurer.pid()).first().copied().filter(|&pid| is_set_up(pid));
        partner.is_some()
    });
    (measurer, partner.unwrap())
}

/// Returns true if the partner runs its own program and is pinned to one CPU.
fn is_set_up(pid: Pid) -> bool {
    let folder = format!("/proc/{}", pid.as_raw_nonzero());
    let command = std::fs::read_to_string(format!("{folder}/cmdline")).unwrap_or_default();
    command.contains("floor-partner")
}

fn is_gone(pid: Pid) -> bool {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    // A zombie that its new parent has not collected yet has ended too.
    let state = std::fs::read_to_string(path).unwrap_or_default();
    test_kill_process(pid).is_err() || state.contains(") Z ")
}

#[test]
fn json_has_every_field_of_the_contract() {
    let _both = both_cpus();
    let report = json(&["floor", "--json", "--milliseconds", "10"]);
    for name in [
        "line_ns",
        "ring_ns",
        "ring_one_way_ns",
        "futex_ns",
        "unix_ns",
        "unix_spin_ns",
        "tcp_ns",
        "tcp_spin_ns",
    ] {
        assert!(report[name].as_f64().is_some_and(|value| value > 0.0), "{name} in {report}");
    }
    assert_eq!(report["cpus"].as_array().map(Vec::len), Some(2));
    let touched = report["touched"].as_array().unwrap();
    let sizes: Vec<_> = touched.iter().map(|row| row["size"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [64, 1 << 10, 64 << 10, 1 << 20, 4 << 20]);
    assert!(touched.iter().all(|row| row["p50_ns"].is_f64()));
    assert!(report["spread"]["line_min_ns"].is_f64() && report["spread"]["line_max_ns"].is_f64());
    assert_eq!(report["line_slices_ns"].as_array().map(Vec::len), Some(19));
    let slots = report["slots"].as_array().unwrap();
    let sizes = |returned| {
        let rows = slots.iter().filter(move |row| row["returned"] == returned);
        rows.map(|row| row["size"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(false), [64 << 10, 1 << 20, 4 << 20]);
    assert_eq!(sizes(false), sizes(true));
    assert!(slots.iter().all(|row| row["bytes_per_second"].as_f64().is_some_and(|it| it > 1e6)));
}

#[test]
fn only_the_wanted_rows_and_sizes_are_measured() {
    let _both = both_cpus();
    let line = json(&["floor", "--json", "--only", "line", "--milliseconds", "10"]);
    assert!(line["line_ns"].is_f64() && line["futex_ns"].is_null());
    assert_eq!(line["touched"], serde_json::json!([]));
    let arguments =
        ["floor", "--json", "--only", "touched,unix", "--size", "1KiB", "--milliseconds", "10"];
    let some = json(&arguments);
    assert_eq!(some["touched"][0]["size"], 1024);
    assert!(some["unix_spin_ns"].is_f64() && some["tcp_ns"].is_null());
}

#[test]
fn the_table_has_a_line_per_row() {
    let _both = both_cpus();
    let output = run(&["floor", "--only", "line,futex", "--milliseconds", "10"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for name in ["round trip", "cache line", "futex", "cpus "] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name} in {text}");
    }
}

#[test]
fn wrong_cpus_are_refused_with_one_clear_line() {
    refused(&["floor", "--cpus", "0,1000"], &["cpu 1000", "allowed", "--cpus"]);
    let allowed = breezeway_os::cpu::allowed();
    let allowed = allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    refused(&["floor", "--cpus", "999999,0"], &["cpu 999999", &format!("allowed are {allowed};")]);
    refused(&["floor", "--cpus", "0,0"], &["must differ"]);
    refused(&["floor", "--cpus", "0"], &["two CPU numbers"]);
    refused(&["floor", "--cpus", "a,b"], &["is not a CPU number"]);
}

#[test]
fn wrong_rows_sizes_and_times_are_refused() {
    refused(&["floor", "--only", "pipe"], &["pipe"]);
    refused(&["floor", "--size", "0"], &["0"]);
    refused(&["floor", "--size", "99999999999"], &["99999999999", "1 byte to 64 MiB"]);
    refused(&["floor", "--size", "64 frogs"], &["64 frogs", "such as 65536, 256KiB"]);
    refused(&["floor", "--milliseconds", "0"], &["0"]);
    refused(&["floor", "--no-such-option"], &["--no-such-option", "--help"]);
}

#[test]
fn the_partner_refuses_to_run_on_its_own() {
    let arguments =
        ["floor-partner", "--kind", "line", "--size", "0", "--cpu", "0", "--parent", "1"];
    refused(&arguments, &["breezeway floor"]);
}

#[test]
fn one_allowed_cpu_is_refused() {
    let output = std::thread::spawn(|| {
        let cpu = breezeway_os::cpu::allowed()[0];
        breezeway_os::cpu::pin_current_thread(cpu).unwrap();
        run(&["floor"])
    });
    let output = output.join().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("two CPUs"));
}

#[test]
fn a_signal_to_the_measurer_leaves_no_partner_behind() {
    let _both = both_cpus();
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        let (measurer, partner) = long_measurement("line");
        measurer.signal(signal);
        assert!(!measurer.ends_within(PATIENCE).status.success());
        eventually("the partner's end", || is_gone(partner));
    }
}

#[test]
fn a_killed_partner_ends_the_measurement_with_an_error() {
    let _both = both_cpus();
    // A spinning row, and one of each way to sleep.
    for only in ["line", "futex", "unix"] {
        let (measurer, partner) = long_measurement(only);
        kill_process(partner, Signal::KILL).unwrap();
        assert_eq!(measurer.ends_within(PATIENCE).status.code(), Some(1), "{only}");
    }
}

#[test]
fn help_has_examples() {
    for command in ["floor", "doctor"] {
        let text = String::from_utf8(run(&[command, "--help"]).stdout).unwrap();
        assert!(text.contains("Examples:") && text.contains(&format!("breezeway {command}")));
    }
}
