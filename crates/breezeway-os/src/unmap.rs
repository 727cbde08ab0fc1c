//! Unmapping: large ranges by a thread of its own, as the kernel takes milliseconds to free them.
//!
//! What that thread has not got to when the process exits, the kernel unmaps with the rest.

use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;

use rustix::mm::munmap;

use crate::fork::Origin;

/// A larger range is unmapped elsewhere: freeing it takes much longer than a hand-over, which takes
/// some 20 µs. A huge page takes 5, and 2 MiB of small ones 65.
const LARGE: usize = 2 << 20;
/// Bytes that are unmapped in one system call, for whose time no other thread of this process maps.
const PIECE: usize = 2 << 20;
/// Ranges that wait to be unmapped at one time; one more is unmapped by the thread that drops it.
const MAX_WAITING: usize = 1024;

/// A mapped range that nobody uses any more.
struct Range {
    address: NonNull<u8>,
    len: usize,
}

// SAFETY: `unmap` requires that nothing points into the range, so the value is its only owner, and
// munmap may be called from any thread.
unsafe impl Send for Range {}

impl Range {
    /// From its end, so that what is left stays one range, which needs no memory of the kernel's.
    fn unmap(self) {
        let mut left = self.len;
        while left > 0 {
            let piece = left.min(PIECE);
            left -= piece;
            // SAFETY: `unmap`, which makes every `Range`, requires that it was mapped as one piece
            // and that nothing points into it; `self` is taken, so each piece is unmapped once.
            // munmap of mapped pages fails only if it cannot allocate to split a mapping, and
            // cutting off the end of one splits nothing.
            let _ = unsafe { munmap(self.address.as_ptr().add(left).cast(), piece) };
        }
    }
}

/// Unmaps a range, perhaps later and by another thread.
///
/// # Safety
///
/// The range was mapped as one piece, and nothing points into it any more.
pub(crate) unsafe fn unmap(address: NonNull<u8>, len: usize) {
    let range = Range { address, len };
    let range = if len <= LARGE { Some(range) } else { hand_over(range) };
    if let Some(range) = range {
        range.unmap();
    }
}

/// Gives the range back if there is no thread for it, or that one has too much to do.
fn hand_over(range: Range) -> Option<Range> {
    static UNMAPPER: OnceLock<Option<(Origin, SyncSender<Range>)>> = OnceLock::new();
    let start = || {
        let (sender, receiver) = sync_channel::<Range>(MAX_WAITING);
        let builder = thread::Builder::new().name("breezeway-unmap".to_owned());
        builder.spawn(move || receiver.into_iter().for_each(Range::unmap)).ok()?;
        Some((Origin::here(), sender))
    };
    // A forked child has its parent's mappings, but not its threads.
    match UNMAPPER.get_or_init(start) {
        Some((origin, sender)) if origin.is_here() => match sender.try_send(range) {
            Ok(()) => None,
            Err(TrySendError::Full(range) | TrySendError::Disconnected(range)) => Some(range),
        },
        _ => Some(range),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use crate::segment;

    /// Names of this process's threads.
    fn threads() -> Vec<String> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        // A thread may end meanwhile.
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok()).collect()
    }

    /// Bytes of the range that are mapped.
    fn mapped(range: std::ops::Range<usize>) -> usize {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let segments = maps.lines().filter(|line| line.contains("memfd:breezeway"));
        let of_line = |line: &str| {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let at = |number| usize::from_str_radix(number, 16).unwrap();
            at(to).min(range.end).saturating_sub(at(from).max(range.start))
        };
        segments.map(of_line).sum()
    }

    #[test]
    fn a_large_mapping_is_unmapped_to_its_last_page_by_another_thread() {
        // Larger than what other tests map, so that nothing else comes to lie there at once.
        let (mapping, _fd) = segment::create((64 << 20) + 4096).unwrap();
        let start = mapping.address() as usize;
        let range = start..start + mapping.size();
        assert_eq!(mapped(range.clone()), mapping.size());
        drop(mapping);
        let deadline = Instant::now() + Duration::from_secs(10);
        while mapped(range.clone()) > 0 {
            assert!(Instant::now() < deadline, "still mapped");
            std::thread::yield_now();
        }
        assert!(threads().contains(&"breezeway-unmap\n".to_owned()), "{:?}", threads());
    }
}
