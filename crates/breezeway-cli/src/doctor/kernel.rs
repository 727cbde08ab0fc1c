//! The kernel's support for sealed segments.

use super::check::Check;
use breezeway_measure::machine::read;
use breezeway_os::segment;

/// The first kernel with `F_SEAL_FUTURE_WRITE`.
const OLDEST: (u32, u32) = (5, 1);

pub(super) fn checks() -> Vec<Check> {
    let name = rustix::system::uname();
    let probe = segment::probe().map_err(|error| error.to_string());
    vec![
        version(&name.release().to_string_lossy()),
        seals(probe),
        memfd_noexec(read("/proc/sys/vm/memfd_noexec").as_deref()),
        huge_pages(
            read("/sys/kernel/mm/transparent_hugepage/shmem_enabled").as_deref(),
            segment::try_huge_page().map_err(|error| error.to_string()),
        ),
    ]
}

fn version(release: &str) -> Check {
    match parse_version(release) {
        Some(version) if version >= OLDEST => Check::ok("kernel", format!("Linux {release}")),
        Some(_) => {
            Check::fail("kernel", format!("Linux {release}"), "shm: needs Linux 5.1 or newer")
        }
        None => Check::warn(
            "kernel",
            format!("release {release:?} is not understood"),
            "shm: needs Linux 5.1 or newer; the seals check decides",
        ),
    }
}

/// Major and minor number of a release such as `6.18.44-1-amd64`.
fn parse_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn seals(probe: Result<(), String>) -> Check {
    match probe {
        Ok(()) => Check::ok(
            "seals",
            "a sealed memfd refuses writes, resizing and a second writable mapping",
        ),
        Err(error) => Check::fail(
            "seals",
            error.replace('\n', " "),
            "let the sandbox or container allow memfd_create, fcntl(F_ADD_SEALS), fallocate, \
             pwritev and mmap",
        ),
    }
}

fn memfd_noexec(setting: Option<&str>) -> Check {
    const NAME: &str = "memfd_noexec";
    match setting {
        None => Check::ok(NAME, "no such setting (Linux before 6.3)"),
        Some(value @ ("0" | "1" | "2")) => {
            Check::ok(NAME, format!("{value}; segments ask for memory that is not executable"))
        }
        Some(value) => Check::warn(
            NAME,
            format!("{value:?} is not understood"),
            "segments ask for memory that is not executable, which 0, 1 and 2 allow",
        ),
    }
}

/// With `always` or `force` a small segment takes a whole huge page.
fn huge_pages(setting: Option<&str>, tried: Result<(), String>) -> Check {
    const NAME: &str = "huge pages";
    let chosen = setting.and_then(|text| text.split(['[', ']']).nth(1));
    match (chosen, tried) {
        (Some(value @ ("always" | "force")), _) => Check::warn(
            NAME,
            format!("{value} for shared memory, so a small segment takes a huge page"),
            "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled",
        ),
        (_, Ok(())) => Check::ok(NAME, "segments from 512 KiB on have them"),
        (chosen, Err(error)) => Check::warn(
            NAME,
            format!(
                "{} for shared memory, and none can be had ({error}), so the first large messages \
                 of a session take longer",
                chosen.unwrap_or("no setting")
            ),
            "use Linux 6.1 or newer with transparent huge pages, and \
             echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Grade;
    use super::*;

    #[test]
    fn kernels_before_5_1_fail() {
        for release in ["5.0.21", "4.19.0-26-amd64", "3.10.0-1160.el7.x86_64", "5.0"] {
            assert_eq!(version(release).grade, Grade::Fail, "{release}");
        }
        for release in ["5.1.0", "5.10", "6.18.44", "10.0.0-rc1"] {
            assert_eq!(version(release).grade, Grade::Ok, "{release}");
        }
    }

    #[test]
    fn a_release_that_is_not_understood_is_no_failure() {
        for release in ["", "linux", "6", "6.x", "99999999999.1"] {
            assert_eq!(version(release).grade, Grade::Warn, "{release}");
        }
    }

    #[test]
    fn failed_probe_is_a_failure_with_one_line_reason() {
        let check = seals(Err("no\nseals".to_owned()));
        assert_eq!((check.grade, check.seen.as_str()), (Grade::Fail, "no seals"));
        assert!(check.advice.unwrap().contains("memfd_create"));
    }

    #[test]
    fn every_known_noexec_policy_is_fine() {
        for setting in [None, Some("0"), Some("1"), Some("2")] {
            assert_eq!(memfd_noexec(setting).grade, Grade::Ok);
        }
        assert_eq!(memfd_noexec(Some("3")).grade, Grade::Warn);
        assert_eq!(memfd_noexec(Some("")).grade, Grade::Warn);
    }

    #[test]
    fn huge_pages_for_every_segment_are_a_warning() {
        for setting in ["[always] within_size advise never", "always never deny [force]"] {
            assert_eq!(huge_pages(Some(setting), Ok(())).grade, Grade::Warn);
        }
    }

    #[test]
    fn huge_pages_pass_and_missing_ones_are_explained() {
        for setting in [None, Some(""), Some("always [never]"), Some("garbage")] {
            assert_eq!(huge_pages(setting, Ok(())).grade, Grade::Ok);
        }
        let check = huge_pages(Some("never [deny]"), Err("EINVAL".to_owned()));
        assert_eq!(check.grade, Grade::Warn);
        assert!(check.seen.contains("deny") && check.seen.contains("EINVAL"), "{}", check.seen);
        assert!(check.advice.unwrap().contains("shmem_enabled"));
    }
}
