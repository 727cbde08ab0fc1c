//! Folders of this process's control groups.
//!
//! A limit set on any ancestor binds, so a caller gets every folder from the process's own group up
//! to the mount point. Version 1 has one hierarchy per controller, version 2 one for all; both may
//! be mounted at once, and then a controller lives in exactly one of them, so folders of both are
//! returned, and the one without the controller's files is ignored.

use std::path::{Component, Path, PathBuf};

/// Version of the control group interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// One hierarchy per controller.
    V1,
    /// The unified hierarchy.
    V2,
}

/// One control group that contains this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder {
    /// Version of the interface files in the folder.
    pub(crate) version: Version,
    /// The folder, as mounted in this process's view.
    pub(crate) path: PathBuf,
}

impl Folder {
    /// Returns the text of an interface file without surrounding white space, if it can be read.
    pub(crate) fn read(&self, file: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.path.join(file)).ok()?;
        Some(text.trim().to_owned())
    }
}

/// Returns the groups of this process under `controller` (`"cpu"`, `"memory"`), innermost first.
///
/// Empty where `/proc` or the hierarchies are not mounted.
pub(crate) fn folders(controller: &str) -> Vec<Folder> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    folders_in(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), controller)
}

/// Like [`folders`], from the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
pub(crate) fn folders_in(mountinfo: &str, membership: &str, controller: &str) -> Vec<Folder> {
    let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
    let mut folders = Vec::new();
    for member in membership.lines().filter_map(Membership::parse) {
        if let Some(mount) = mounts.iter().find(|mount| mount.serves(&member, controller)) {
            folders.extend(mount.ancestors(member.path));
        }
    }
    folders
}

/// One line of `/proc/self/cgroup`: `hierarchy-id:controllers:path`.
struct Membership<'a> {
    version: Version,
    controllers: &'a str,
    path: &'a str,
}

impl<'a> Membership<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (hierarchy, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let unified = hierarchy == "0" && controllers.is_empty();
        let version = if unified { Version::V2 } else { Version::V1 };
        Some(Self { version, controllers, path })
    }
}

/// One control group mount of `/proc/self/mountinfo`.
struct Mount {
    version: Version,
    /// Group that is visible at the mount point.
    root: PathBuf,
    point: PathBuf,
    options: String,
}

impl Mount {
    /// Parses a line. Fields 4 and 5 are root and mount point; type, source and super options
    /// follow ` - `.
    fn parse(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let root = unescape(fields.next()?);
        let point = unescape(fields.next()?);
        let mut fields = after.split(' ');
        let version = match fields.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        let options = fields.nth(1).unwrap_or_default().to_owned();
        Some(Self { version, root, point, options })
    }

    fn serves(&self, member: &Membership<'_>, controller: &str) -> bool {
        let names = |list: &str| list.split(',').any(|name| name == controller);
        match (self.version, member.version) {
            (Version::V2, Version::V2) => true,
            (Version::V1, Version::V1) => names(member.controllers) && names(&self.options),
            _ => false,
        }
    }

    /// Returns the folders from the group `path` up to the mount point.
    fn ancestors(&self, path: &str) -> Vec<Folder> {
        // Joining an empty path would leave a trailing slash; collecting the components does not.
        let own: PathBuf = self.point.join(self.below_root(path)).components().collect();
        own.ancestors()
            .take_while(|folder| folder.starts_with(&self.point))
            .map(|folder| Folder { version: self.version, path: folder.to_owned() })
            .collect()
    }

    /// Returns the part of `path` below the mounted root; nothing if the group lies outside, as it
    /// does when a container sees its own group mounted as the root.
    fn below_root(&self, path: &str) -> PathBuf {
        let below = Path::new(path).strip_prefix(&self.root).unwrap_or(Path::new(""));
        let inside = below.components().all(|part| matches!(part, Component::Normal(_)));
        if inside { below.to_owned() } else { PathBuf::new() }
    }
}

/// Undoes the octal escapes (`\040` for a space) of mountinfo paths.
fn unescape(field: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'\\').then(|| octal(tail)).flatten();
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

fn octal(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits.get(..3)?).ok()?;
    u8::from_str_radix(digits, 8).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A folder that a test fills with interface files; removed when dropped.
    pub(crate) struct Fixture(PathBuf);

    impl Fixture {
        pub(crate) fn new() -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("breezeway-cgroup-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        /// Adds a group `group` (empty for the root) with `files`, and returns its folder.
        pub(crate) fn group(
            &self,
            version: Version,
            group: &str,
            files: &[(&str, &str)],
        ) -> Folder {
            let path = self.0.join(group);
            std::fs::create_dir_all(&path).unwrap();
            for (file, text) in files {
                std::fs::write(path.join(file), text).unwrap();
            }
            Folder { version, path }
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const V1_MOUNTS: &str = "\
23 1 0:21 / /proc rw,relatime - proc proc rw
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory";
    const V2_MOUNT: &str = "41 31 0:38 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";

    fn paths(mounts: &str, membership: &str, controller: &str) -> Vec<String> {
        let folders = folders_in(mounts, membership, controller);
        folders.iter().map(|folder| folder.path.display().to_string()).collect()
    }

    #[test]
    fn v1_paths_are_the_group_and_its_ancestors() {
        let found = paths(V1_MOUNTS, "4:memory:/a/b\n3:cpu,cpuacct:/c", "memory");
        let root = "/sys/fs/cgroup/memory";
        assert_eq!(found, [format!("{root}/a/b"), format!("{root}/a"), root.to_owned()]);
        assert_eq!(paths(V1_MOUNTS, "3:cpu,cpuacct:/", "cpu"), ["/sys/fs/cgroup/cpu,cpuacct"]);
    }

    #[test]
    fn version_2_yields_the_group_and_every_ancestor() {
        let found = folders_in(V2_MOUNT, "0::/user.slice/a.scope", "memory");
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|folder| folder.version == Version::V2));
        assert_eq!(found[0].path, Path::new("/sys/fs/cgroup/user.slice/a.scope"));
    }

    #[test]
    fn both_hierarchies_are_reported_when_both_are_mounted() {
        let mounts =
            format!("{V1_MOUNTS}\n{}", V2_MOUNT.replace("cgroup rw,", "cgroup/unified rw,"));
        let found = paths(&mounts, "4:memory:/\n0::/", "memory");
        assert_eq!(found, ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"]);
    }

    #[test]
    fn container_group_paths_start_at_the_mount_point() {
        let mount = V2_MOUNT.replace("0:38 / ", "0:38 /docker/1 ");
        assert_eq!(paths(&mount, "0::/docker/1", "cpu"), ["/sys/fs/cgroup"]);
        assert_eq!(paths(&mount, "0::/docker/1/x", "cpu")[0], "/sys/fs/cgroup/x");
        assert_eq!(paths(&mount, "0::/elsewhere", "cpu"), ["/sys/fs/cgroup"]);
        assert_eq!(paths(V2_MOUNT, "0::/../../other", "cpu"), ["/sys/fs/cgroup"]);
    }

    #[test]
    fn a_controller_without_a_mount_or_a_membership_yields_nothing() {
        assert!(paths(V1_MOUNTS, "4:memory:/a", "pids").is_empty());
        assert!(paths(V1_MOUNTS, "0::/a", "memory").is_empty());
        assert!(paths("", "4:memory:/a", "memory").is_empty());
        assert!(paths(V1_MOUNTS, "", "memory").is_empty());
    }

    #[test]
    fn garbage_lines_are_skipped() {
        let mounts = format!("\n - \n1 2 3 - cgroup\nx - cgroup2\n{V1_MOUNTS}");
        assert_eq!(paths(&mounts, "::\n:\n\n4:memory:/", "memory"), ["/sys/fs/cgroup/memory"]);
    }

    #[test]
    fn escaped_mount_points_are_unescaped_and_broken_escapes_kept() {
        assert_eq!(unescape(r"/a\040b"), Path::new("/a b"));
        assert_eq!(unescape(r"/a\04"), Path::new(r"/a\04"));
        assert_eq!(unescape(r"/a\999"), Path::new(r"/a\999"));
    }

    #[test]
    fn a_missing_interface_file_reads_as_nothing() {
        let fixture = Fixture::new();
        let folder = fixture.group(Version::V2, "", &[("cpu.max", " max 100000\n")]);
        assert_eq!(folder.read("cpu.max").as_deref(), Some("max 100000"));
        assert_eq!(folder.read("memory.max"), None);
    }
}
