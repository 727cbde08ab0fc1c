//! Unmapping of large ranges by a dedicated thread, because the kernel takes milliseconds to free
//! them.
//!
//! Ranges that the thread has not unmapped when the process exits are unmapped by the kernel.

use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;

use rustix::mm::munmap;

use crate::fork::Origin;

/// Size above which a range is unmapped by the thread: freeing it takes much longer than a
/// hand-over.
const LARGE: usize = 2 << 20;
/// Bytes unmapped in one system call, during which no other thread of this process can map.
const PIECE: usize = 2 << 20;
/// Maximum number of ranges that wait to be unmapped; a further one is unmapped by the thread that
/// drops it.
const MAX_WAITING: usize = 1024;

/// A mapped range that is no longer used.
struct Range {
    address: NonNull<u8>,
    len: usize,
}

// SAFETY: `unmap` requires that nothing points into the range, so the value is its only owner, and
// munmap may be called from any thread.
unsafe impl Send for Range {}

impl Range {
    /// Unmaps the range from its end, so that the rest stays one range, which needs no kernel
    /// memory.
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

/// Passes a range to the thread. Returns it if the thread is missing, or its queue is full.
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
        // A thread may end at the same time.
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok()).collect()
    }

    /// Returns the mapped bytes of the range.
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
    fn large_mapping_is_unmapped_by_another_thread() {
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
