//! Resources and activity of a process, seen from outside (proc(5)).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn text(pid: u32, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// Open descriptors, without that of the process's statistics, which comes with its first session.
pub(crate) fn descriptors(pid: u32) -> usize {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return 0 };
    let is_statistics = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path())
            .is_ok_and(|name| name.to_string_lossy().starts_with("/memfd:breezeway-stats "))
    };
    entries.flatten().filter(|entry| !is_statistics(entry)).count()
}

/// Returns the kinds of the open descriptors' files, each with its number: for the message of a
/// test that counts them.
pub(crate) fn descriptor_kinds(pid: u32) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return kinds };
    for target in entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok()) {
        let name = target.to_string_lossy();
        let kind = name.split_once(":[").map_or(&*name, |(kind, _)| kind);
        *kinds.entry(kind.to_owned()).or_default() += 1;
    }
    kinds
}

/// Returns the files of the open descriptors that an executed program inherits.
pub(crate) fn inherited_over_exec(pid: u32) -> BTreeSet<PathBuf> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return BTreeSet::new() };
    let stays = |entry: &std::fs::DirEntry| {
        let info = text(pid, &format!("fdinfo/{}", entry.file_name().to_string_lossy()));
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        // A descriptor that was closed since has no flags.
        flags.is_some_and(|flags| flags & libc::O_CLOEXEC as u32 == 0)
    };
    let stay = entries.flatten().filter(stays);
    stay.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect()
}

/// Mapped segments of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segments {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
}

/// The segments, its own and its peers', that a process has mapped, without its statistics.
pub(crate) fn segments(pid: u32) -> Segments {
    let maps = text(pid, "maps");
    let mut segments = Segments::default();
    for line in maps.lines().filter(|line| line.contains("/memfd:breezeway ")) {
        let range = line.split(' ').next().expect("a line begins with the range");
        let (from, to) = range.split_once('-').expect("a range has two ends");
        let at = |number| usize::from_str_radix(number, 16).expect("addresses are hexadecimal");
        segments.count += 1;
        segments.bytes += at(to) - at(from);
    }
    segments
}

/// Memory that a process has for itself, in bytes: without files and shared segments.
pub(crate) fn private_memory(pid: u32) -> usize {
    in_status(pid, "RssAnon:")
}

/// Memory that a process has reserved for itself, in bytes, touched or not.
pub(crate) fn reserved_memory(pid: u32) -> usize {
    in_status(pid, "VmData:")
}

/// Address space that a process may still take, in bytes (RLIMIT_AS).
pub(crate) fn free_address_space(pid: u32) -> usize {
    let limits = text(pid, "limits");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"));
    let limit = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    limit.expect("a limit").saturating_sub(in_status(pid, "VmSize:"))
}

fn in_status(pid: u32, name: &str) -> usize {
    let status = text(pid, "status");
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let kibibytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<usize>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// Minor page faults of all threads of a process so far.
pub(crate) fn page_faults(pid: u32) -> u64 {
    let stat = text(pid, "stat");
    // The name, which may hold anything, ends with the last parenthesis; state is the next field,
    // minflt the 8th.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.split(' ').nth(7).and_then(|faults| faults.parse().ok()).expect("a running process")
}

/// Activity that an idle process does not have: CPU time in clock ticks, and switches to other
/// threads, one for each blocking system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) cpu_ticks: u64,
    pub(crate) switches: u64,
}

/// Returns the activity of all threads of a process so far.
pub(crate) fn activity(pid: u32) -> Activity {
    let stat = text(pid, "stat");
    // The name, which may hold anything, ends with the last parenthesis; state is the next field,
    // utime and stime the 12th and 13th.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let time = fields.split(' ').skip(11).take(2).filter_map(|time| time.parse::<u64>().ok());
    Activity {
        cpu_ticks: time.sum(),
        switches: threads(pid).iter().map(|&t| switches(pid, t)).sum(),
    }
}

/// Ids of a process's threads.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Name, state, CPU time and system call of each thread: for the message of a test that failed.
pub(crate) fn what_threads_do(pid: u32) -> String {
    let describe = |thread: u32| {
        let file = |name: &str| text(pid, &format!("task/{thread}/{name}"));
        let stat = file("stat");
        let fields: Vec<_> =
            stat.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ').collect();
        let field = |index: usize| fields.get(index).copied().unwrap_or("?");
        let (state, user, system) = (field(0), field(11), field(12));
        format!("{} {state} {user}+{system} {}", file("comm").trim(), file("wchan"))
    };
    threads(pid).into_iter().map(describe).collect::<Vec<_>>().join(", ")
}

/// Returns true if a process has a thread of this name.
pub(crate) fn has_thread(pid: u32, name: &str) -> bool {
    threads(pid).iter().any(|thread| text(pid, &format!("task/{thread}/comm")).trim() == name)
}

/// Switches of a thread to others so far, of which each blocking system call costs one.
pub(crate) fn switches(pid: u32, thread: u32) -> u64 {
    let status = text(pid, &format!("task/{thread}/status"));
    let counts = status.lines().filter(|line| line.contains("ctxt_switches:"));
    counts.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum()
}

/// Returns true if every thread of a process sleeps.
pub(crate) fn sleeps(pid: u32) -> bool {
    threads(pid).iter().all(|thread| {
        let stat = text(pid, &format!("task/{thread}/stat"));
        stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('S'))
    })
}

/// Returns true if a process has ended, also before its parent has collected it.
pub(crate) fn has_ended(pid: u32) -> bool {
    let stat = text(pid, "stat");
    stat.is_empty() || stat.contains(") Z ") || stat.contains(") X ")
}
