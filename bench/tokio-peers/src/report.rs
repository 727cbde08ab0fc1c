//! Figures on one line, as JSON.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use rustix::thread::{CpuSet, Pid, sched_setaffinity};

use crate::{Flavour, System};

/// The model of this machine's CPU.
pub(crate) fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split(':').nth(1)).unwrap_or("?").trim().to_owned()
    };
    format!("{}, family {} model {}", field("model name"), field("cpu family"), field("model\t"))
}

/// The median, and the first and third quartile.
pub(crate) fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let last = (values.len() - 1) as f64;
    [0.5, 0.25, 0.75].map(|quantile| values[(quantile * last).round() as usize])
}

fn pin(process: Option<Pid>, cpu: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(process, &set)?)
}

/// A serving process, ended when dropped.
pub(crate) struct Server(Child);

impl Server {
    /// Starts a server; pinned, it has CPU 1, and this process CPU 0.
    pub(crate) fn start(
        system: System,
        runtime: Flavour,
        pinned: bool,
        path: &Path,
        size: usize,
    ) -> Result<Self> {
        let name = |value: clap::builder::PossibleValue| value.get_name().to_owned();
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg(name(system.to_possible_value().context("a system")?))
            .arg(name(runtime.to_possible_value().context("a runtime")?))
            .arg(path)
            .arg(size.to_string())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("its output")?;
        if pinned {
            // Two processes that the scheduler puts on one CPU would measure the scheduler.
            pin(None, 0)?;
            pin(Pid::from_raw(child.id() as i32), 1)?;
        }
        let server = Self(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(line == "listening\n", "the server printed '{line}'");
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
