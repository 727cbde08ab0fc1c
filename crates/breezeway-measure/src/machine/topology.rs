//! The kernel's description of CPUs below `/sys/devices/system/cpu`.

use std::path::Path;

/// The text of a kernel file without surrounding white space, if it can be read.
pub fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// The CPU list of the highest cache level below `folder` (`cpu0` …).
#[must_use]
pub fn last_level_cache(folder: &Path) -> Option<String> {
    let indices = std::fs::read_dir(folder.join("cache")).ok()?.flatten();
    let levels = indices.filter_map(|index| {
        let level: u32 = read(index.path().join("level"))?.parse().ok()?;
        Some((level, read(index.path().join("shared_cpu_list"))?))
    });
    levels.max_by_key(|(level, _)| *level).map(|(_, cpus)| cpus)
}

/// The kernel's list format: `0-3,8`.
#[must_use]
pub fn format_list(cpus: &[usize]) -> String {
    let ranges = cpus.chunk_by(|a, b| a + 1 == *b).map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        _ => format!("{}", range[0]),
    });
    ranges.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_as_the_kernel_does() {
        assert_eq!(format_list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(format_list(&[]), "");
    }

    #[test]
    fn a_missing_file_reads_as_nothing() {
        assert_eq!(read("/proc/self/no-such-file"), None);
    }
}
