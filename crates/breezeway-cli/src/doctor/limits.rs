//! What control groups and resource limits leave to this process.

use super::{Check, mebibytes};
use breezeway::SessionOptions;
use breezeway_os::memory::Headroom;
use breezeway_os::{cpu, memory};
use rustix::process::{Resource, getrlimit};

pub(super) fn checks() -> Vec<Check> {
    vec![
        cgroup_memory(memory::cgroup_headroom()),
        cpu_quota(cpu::cgroup_quota()),
        open_files(getrlimit(Resource::Nofile).current),
        locked_memory(getrlimit(Resource::Memlock).current),
    ]
}

/// What one session may take with default settings, in both directions.
fn one_session() -> u64 {
    SessionOptions::new().memory_budget()
}

fn cgroup_memory(headroom: Option<Headroom>) -> Check {
    const NAME: &str = "cgroup memory";
    let Some(headroom) = headroom else { return Check::ok(NAME, "no limit") };
    let available = headroom.available();
    let file = headroom.file.display();
    let seen = format!("{} of {} left by {file}", mebibytes(available), mebibytes(headroom.limit));
    if available >= one_session() {
        return Check::ok(NAME, seen);
    }
    Check::warn(
        NAME,
        seen,
        format!("raise it, or lower --cap: one session may take {}", mebibytes(one_session())),
    )
}

fn cpu_quota(quota: Option<f64>) -> Check {
    const NAME: &str = "cgroup cpu";
    match quota {
        None => Check::ok(NAME, "no quota"),
        Some(cpus) if cpus >= 2.0 => Check::ok(NAME, format!("a quota of {cpus:.1} CPUs")),
        Some(cpus) => Check::warn(
            NAME,
            format!("a quota of {cpus:.1} CPUs, so waiting never spins"),
            "grant at least 2 CPUs (cpu.max, docker --cpus, a pod's CPU limit)",
        ),
    }
}

/// A thousand sessions at about four descriptors each.
const MANY_FILES: u64 = 4096;

/// `None` is no limit.
fn open_files(limit: Option<u64>) -> Check {
    const NAME: &str = "open files";
    match limit {
        None => Check::ok(NAME, "no limit"),
        Some(limit) if limit >= MANY_FILES => Check::ok(NAME, format!("up to {limit}")),
        Some(limit) => Check::warn(
            NAME,
            format!("up to {limit}, enough for about {} sessions", limit / 4),
            format!("ulimit -n {MANY_FILES}, or LimitNOFILE={MANY_FILES} in the unit file"),
        ),
    }
}

fn locked_memory(limit: Option<u64>) -> Check {
    let limit = limit.map_or_else(|| "no limit".to_owned(), mebibytes);
    Check::ok("locked memory", format!("{limit}; does not matter, segments are not locked"))
}

#[cfg(test)]
mod tests {
    use super::super::Grade;
    use super::*;

    fn headroom(limit: u64, usage: u64) -> Option<Headroom> {
        let file = "/sys/fs/cgroup/a/memory.max".into();
        Some(Headroom { limit, usage, reclaimable: 0, file })
    }

    #[test]
    fn a_group_without_room_for_one_session_is_a_warning_that_names_the_file() {
        let check = cgroup_memory(headroom(256 << 20, 200 << 20));
        assert_eq!(check.grade, Grade::Warn);
        assert!(check.seen.starts_with("56 MiB of 256 MiB"), "{check}");
        assert!(check.seen.contains("/sys/fs/cgroup/a/memory.max"), "{check}");
    }

    #[test]
    fn an_overdrawn_group_has_nothing_left() {
        assert!(cgroup_memory(headroom(1 << 20, 2 << 20)).seen.starts_with("0 MiB"));
    }

    #[test]
    fn no_limit_or_enough_is_fine() {
        assert_eq!(cgroup_memory(None).grade, Grade::Ok);
        assert_eq!(cgroup_memory(headroom(one_session(), 0)).grade, Grade::Ok);
        assert_eq!(cpu_quota(None).grade, Grade::Ok);
        assert_eq!(cpu_quota(Some(2.0)).grade, Grade::Ok);
        assert_eq!(open_files(None).grade, Grade::Ok);
        assert_eq!(open_files(Some(MANY_FILES)).grade, Grade::Ok);
    }

    #[test]
    fn less_than_two_cpus_or_few_files_is_a_warning() {
        assert_eq!(cpu_quota(Some(1.99)).grade, Grade::Warn);
        assert_eq!(cpu_quota(Some(0.0)).grade, Grade::Warn);
        assert_eq!(open_files(Some(1024)).grade, Grade::Warn);
        assert_eq!(open_files(Some(0)).grade, Grade::Warn);
    }

    #[test]
    fn locked_memory_never_matters() {
        assert_eq!(locked_memory(Some(0)).grade, Grade::Ok);
        assert_eq!(locked_memory(None).grade, Grade::Ok);
    }
}
