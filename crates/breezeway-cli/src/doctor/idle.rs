//! Idle states of a CPU: they determine the cost of waking a sleeping peer.

use super::check::Check;
use breezeway_measure::machine::read;

pub(super) fn checks() -> Vec<Check> {
    let folder = "/sys/devices/system/cpu/cpuidle";
    let driver = read(format!("{folder}/current_driver"));
    let governor = read(format!("{folder}/current_governor"));
    let processor = read("/proc/cpuinfo").unwrap_or_default();
    let vendor = read("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let is_virtual = is_virtual_machine(&processor, &vendor);
    vec![machine(is_virtual), idle(driver.as_deref(), governor.as_deref(), is_virtual)]
}

fn machine(is_virtual: bool) -> Check {
    let seen = if is_virtual {
        "virtual: the host may take a CPU away at any time, which lengthens tails but not medians"
    } else {
        "no sign of a hypervisor"
    };
    Check::ok("machine", seen)
}

/// Returns true in a virtual machine. x86 has a CPU flag for it; elsewhere the firmware's vendor
/// names it.
fn is_virtual_machine(processor: &str, vendor: &str) -> bool {
    let mut flags = processor.lines().filter(|line| line.starts_with("flags"));
    let hypervisor = flags.any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    let vendors = ["QEMU", "VMware", "Xen", "innotek", "Amazon EC2", "Google", "Parallels"];
    hypervisor || vendors.iter().any(|name| vendor.starts_with(name))
}

fn idle(driver: Option<&str>, governor: Option<&str>, is_virtual: bool) -> Check {
    const NAME: &str = "idle";
    // Without a driver the kernel writes "none".
    let driver = driver.filter(|driver| *driver != "none" && !driver.is_empty());
    let Some(driver) = driver else { return without_driver(is_virtual) };
    let seen = format!("driver {driver}, governor {}", governor.unwrap_or("not known"));
    match (driver, governor) {
        ("haltpoll", _) | (_, Some("haltpoll")) => {
            Check::ok(NAME, format!("{seen}: an idle CPU polls for a moment before it halts"))
        }
        _ if is_virtual => Check::warn(
            NAME,
            seen,
            "modprobe cpuidle_haltpoll force=1, if wake-ups are slow: it polls before it halts",
        ),
        _ => Check::warn(
            NAME,
            seen,
            "deep states slow wake-ups down: limit them with cpupower idle-set -D 10, where that \
             matters more than power",
        ),
    }
}

fn without_driver(is_virtual: bool) -> Check {
    const NAME: &str = "idle";
    if !is_virtual {
        return Check::ok(NAME, "no idle driver");
    }
    Check::warn(
        NAME,
        "no idle driver: an idle CPU exits to the host at once, and so does every wake-up",
        "modprobe cpuidle_haltpoll force=1, if wake-ups are slow: it polls before it halts",
    )
}

#[cfg(test)]
mod tests {
    use super::super::check::Grade;
    use super::*;

    #[test]
    fn a_hypervisor_shows_in_the_cpu_flags_or_in_the_vendor() {
        assert!(is_virtual_machine("flags\t: fpu hypervisor sse", ""));
        assert!(is_virtual_machine("", "Amazon EC2"));
        assert!(!is_virtual_machine("model name: hypervisor\nflags: fpu", "Dell Inc."));
        assert!(!is_virtual_machine("", ""));
    }

    #[test]
    fn polling_before_halting_is_fine_anywhere() {
        for is_virtual in [true, false] {
            assert_eq!(idle(Some("haltpoll"), Some("haltpoll"), is_virtual).grade, Grade::Ok);
            assert_eq!(idle(Some("acpi_idle"), Some("haltpoll"), is_virtual).grade, Grade::Ok);
        }
    }

    #[test]
    fn deep_states_are_a_warning() {
        assert_eq!(idle(Some("intel_idle"), Some("menu"), false).grade, Grade::Warn);
        assert_eq!(idle(Some("acpi_idle"), None, true).grade, Grade::Warn);
    }

    #[test]
    fn a_virtual_machine_without_a_driver_is_a_warning() {
        for driver in [None, Some("none"), Some("")] {
            assert_eq!(idle(driver, Some("menu"), true).grade, Grade::Warn);
            assert_eq!(idle(driver, Some("menu"), false).grade, Grade::Ok);
        }
    }
}
