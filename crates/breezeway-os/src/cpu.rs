//! CPUs: pinning, counting, and the decision whether spinning pays.
//!
//! A spin wait only helps while the peer runs on another CPU at the same time. The rule
//! (design: "spin by evidence") depends on the CPUs of the machine and the control group, not on
//! affinity: a thread pinned to one CPU still has a peer pinned to another.

use crate::cgroup::{self, Folder, Version};
use rustix::io::Errno;
use rustix::thread::CpuSet;
use std::path::Path;
use std::sync::OnceLock;

/// Error of pinning a thread.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PinError {
    /// The machine has no such CPU, or this process may not use it.
    #[error("cpu {cpu} is not usable here: allowed are {}", list(allowed))]
    NotAllowed {
        /// Requested CPU.
        cpu: usize,
        /// The CPUs that this thread may use.
        allowed: Vec<usize>,
    },
    /// The kernel refused for another reason, such as a system call filter.
    #[error("pinning to cpu {cpu} was refused ({source}): allowed are {}", list(allowed))]
    Refused {
        /// Requested CPU.
        cpu: usize,
        /// The CPUs that this thread may use.
        allowed: Vec<usize>,
        /// Error of the system call.
        source: Errno,
    },
}

/// `sched_setaffinity(0, {cpu})`: lets the calling thread, and threads and processes that it
/// starts from now on, run on `cpu` only.
///
/// # Errors
///
/// [`PinError`] names the CPU and those that would work.
pub fn pin_current_thread(cpu: usize) -> Result<(), PinError> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(PinError::NotAllowed { cpu, allowed: allowed() });
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).map_err(|source| match source {
        Errno::INVAL => PinError::NotAllowed { cpu, allowed: allowed() },
        _ => PinError::Refused { cpu, allowed: allowed(), source },
    })
}

/// `sched_getaffinity(0)`: returns the CPUs that the calling thread may use, ascending; empty if
/// the call fails.
#[must_use]
pub fn allowed() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Returns the number of CPUs that are online; at least 1.
#[must_use]
pub fn online() -> usize {
    let path = Path::new("/sys/devices/system/cpu/online");
    let listed = std::fs::read_to_string(path).ok().and_then(|text| parse_list(&text));
    listed.unwrap_or_else(allowed).len().max(1)
}

/// Returns the size in bytes of a CPU's last-level cache, which it may share with other CPUs;
/// `None` if the kernel does not report it. Read once per process.
#[must_use]
pub fn last_cache() -> Option<usize> {
    static BYTES: OnceLock<Option<usize>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let cpu = allowed().first().copied()?;
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
        let size = |index| std::fs::read_to_string(format!("{folder}/index{index}/size")).ok();
        (0..8).map_while(size).filter_map(|text| parse_kib(&text)).max()
    })
}

/// Parses a size in the kernel's format, such as `32768K`.
fn parse_kib(text: &str) -> Option<usize> {
    text.trim().strip_suffix('K')?.parse::<usize>().ok()?.checked_mul(1024)
}

/// `getcpu()`: returns the CPU on which the calling thread runs, which may have changed on return.
#[must_use]
pub fn current() -> usize {
    rustix::thread::sched_getcpu()
}

/// Returns the CPU quota of this process's control groups, in CPUs, or `None` without one.
/// quota.
///
/// The smallest over all ancestors of `cpu.max` (version 2) or `cpu.cfs_quota_us` /
/// `cpu.cfs_period_us` (version 1).
#[must_use]
pub fn cgroup_quota() -> Option<f64> {
    smallest_quota(&cgroup::folders("cpu"))
}

/// Returns true if waiting by spinning can be faster than sleeping: false if the machine or the
/// quota leaves fewer than two CPUs. Decided once per process.
#[must_use]
pub fn spinning_pays() -> bool {
    static PAYS: OnceLock<bool> = OnceLock::new();
    *PAYS.get_or_init(|| leaves_two_cpus(online(), cgroup_quota()))
}

/// Hints to the CPU that this is a spin loop (`pause` on x86-64, `isb` on aarch64).
#[inline(always)]
pub fn spin_hint() {
    std::hint::spin_loop();
}

/// Parses the kernel's CPU list format, such as `0-3,8`; `None` if it is malformed.
///
/// ```
/// assert_eq!(breezeway_os::cpu::parse_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
/// assert_eq!(breezeway_os::cpu::parse_list("two"), None);
/// ```
#[must_use]
pub fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        // Bounds the memory that a malformed list can request.
        if last >= MOST_CPUS || first > last {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Upper bound of CPU numbers, above any Linux kernel's (`CONFIG_NR_CPUS` ends at 8192).
const MOST_CPUS: usize = 1 << 16;

fn leaves_two_cpus(online: usize, quota: Option<f64>) -> bool {
    online >= 2 && quota.is_none_or(|cpus| cpus >= 2.0)
}

fn smallest_quota(folders: &[Folder]) -> Option<f64> {
    folders.iter().filter_map(quota_of).reduce(f64::min)
}

fn quota_of(folder: &Folder) -> Option<f64> {
    let (quota, period) = match folder.version {
        Version::V2 => {
            let limit = folder.read("cpu.max")?;
            let (quota, period) = limit.split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
        Version::V1 => (folder.read("cpu.cfs_quota_us")?, folder.read("cpu.cfs_period_us")?),
    };
    cpus_of(&quota, &period)
}

/// Parses a quota and its period. No quota is spelled `max` in version 2 and `-1` in version 1;
/// neither parses as unsigned.
fn cpus_of(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (u32, u32) = (quota.parse().ok()?, period.trim().parse().ok()?);
    (period > 0).then(|| f64::from(quota) / f64::from(period))
}

/// Formats CPU numbers for messages: `0, 1, 4`.
fn list(cpus: &[usize]) -> String {
    if cpus.is_empty() {
        return "not known".to_owned();
    }
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::tests::Fixture;

    fn on_own_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(work).join().unwrap()
    }

    #[test]
    fn a_pinned_thread_runs_where_it_was_pinned() {
        let cpu = *allowed().last().unwrap();
        let seen = on_own_thread(move || (pin_current_thread(cpu), current(), allowed()));
        assert_eq!(seen, (Ok(()), cpu, vec![cpu]));
    }

    #[test]
    fn pinning_to_an_absent_cpu_names_it_and_the_allowed_ones() {
        for cpu in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU, usize::MAX] {
            let error = pin_current_thread(cpu).unwrap_err();
            assert_eq!(error, PinError::NotAllowed { cpu, allowed: allowed() });
            assert!(error.to_string().contains(&cpu.to_string()));
            assert!(error.to_string().contains(&list(&allowed())));
        }
    }

    #[test]
    fn a_failed_pin_leaves_the_thread_where_it_may_run() {
        let before = allowed();
        assert!(pin_current_thread(usize::MAX).is_err());
        assert_eq!(allowed(), before);
    }

    #[test]
    fn at_least_one_cpu_is_online_and_allowed() {
        assert!(online() >= 1);
        assert!(!allowed().is_empty());
    }

    #[test]
    fn malformed_cpu_lists_are_refused() {
        for text in ["a", "1-", "-1", "3-1", "0-99999999999", "0-70000", "1--2"] {
            assert_eq!(parse_list(text), None, "{text}");
        }
        assert_eq!(parse_list(""), Some(vec![]));
        assert_eq!(parse_list("0-1,4,6-7\n"), Some(vec![0, 1, 4, 6, 7]));
    }

    #[test]
    fn sizes_of_caches_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_kib("32768K\n"), Some(32 << 20));
        for text in ["", "K", "32M", "-1K", "99999999999999999999K"] {
            assert_eq!(parse_kib(text), None, "{text}");
        }
        assert!(last_cache().is_none_or(|bytes| (16 << 10..4 << 30).contains(&bytes)));
    }

    #[test]
    fn spinning_needs_two_cpus_of_machine_and_quota() {
        assert!(!leaves_two_cpus(1, None));
        assert!(!leaves_two_cpus(8, Some(1.99)));
        assert!(!leaves_two_cpus(1, Some(4.0)));
        assert!(leaves_two_cpus(2, None));
        assert!(leaves_two_cpus(8, Some(2.0)));
    }

    #[test]
    fn being_pinned_is_no_reason_not_to_spin() {
        let free = spinning_pays();
        let cpu = allowed()[0];
        let pinned = on_own_thread(move || {
            pin_current_thread(cpu).unwrap();
            leaves_two_cpus(online(), cgroup_quota())
        });
        assert_eq!(pinned, free);
    }

    #[test]
    fn the_smallest_quota_of_all_ancestors_counts() {
        let fixture = Fixture::new();
        let folders = [
            fixture.group(Version::V2, "a/b", &[("cpu.max", "max 100000\n")]),
            fixture.group(Version::V2, "a", &[("cpu.max", "150000 100000\n")]),
            fixture.group(Version::V2, "", &[("cpu.max", "400000 100000\n")]),
        ];
        assert_eq!(smallest_quota(&folders), Some(1.5));
    }

    #[test]
    fn version_1_quotas_are_read_from_two_files() {
        let fixture = Fixture::new();
        let files = [("cpu.cfs_quota_us", "50000\n"), ("cpu.cfs_period_us", "100000\n")];
        assert_eq!(smallest_quota(&[fixture.group(Version::V1, "", &files)]), Some(0.5));
    }

    #[test]
    fn an_absent_unlimited_or_malformed_quota_is_none() {
        let fixture = Fixture::new();
        let unlimited = [("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")];
        let folders = [
            fixture.group(Version::V1, "unlimited", &unlimited),
            fixture.group(Version::V1, "half", &[("cpu.cfs_quota_us", "1000")]),
            fixture.group(Version::V2, "max", &[("cpu.max", "max 100000")]),
            fixture.group(Version::V2, "short", &[("cpu.max", "100000")]),
            fixture.group(Version::V2, "zero", &[("cpu.max", "1000 0")]),
            fixture.group(Version::V2, "absent", &[]),
        ];
        assert_eq!(smallest_quota(&folders), None);
    }
}
