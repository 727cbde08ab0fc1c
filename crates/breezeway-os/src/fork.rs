//! Detection of a forked child without a system call.
//!
//! Writable segments are not inherited over fork (`MADV_DONTFORK`), so a child that used its
//! parent's session would fault. One private page that the kernel wipes on fork (`MADV_WIPEONFORK`)
//! lets every operation notice that first.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

/// Tokens given out; a child continues its parent's count, so that tokens differ across both.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Returns the word that is zero after a fork until this process requests its token; `None` where
/// no such page is available.
fn wiped_word() -> Option<&'static AtomicU64> {
    static WORD: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
    *WORD.get_or_init(|| {
        const PAGE: usize = 4096;
        // SAFETY: a fresh anonymous private mapping at an address of the kernel's choice touches no
        // memory that is in use.
        let page = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                PAGE,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .ok()?;
        // SAFETY: the advice concerns only the page mapped above, which no other code uses yet.
        unsafe { madvise(page, PAGE, Advice::LinuxWipeOnFork) }.ok()?;
        // SAFETY: the page is mapped, zeroed, aligned and never unmapped, so a static reference to
        // its first word is valid for ever.
        Some(unsafe { &*page.cast::<AtomicU64>() })
    })
}

/// The process that created a value. Parts of a session are unusable in a forked child.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    word: Option<&'static AtomicU64>,
    token: u64,
}

impl Origin {
    /// Returns the current process.
    pub fn here() -> Self {
        let word = wiped_word();
        let token = word.map_or(0, |word| {
            let fresh = NEXT.fetch_add(1, Ordering::Relaxed);
            match word.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => fresh,
                Err(token) => token,
            }
        });
        Self { word, token }
    }

    /// Returns another process, like the parent of a forked child.
    #[cfg(test)]
    pub(crate) fn elsewhere() -> Self {
        static WORD: AtomicU64 = AtomicU64::new(0);
        Self { word: Some(&WORD), token: 1 }
    }

    /// Returns true in that process, and false in a child forked from it.
    #[inline(always)]
    pub fn is_here(self) -> bool {
        self.word.is_none_or(|word| word.load(Ordering::Relaxed) == self.token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_one_token() {
        let (first, second) = (Origin::here(), Origin::here());
        assert_eq!(first.token, second.token);
        assert!(first.is_here() && second.is_here());
    }

    #[test]
    fn a_wiped_page_is_another_process() {
        static WORD: AtomicU64 = AtomicU64::new(7);
        let origin = Origin { word: Some(&WORD), token: 7 };
        assert!(origin.is_here());
        WORD.store(0, Ordering::Relaxed);
        assert!(!origin.is_here());
    }
}
