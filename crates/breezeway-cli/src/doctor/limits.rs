//! Control groups and resource limits of this process.

use super::check::{Check, mebibytes};
use breezeway::SessionOptions;
use breezeway_os::memory::Headroom;
use breezeway_os::{cpu, memory};
use rustix::process::{Resource, Rlimit, getrlimit};

/// Returns the checks for a server with `sessions` sessions in parallel.
pub(super) fn checks(sessions: u64) -> Vec<Check> {
    vec![
        cgroup_memory(memory::cgroup_headroom()),
        cpu_quota(cpu::cgroup_quota()),
        open_files(getrlimit(Resource::Nofile), sessions),
        locked_memory(getrlimit(Resource::Memlock).current),
    ]
}

/// Returns the memory of one session with default settings, in both directions.
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

/// Descriptors that a session of an honest client takes in a server: its socket, and the descriptor
/// that shows the client's exit. Segments' descriptors are closed once they are mapped. A hostile
/// client may leave up to 64 unannounced ones, which are not provided for.
const FILES_PER_SESSION: u64 = 2;
/// Other open descriptors of a server: standard streams, listeners, epoll, and honest clients'
/// handshakes in progress. Hostile ones may add up to 1024 handshakes, or a quarter of the limit if
/// that is less, of two descriptors each.
const OTHER_FILES: u64 = 200;

/// Checks that there are descriptors for `sessions`. The hard limit counts, because `breezeway
/// serve` raises the soft limit to it.
fn open_files(limit: Rlimit, sessions: u64) -> Check {
    const NAME: &str = "open files";
    let needed = sessions.saturating_mul(FILES_PER_SESSION).saturating_add(OTHER_FILES);
    let Some(hard) = limit.maximum else { return Check::ok(NAME, "no limit") };
    let soft = limit.current.unwrap_or(hard);
    if soft >= needed {
        return Check::ok(
            NAME,
            format!("up to {soft}, enough for {sessions} sessions of honest clients"),
        );
    }
    if hard >= needed {
        let seen = format!("up to {soft}, which breezeway serve raises to the hard limit {hard}");
        return Check::ok(
            NAME,
            format!("{seen}: enough for {sessions} sessions of honest clients"),
        );
    }
    let possible = hard.saturating_sub(OTHER_FILES) / FILES_PER_SESSION;
    Check::warn(
        NAME,
        format!("up to {hard}, too few for {sessions} sessions of {FILES_PER_SESSION} each"),
        format!(
            "set LimitNOFILE={needed} in the unit file (or ulimit -n {needed} as root), or serve \
             with --max-sessions {}",
            possible.max(1)
        ),
    )
}

fn locked_memory(limit: Option<u64>) -> Check {
    let limit = limit.map_or_else(|| "no limit".to_owned(), mebibytes);
    Check::ok("locked memory", format!("{limit}; does not matter, segments are not locked"))
}

#[cfg(test)]
mod tests {
    use super::super::check::Grade;
    use super::*;

    fn headroom(limit: u64, usage: u64) -> Option<Headroom> {
        let file = "/sys/fs/cgroup/a/memory.max".into();
        Some(Headroom { limit, usage, reclaimable: 0, file })
    }

    #[test]
    fn group_too_small_for_a_session_warns_and_names_the_file() {
        let check = cgroup_memory(headroom(256 << 20, 200 << 20));
        assert_eq!(check.grade, Grade::Warn);
        assert!(check.seen.starts_with("56 MiB of 256 MiB"), "{check}");
        assert!(check.seen.contains("/sys/fs/cgroup/a/memory.max"), "{check}");
    }

    #[test]
    fn an_overdrawn_group_has_nothing_left() {
        assert!(cgroup_memory(headroom(1 << 20, 2 << 20)).seen.starts_with("0 MiB"));
    }

    fn files(current: Option<u64>, maximum: Option<u64>) -> Rlimit {
        Rlimit { current, maximum }
    }

    #[test]
    fn soft_limit_that_serve_raises_is_ok() {
        let check = open_files(files(Some(1024), Some(524_288)), 4096);
        assert_eq!(check.grade, Grade::Ok);
        assert!(check.seen.contains("raises") && check.seen.contains("524288"), "{check}");
    }

    #[test]
    fn too_few_descriptors_advise_fitting_max_sessions() {
        let check = open_files(files(Some(1024), Some(1024)), 4096);
        let advice = check.advice.unwrap();
        assert!(advice.contains("8392") && advice.contains("--max-sessions 412"), "{advice}");
    }

    #[test]
    fn no_limit_or_enough_is_fine() {
        assert_eq!(cgroup_memory(None).grade, Grade::Ok);
        assert_eq!(cgroup_memory(headroom(one_session(), 0)).grade, Grade::Ok);
        assert_eq!(cpu_quota(None).grade, Grade::Ok);
        assert_eq!(cpu_quota(Some(2.0)).grade, Grade::Ok);
        assert_eq!(open_files(files(None, None), 4096).grade, Grade::Ok);
        assert_eq!(open_files(files(Some(1024), None), 4096).grade, Grade::Ok);
        assert_eq!(open_files(files(Some(8400), Some(8400)), 4096).grade, Grade::Ok);
    }

    #[test]
    fn less_than_two_cpus_or_few_files_is_a_warning() {
        assert_eq!(cpu_quota(Some(1.99)).grade, Grade::Warn);
        assert_eq!(cpu_quota(Some(0.0)).grade, Grade::Warn);
        assert_eq!(open_files(files(Some(1024), Some(1024)), 4096).grade, Grade::Warn);
        assert_eq!(open_files(files(Some(0), Some(0)), 1).grade, Grade::Warn);
    }

    #[test]
    fn locked_memory_never_matters() {
        assert_eq!(locked_memory(Some(0)).grade, Grade::Ok);
        assert_eq!(locked_memory(None).grade, Grade::Ok);
    }
}
