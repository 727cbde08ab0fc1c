//! Bare touched shared memory with nothing around it, as `breezeway floor` measures it.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Outcome;

/// The median round trip in nanoseconds of `size` bytes that one side writes, the other copies, and
/// the first compares.
pub(crate) fn touched(size: usize) -> Outcome<f64> {
    let size = size.to_string();
    let mut floor = Command::new(Path::new(env!("CARGO_BIN_EXE_breezeway")));
    floor.args(["floor", "--json", "--cpus", "0,1", "--only", "touched", "--milliseconds", "100"]);
    let output = floor.args(["--size", &size]).stderr(Stdio::inherit()).output()?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    report.pointer("/touched/0/p50_ns").and_then(Value::as_f64).ok_or_else(|| "no floor".into())
}
