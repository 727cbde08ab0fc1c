//! Which processes there are to look into.

use std::{fs, io};

use breezeway_shm::statistics::StatisticsFile;

/// The processes that may be looked into and have, or had, sessions, with what they say of them.
pub(crate) fn with_sessions() -> Vec<(u32, StatisticsFile)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // Others' processes, and those that end meanwhile, are passed over.
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
