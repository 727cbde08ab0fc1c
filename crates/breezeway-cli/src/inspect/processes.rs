//! The processes that can be inspected.

use std::{fs, io};

use breezeway_shm::statistics::StatisticsFile;

/// Returns the processes that may be read and have, or had, sessions, with their statistics.
pub(crate) fn with_sessions() -> Vec<(u32, StatisticsFile)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // Other users' processes, and those that end in between, are left out.
    let opened = |pid: u32| Some((pid, StatisticsFile::open(pid).ok()??));
    let mut found: Vec<(u32, StatisticsFile)> = pids.filter_map(opened).collect();
    found.sort_unstable_by_key(|&(pid, _)| pid);
    found
}

/// A process's name as the kernel has it: any bytes, cut at 15 of them.
pub(crate) fn name(pid: u32) -> io::Result<String> {
    let name = fs::read(format!("/proc/{pid}/comm"))?;
    Ok(String::from_utf8_lossy(&name).trim_end().to_owned())
}

/// Parses the number of a process from the command line.
pub(crate) fn parse(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|&pid| pid > 0);
    number.ok_or_else(|| format!("'{text}' is not a process id: see pidof, or breezeway inspect"))
}
