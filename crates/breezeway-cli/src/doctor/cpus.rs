//! The CPUs of the machine, their shared resources, and its clock.

use super::check::Check;
use breezeway_measure::machine::{format_list, last_level_cache, read};
use breezeway_os::{clock, cpu};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(super) fn checks() -> Vec<Check> {
    let cpus = Path::new("/sys/devices/system/cpu");
    let nodes = Path::new("/sys/devices/system/node");
    let current = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    vec![
        count(cpu::online(), &cpu::allowed()),
        caches(&groups(cpus, "cpu", last_level_cache)),
        siblings(&groups(cpus, "cpu", |folder| read(folder.join("topology/thread_siblings_list")))),
        numa_nodes(&groups(nodes, "node", |folder| read(folder.join("cpulist")))),
        time(clock::source(), current.as_deref()),
    ]
}

fn count(online: usize, allowed: &[usize]) -> Check {
    const NAME: &str = "cpus";
    let list = format_list(allowed);
    let seen = format!("{online} online, {} allowed ({list})", allowed.len());
    match (online, allowed.len()) {
        (0 | 1, _) => {
            Check::warn(NAME, seen, "give the machine a second CPU: on one, waiting never spins")
        }
        (_, 0 | 1) => Check::warn(
            NAME,
            seen,
            "the peer needs another CPU: check its affinity, or widen this one's with \
             taskset",
        ),
        _ => Check::ok(NAME, seen),
    }
}

fn caches(groups: &BTreeSet<String>) -> Check {
    const NAME: &str = "shared cache";
    match groups.len() {
        0 => Check::ok(NAME, "not known here"),
        1 => Check::ok(NAME, format!("all CPUs share the last cache ({})", joined(groups))),
        _ => Check::warn(
            NAME,
            format!("{} groups of CPUs share a last cache ({})", groups.len(), joined(groups)),
            "a round trip between groups takes 2 to 5 times as long; pin both sides within one",
        ),
    }
}

fn siblings(groups: &BTreeSet<String>) -> Check {
    const NAME: &str = "hyperthreads";
    let shared: BTreeSet<_> = groups.iter().filter(|list| is_several(list)).cloned().collect();
    if shared.is_empty() {
        return Check::ok(NAME, "no two CPUs share a core");
    }
    let seen = format!("these CPUs share a core: {}", joined(&shared));
    Check::warn(
        NAME,
        seen,
        "fast for small messages, but two spinning sides slow each other down; compare with --cpus",
    )
}

fn numa_nodes(groups: &BTreeSet<String>) -> Check {
    const NAME: &str = "numa";
    let populated: BTreeSet<_> = groups.iter().filter(|list| !list.is_empty()).cloned().collect();
    if populated.len() < 2 {
        return Check::ok(NAME, "one node");
    }
    let seen = format!("{} nodes (CPUs {})", populated.len(), joined(&populated));
    Check::warn(
        NAME,
        seen,
        "pin both sides to one node; --cpu also binds their first touch of memory",
    )
}

fn time(source: &str, kernel: Option<&str>) -> Check {
    const NAME: &str = "clock";
    let kernel_uses = kernel.unwrap_or("an unknown clock");
    match (source, kernel) {
        ("clock_monotonic", _) => Check::warn(
            NAME,
            format!("no constant counter, so each reading asks the kernel ({kernel_uses})"),
            "in a virtual machine, pass the invariant TSC through",
        ),
        ("tsc", Some("hpet" | "acpi_pm" | "refined-jiffies" | "jiffies")) => Check::warn(
            NAME,
            format!("the CPU calls its TSC constant, but the kernel fell back to {kernel_uses}"),
            "search dmesg for 'clocksource': if the TSC is unstable, timings are unreliable",
        ),
        _ => Check::ok(NAME, format!("{source} is constant; the kernel uses {kernel_uses}")),
    }
}

/// Returns the distinct answers of `list_of` for each folder `prefix` + number in `parent`.
fn groups(
    parent: &Path,
    prefix: &str,
    list_of: impl Fn(&Path) -> Option<String>,
) -> BTreeSet<String> {
    let is_one = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix(prefix));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path()).filter(is_one);
    folders.filter_map(|folder| list_of(&folder)).collect()
}

/// Returns true if a CPU list names more than one CPU.
fn is_several(list: &str) -> bool {
    cpu::parse_list(list).is_some_and(|cpus| cpus.len() > 1)
}

/// Largest number of groups that are printed, for readability.
const MOST_GROUPS: usize = 16;

fn joined(groups: &BTreeSet<String>) -> String {
    let mut shown: Vec<&str> = groups.iter().take(MOST_GROUPS).map(String::as_str).collect();
    if groups.len() > MOST_GROUPS {
        shown.push("…");
    }
    shown.join(" | ")
}

#[cfg(test)]
mod tests {
    use super::super::check::Grade;
    use super::*;
    use std::fs;

    fn set(lists: &[&str]) -> BTreeSet<String> {
        lists.iter().map(|list| (*list).to_owned()).collect()
    }

    #[test]
    fn single_cpu_of_machine_or_affinity_is_a_warning() {
        assert_eq!(count(1, &[0]).grade, Grade::Warn);
        assert_eq!(count(8, &[3]).grade, Grade::Warn);
        assert_eq!(count(8, &[]).grade, Grade::Warn);
        assert_eq!(count(2, &[0, 1]).grade, Grade::Ok);
    }

    #[test]
    fn several_cache_groups_and_nodes_are_warnings_that_list_them() {
        let check = caches(&set(&["0-7", "8-15"]));
        assert_eq!(check.grade, Grade::Warn);
        assert!(check.seen.contains("0-7 | 8-15"), "{check}");
        assert_eq!(numa_nodes(&set(&["0-7", "8-15"])).grade, Grade::Warn);
    }

    #[test]
    fn unknown_or_single_groups_are_fine() {
        for groups in [set(&[]), set(&["0-1"])] {
            assert_eq!(caches(&groups).grade, Grade::Ok);
            assert_eq!(numa_nodes(&groups).grade, Grade::Ok);
        }
        assert_eq!(numa_nodes(&set(&["0-3", ""])).grade, Grade::Ok);
    }

    #[test]
    fn only_cpus_with_a_sibling_are_hyperthreads() {
        assert_eq!(siblings(&set(&["0", "1"])).grade, Grade::Ok);
        assert_eq!(siblings(&set(&["", "junk"])).grade, Grade::Ok);
        let check = siblings(&set(&["0,4", "1-2", "3"]));
        assert_eq!((check.grade, check.seen.contains("0,4 | 1-2")), (Grade::Warn, true));
    }

    #[test]
    fn a_clock_the_kernel_distrusts_is_a_warning() {
        assert_eq!(time("tsc", Some("hpet")).grade, Grade::Warn);
        assert_eq!(time("clock_monotonic", Some("tsc")).grade, Grade::Warn);
        assert_eq!(time("clock_monotonic", None).grade, Grade::Warn);
        assert_eq!(time("tsc", Some("kvm-clock")).grade, Grade::Ok);
        assert_eq!(time("cntvct", None).grade, Grade::Ok);
    }

    #[test]
    fn the_highest_level_counts_and_other_folders_do_not() {
        let folder = tempfile::tempdir().unwrap();
        for (index, level, list) in [("index0", "1", "0"), ("index3", "3\n", "0-3\n")] {
            let path = folder.path().join("cpu0/cache").join(index);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("level"), level).unwrap();
            fs::write(path.join("shared_cpu_list"), list).unwrap();
        }
        fs::create_dir_all(folder.path().join("cpuidle/cache/index0")).unwrap();
        fs::create_dir_all(folder.path().join("cpu1")).unwrap();
        assert_eq!(groups(folder.path(), "cpu", last_level_cache), set(&["0-3"]));
    }

    #[test]
    fn a_machine_without_the_folders_has_no_groups() {
        let nowhere = Path::new("/proc/self/no-such-folder");
        assert!(groups(nowhere, "cpu", last_level_cache).is_empty());
    }

    #[test]
    fn many_groups_are_cut_short() {
        let many: BTreeSet<_> = (0..100).map(|cpu| format!("{cpu}")).collect();
        assert!(joined(&many).ends_with("…"));
    }
}
