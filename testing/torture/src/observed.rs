//! The resources of a process, seen from outside (proc(5)).

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

/// Resources that a session takes and must give back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holdings {
    pub(crate) descriptors: usize,
    /// Mapped memfds and files of sessions.
    pub(crate) mappings: usize,
    /// Without those that a server keeps for streams, up to a limit, and the one that every process
    /// has for good that once unmapped a large segment.
    pub(crate) threads: usize,
    /// Shared memory that it has mapped, in KiB.
    pub(crate) shared: usize,
}

fn is_statistics(name: &str) -> bool {
    name.contains("/memfd:breezeway-stats ")
}

/// Returns the descriptors of a process, except for its statistics.
pub(crate) fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |entries| {
        let targets = entries.flatten().filter_map(|entry| entry.path().read_link().ok());
        targets.filter(|name| !is_statistics(&name.to_string_lossy())).count()
    })
}

/// The sockets of a process, by the names that the kernel has for them.
pub(crate) fn sockets(pid: u32) -> HashSet<PathBuf> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = entries.filter_map(|entry| entry.path().read_link().ok());
    targets.filter(|name| name.to_string_lossy().starts_with("socket:")).collect()
}

/// A line for each thread of a process: its name, state and switches, and the system call that it
/// is in.
pub(crate) fn threads(pid: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .map(|task| {
            let text =
                |file: &str| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
            let status = text("status");
            let wanted = ["State", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
            let is_wanted = |line: &&str| wanted.iter().any(|name| line.starts_with(name));
            let fields: Vec<_> = status.lines().filter(is_wanted).collect();
            format!("{}: {}; {}", text("comm").trim(), fields.join(", "), text("syscall"))
        })
        .collect()
}

impl Holdings {
    /// Returns those of a process, without its statistics, which come with its first session and
    /// stay.
    pub(crate) fn of(pid: u32) -> Self {
        let text =
            |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let entries = |folder: &str| std::fs::read_dir(format!("/proc/{pid}/{folder}"));
        let maps = text("maps");
        let is_segment = |line: &&str| {
            line.split(' ').nth(1).is_some_and(|bits| bits.ends_with('s')) && !is_statistics(line)
        };
        let status = text("status");
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        let threads = entries("task").map_or(0, |entries| {
            let names = entries.flatten().map(|entry| std::fs::read(entry.path().join("comm")));
            let is_kept = |name: &Vec<u8>| {
                name.starts_with(b"breezeway-strea") || name.starts_with(b"breezeway-unmap")
            };
            names.flatten().filter(|name| !is_kept(name)).count()
        });
        Self {
            descriptors: descriptors(pid),
            mappings: maps.lines().filter(is_segment).count(),
            threads,
            shared: field("RssShmem:"),
        }
    }

    /// Returns true if nothing is left beyond `before`.
    pub(crate) fn is_within(&self, before: &Self) -> bool {
        self.descriptors <= before.descriptors
            && self.mappings <= before.mappings
            && self.threads <= before.threads
            // The same segments, with more touched pages.
            && (self.mappings < before.mappings || self.shared <= before.shared + 4096)
    }
}

impl fmt::Display for Holdings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { descriptors, mappings, threads, shared } = self;
        write!(
            formatter,
            "{descriptors} fds, {mappings} mappings, {threads} threads, {shared} KiB shared"
        )
    }
}
