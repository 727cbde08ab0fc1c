//! The machine that is measured, and the CPUs of a measurement.

mod cpus;
mod topology;

use std::path::{Path, PathBuf};

use breezeway_os::{clock, cpu};
use serde::Serialize;

pub use cpus::{Cpus, pin};
pub use topology::{format_list, last_level_cache, read};

/// Properties of the machine that figures depend on.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Name of the CPU in `/proc/cpuinfo`.
    pub cpu_model: String,
    /// Name and release.
    pub kernel: String,
    /// Name of the architecture, of `uname -m`.
    pub architecture: String,
    /// True if a hypervisor announces itself.
    pub virtual_machine: bool,
    /// Number of running CPUs.
    pub cpus_online: usize,
    /// CPUs that this process may use, in the kernel's list format.
    pub cpus_allowed: String,
    /// CPU of the measuring process.
    pub client_cpu: usize,
    /// CPU of the server.
    pub server_cpu: usize,
    /// The closest thing that both CPUs share.
    pub shared: String,
    /// CPU time that the control group grants, in CPUs; None without a quota.
    pub cpu_quota: Option<f64>,
    /// Clock that durations are read from.
    pub clock: &'static str,
}

impl Machine {
    /// Returns the properties of the machine on which this runs.
    #[must_use]
    pub fn detect(cpus: Cpus) -> Self {
        let system = rustix::system::uname();
        let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
        let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
        Self {
            cpu_model: model(&cpuinfo).unwrap_or("unknown").to_owned(),
            kernel: format!("{} {}", text(system.sysname()), text(system.release())),
            architecture: text(system.machine()),
            virtual_machine: has_hypervisor(&cpuinfo),
            cpus_online: cpu::online(),
            cpus_allowed: format_list(&cpu::allowed()),
            client_cpu: cpus.measurer,
            server_cpu: cpus.partner,
            shared: shared(Path::new("/sys/devices/system/cpu"), cpus).to_owned(),
            cpu_quota: cpu::cgroup_quota(),
            clock: clock::source(),
        }
    }

    /// Label and value of each fact, for people.
    #[must_use]
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let machine = if self.virtual_machine { ", virtual machine" } else { "" };
        let quota = self.cpu_quota.map_or(String::new(), |cpus| format!(", quota {cpus} CPUs"));
        vec![
            ("CPU", format!("{} ({}{machine})", self.cpu_model, self.architecture)),
            ("CPUs", format!("{} online, {} allowed{quota}", self.cpus_online, self.cpus_allowed)),
            (
                "pinned",
                format!(
                    "client to {}, server to {}: {}",
                    self.client_cpu, self.server_cpu, self.shared
                ),
            ),
            ("kernel", self.kernel.clone()),
            ("clock", self.clock.to_owned()),
        ]
    }
}

/// The first model name of /proc/cpuinfo; other architectures than x86 have none.
fn model(cpuinfo: &str) -> Option<&str> {
    field(cpuinfo, "model name")
}

fn has_hypervisor(cpuinfo: &str) -> bool {
    field(cpuinfo, "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// The closest thing that two CPUs below `folder` share.
fn shared(folder: &Path, cpus: Cpus) -> &'static str {
    let of = |cpu: usize| folder.join(format!("cpu{cpu}"));
    let same = |list_of: fn(PathBuf) -> Option<String>| {
        let list = list_of(of(cpus.measurer)).and_then(|text| cpu::parse_list(&text));
        list.map(|list| list.contains(&cpus.partner))
    };
    let topology = |name: &'static str| read(of(cpus.measurer).join("topology").join(name));
    let package = topology("package_cpus_list").and_then(|text| cpu::parse_list(&text));
    if same(|cpu| read(cpu.join("topology/thread_siblings_list"))) == Some(true) {
        return "two threads of one core";
    }
    match (same(|cpu| last_level_cache(&cpu)), package) {
        (Some(true), _) => "two cores that share the last-level cache",
        (Some(false), Some(package)) if package.contains(&cpus.partner) => {
            "one socket, different last-level caches"
        }
        (Some(false), Some(_)) => "different sockets",
        _ => "what they share is not known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nmodel name\t: Fast <CPU>\nflags\t\t: fpu hypervisor\n";

    #[test]
    fn cpuinfo_yields_model_and_hypervisor() {
        assert_eq!(model(CPUINFO), Some("Fast <CPU>"));
        assert!(has_hypervisor(CPUINFO));
        assert_eq!(model("processor: 0"), None);
        assert!(!has_hypervisor("flags: hypervisor_not"));
    }

    #[test]
    fn unknown_topology_is_named() {
        let cpus = Cpus { measurer: 0, partner: 1 };
        assert!(shared(Path::new("/nowhere"), cpus).contains("not known"));
    }

    #[test]
    fn the_closest_shared_thing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join("cpu0").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let sharing = |partner| shared(folder.path(), Cpus { measurer: 0, partner });
        write("topology/thread_siblings_list", "0,8");
        write("cache/index3/level", "3");
        write("cache/index3/shared_cpu_list", "0-1,8");
        write("topology/package_cpus_list", "0-3,8");
        assert_eq!(sharing(8), "two threads of one core");
        assert_eq!(sharing(1), "two cores that share the last-level cache");
        assert_eq!(sharing(3), "one socket, different last-level caches");
        assert_eq!(sharing(5), "different sockets");
    }
}
