//! Figures on one line, as JSON.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use breezeway_os::cpu;
use clap::ValueEnum;

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

/// A serving process, ended when dropped.
pub(crate) struct Server(Child);

impl Server {
    /// Starts a server; pinned, it has the second CPU, and this thread the first.
    pub(crate) fn start(
        system: System,
        runtime: Flavour,
        cpus: Option<[usize; 2]>,
        path: &Path,
        size: usize,
    ) -> Result<Self> {
        // All threads of the server inherit the affinity of this one.
        if let Some([_, server]) = cpus {
            cpu::pin_current_thread(server)?;
        }
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
        let server = Self(child);
        if let Some([client, _]) = cpus {
            cpu::pin_current_thread(client)?;
        }
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
