//! Memory headroom that the control groups leave to this process.
//!
//! Past a memory limit the kernel kills the process instead of failing a call, so a segment is
//! refused before it is created. This is best effort: other processes of the group may take the
//! memory in between.

use crate::cgroup::{self, Folder, Version};
use crate::segment::SegmentError;
use std::alloc::{self, Layout};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time for which a reading is valid: reading takes longer than making a control segment.
const READING_COUNTS: Duration = Duration::from_secs(1);

/// Headroom below the tightest memory limit that binds this process, at the time of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headroom {
    /// The limit in bytes.
    pub limit: u64,
    /// Bytes that the group uses, file cache included.
    pub usage: u64,
    /// Bytes of `usage` that are file cache, which the kernel drops before it kills.
    pub reclaimable: u64,
    /// File that the limit was read from, where it can be raised.
    pub file: PathBuf,
}

impl Headroom {
    /// Returns the bytes that can still be taken: the limit less the unreclaimable usage.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.limit.saturating_sub(self.usage.saturating_sub(self.reclaimable))
    }
}

/// Returns the smallest headroom over all control groups that contain this process, or `None`
/// without a limit.
/// limit.
///
/// Reads `memory.max` and `memory.current` (version 2) or `memory.limit_in_bytes` and
/// `memory.usage_in_bytes` (version 1), and `memory.stat` for the file cache.
#[must_use]
pub fn cgroup_headroom() -> Option<Headroom> {
    smallest_headroom(&cgroup::folders("memory"))
}

/// The last reading.
#[derive(Debug)]
struct Reading {
    until: Instant,
    /// Bytes that may be taken before the next reading, since other processes' use is unknown.
    trusted: u64,
}

impl Reading {
    fn new(headroom: Option<&Headroom>, now: Instant) -> Self {
        let trusted = headroom.map_or(u64::MAX, |headroom| headroom.available() / 8);
        Self { until: now + READING_COUNTS, trusted }
    }

    /// Takes `bytes` from a valid reading. Returns false if they do not fit.
    fn take(&mut self, bytes: u64, now: Instant) -> bool {
        let fits = now < self.until && bytes <= self.trusted;
        self.trusted -= if fits { bytes } else { 0 };
        fits
    }
}

/// Checks that `size` bytes can be taken, by a reading that is at most a second old and of which
/// little was taken since.
///
/// # Errors
///
/// [`SegmentError::NoHeadroom`] with the bytes left, if they do not suffice.
pub fn check_headroom(size: usize) -> Result<(), SegmentError> {
    static LAST: Mutex<Option<Reading>> = Mutex::new(None);
    let bytes = size as u64;
    let now = Instant::now();
    // A lock held by another thread during a fork would stay locked in the child.
    let mut last = LAST.try_lock().ok();
    if let Some(Some(reading)) = last.as_deref_mut()
        && reading.take(bytes, now)
    {
        return Ok(());
    }
    let headroom = cgroup_headroom();
    if let Some(last) = &mut last {
        let mut reading = Reading::new(headroom.as_ref(), now);
        reading.take(bytes, now);
        **last = Some(reading);
    }
    match headroom {
        Some(headroom) if headroom.available() < bytes => Err(SegmentError::NoHeadroom {
            size,
            headroom: headroom.available(),
            file: headroom.file.display().to_string(),
        }),
        _ => Ok(()),
    }
}

/// Size from which private memory is checked.
const CHECKED_FROM: usize = 64 * 1024;
/// Size from which blocks are mappings of their own, which grow without a copy: glibc's
/// `DEFAULT_MMAP_THRESHOLD_MAX` (mallopt(3)).
const MAPPED_FROM: usize = 32 * 1024 * 1024;

/// Reserves room for `additional` bytes behind those of `to`, like `Vec::reserve_exact`.
///
/// # Errors
///
/// The memory cgroup has no room for them, where touching them would end the process, or the
/// allocator has none, where `Vec::reserve_exact` would abort. `to` is unchanged.
pub fn reserve(to: &mut Vec<u8>, additional: usize) -> Result<(), SegmentError> {
    let wanted = to.len().saturating_add(additional);
    if wanted <= to.capacity() {
        return Ok(());
    }
    if wanted >= CHECKED_FROM {
        // The allocator may copy a smaller block, and keep both for as long as that takes.
        let kept = if to.capacity() >= MAPPED_FROM { to.capacity() } else { 0 };
        check_headroom(wanted - kept)?;
    }
    to.try_reserve_exact(additional).map_err(|_| SegmentError::Private { size: wanted })
}

/// Returns a copy of `bytes`.
///
/// # Errors
///
/// Those of [`reserve`].
pub fn copy_of(bytes: &[u8]) -> Result<Vec<u8>, SegmentError> {
    let mut copy = Vec::new();
    reserve(&mut copy, bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Returns `len` zero bytes, whose pages the kernel provides when they are first written.
///
/// # Errors
///
/// Those of [`reserve`].
pub fn zeroed(len: usize) -> Result<Vec<u8>, SegmentError> {
    if len >= CHECKED_FROM {
        check_headroom(len)?;
    }
    let failed = SegmentError::Private { size: len };
    let Ok(layout) = Layout::array::<u8>(len) else { return Err(failed) };
    if len == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout's size is `len`, which is not 0.
    let bytes = unsafe { alloc::alloc_zeroed(layout) };
    if bytes.is_null() {
        return Err(failed);
    }
    // SAFETY: the global allocator returned `bytes` for a layout of `len` bytes with the alignment
    // of `u8`, so `len` is the capacity; it wrote zeros to all of them; no other value owns them.
    Ok(unsafe { Vec::from_raw_parts(bytes, len, len) })
}

/// Interface files of one version.
struct Files {
    limit: &'static str,
    usage: &'static str,
    /// Lines of `memory.stat` that count file cache, of the group and those below it.
    cache: [&'static str; 2],
}

const V1: Files = Files {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cache: ["total_inactive_file", "total_active_file"],
};

const V2: Files =
    Files { limit: "memory.max", usage: "memory.current", cache: ["inactive_file", "active_file"] };

/// Lowest value that means no limit: version 1 uses the largest number of pages; no machine has an
/// exbibyte.
const NO_LIMIT: u64 = 1 << 60;

fn smallest_headroom(folders: &[Folder]) -> Option<Headroom> {
    folders.iter().filter_map(headroom_of).min_by_key(Headroom::available)
}

fn headroom_of(folder: &Folder) -> Option<Headroom> {
    let files = match folder.version {
        Version::V1 => V1,
        Version::V2 => V2,
    };
    // "max", version 2's spelling of no limit, does not parse.
    let limit = folder.read(files.limit)?.parse().ok().filter(|&limit| limit < NO_LIMIT)?;
    let usage = folder.read(files.usage)?.parse().ok()?;
    let statistics = folder.read("memory.stat").unwrap_or_default();
    let reclaimable = cache_in(&statistics, &files.cache);
    Some(Headroom { limit, usage, reclaimable, file: folder.path.join(files.limit) })
}

/// Returns the sum of the `names` lines in the text of `memory.stat`.
fn cache_in(statistics: &str, names: &[&str]) -> u64 {
    let values = statistics.lines().filter_map(|line| {
        let (name, value) = line.split_once(' ')?;
        if names.contains(&name) { value.parse().ok() } else { None }
    });
    values.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::tests::Fixture;

    #[test]
    fn version_2_reports_limit_usage_cache_and_file() {
        let fixture = Fixture::new();
        let files = [
            ("memory.max", "1000\n"),
            ("memory.current", "700\n"),
            ("memory.stat", "anon 400\nfile 300\nshmem 50\ninactive_file 200\nactive_file 50\n"),
        ];
        let folder = fixture.group(Version::V2, "", &files);
        let file = folder.path.join("memory.max");
        let headroom = smallest_headroom(&[folder]).unwrap();
        assert_eq!(headroom, Headroom { limit: 1000, usage: 700, reclaimable: 250, file });
        assert_eq!(headroom.available(), 550);
    }

    #[test]
    fn version_1_counts_the_cache_of_the_groups_below_once() {
        let fixture = Fixture::new();
        let files = [
            ("memory.limit_in_bytes", "1000\n"),
            ("memory.usage_in_bytes", "900\n"),
            ("memory.stat", "inactive_file 7\ntotal_inactive_file 100\ntotal_active_file 20\n"),
        ];
        let headroom = smallest_headroom(&[fixture.group(Version::V1, "", &files)]).unwrap();
        assert_eq!((headroom.reclaimable, headroom.available()), (120, 220));
    }

    #[test]
    fn the_ancestor_with_the_least_left_counts_not_the_lowest_limit() {
        let fixture = Fixture::new();
        let group = |name, limit, usage| {
            fixture.group(Version::V2, name, &[("memory.max", limit), ("memory.current", usage)])
        };
        let folders = [group("a/b", "500", "100"), group("a", "900", "800"), group("", "max", "9")];
        let headroom = smallest_headroom(&folders).unwrap();
        assert_eq!((headroom.limit, headroom.available()), (900, 100));
        assert!(headroom.file.ends_with("a/memory.max"));
    }

    #[test]
    fn a_usage_past_the_limit_leaves_nothing() {
        let file = PathBuf::from("memory.max");
        let headroom = Headroom { limit: 10, usage: 30, reclaimable: 0, file };
        assert_eq!(headroom.available(), 0);
    }

    #[test]
    fn more_cache_than_usage_leaves_the_limit() {
        let file = PathBuf::from("memory.max");
        let headroom = Headroom { limit: 10, usage: 3, reclaimable: 5, file };
        assert_eq!(headroom.available(), 10);
    }

    #[test]
    fn absent_unlimited_and_malformed_limits_are_none() {
        let fixture = Fixture::new();
        let v1 = |name, limit| {
            let files = [("memory.limit_in_bytes", limit), ("memory.usage_in_bytes", "1")];
            fixture.group(Version::V1, name, &files)
        };
        let folders = [
            v1("unlimited", "9223372036854771712"),
            v1("negative", "-1"),
            v1("empty", ""),
            fixture.group(Version::V2, "max", &[("memory.max", "max"), ("memory.current", "1")]),
            fixture.group(Version::V2, "no-usage", &[("memory.max", "10")]),
            fixture.group(Version::V2, "absent", &[]),
        ];
        assert_eq!(smallest_headroom(&folders), None);
        assert_eq!(smallest_headroom(&[]), None);
    }

    #[test]
    fn a_malformed_statistics_file_counts_as_no_cache() {
        for text in ["", "inactive_file", "inactive_file x", "inactive_file -3", "other 5"] {
            assert_eq!(cache_in(text, &V2.cache), 0, "{text}");
        }
        assert_eq!(
            cache_in("inactive_file 18446744073709551615\nactive_file 9", &V2.cache),
            u64::MAX
        );
    }

    #[test]
    fn reading_expires_after_an_eighth_or_a_second() {
        let headroom =
            Headroom { limit: 900, usage: 100, reclaimable: 0, file: PathBuf::from("memory.max") };
        let now = Instant::now();
        let mut reading = Reading::new(Some(&headroom), now);
        assert!(!reading.take(101, now));
        assert!(reading.take(60, now) && reading.take(40, now));
        assert!(!reading.take(1, now));
        let mut reading = Reading::new(None, now);
        assert!(reading.take(u64::MAX / 2, now));
        assert!(!reading.take(1, now + READING_COUNTS));
    }

    #[test]
    fn reserve_without_memory_fails_and_keeps_bytes() {
        let mut bytes = vec![1, 2];
        let error = reserve(&mut bytes, isize::MAX as usize).unwrap_err();
        assert!(error.is_shortage(), "{error}");
        assert_eq!(bytes, [1, 2]);
        assert!(zeroed(isize::MAX as usize).unwrap_err().is_shortage());
    }

    #[test]
    fn zeroed_gives_as_many_zeros_as_asked_for() {
        for len in [0, 1, CHECKED_FROM - 1, CHECKED_FROM, 1 << 20] {
            assert_eq!(zeroed(len).unwrap(), vec![0; len]);
        }
    }

    #[test]
    fn asking_on_this_machine_gives_a_consistent_answer() {
        if let Some(headroom) = cgroup_headroom() {
            assert!(headroom.available() <= headroom.limit);
            assert!(headroom.limit < NO_LIMIT);
        }
    }
}
