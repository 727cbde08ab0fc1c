//! CPU time of another process.

use std::time::Duration;

use rustix::process::Pid;

use crate::machine::read;

/// Returns the CPU time of the threads of a running process, in nanoseconds exactly; threads that
/// have ended are not in it. None if the process is not visible or the kernel does not count.
pub(crate) fn cpu_time(pid: Pid) -> Option<Duration> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).ok()?;
    let of = |thread: std::io::Result<std::fs::DirEntry>| {
        // A thread that has ended since has no file.
        let text = read(thread.ok()?.path().join("schedstat"))?;
        text.split_whitespace().next()?.parse().ok()
    };
    let times: Vec<u64> = threads.filter_map(of).collect();
    (!times.is_empty()).then(|| Duration::from_nanos(times.iter().sum()))
}
