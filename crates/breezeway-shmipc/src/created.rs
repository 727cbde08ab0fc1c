//! Files that this side made, and removes.

use std::path::{Path, PathBuf};

use rustix::fs::{lstat, unlink};

/// Files that go when this is dropped: only those that are still the ones that were made, and only
/// in the process that made them.
#[derive(Debug)]
pub(crate) struct CreatedFiles {
    files: Vec<(PathBuf, (u64, u64))>,
    process: u32,
}

impl CreatedFiles {
    /// No files yet.
    pub(crate) fn new() -> Self {
        Self { files: Vec::new(), process: std::process::id() }
    }

    /// The file at `path` was just made here, exclusively, with this device and inode.
    pub(crate) fn add(&mut self, path: &Path, identity: (u64, u64)) {
        self.files.push((path.to_owned(), identity));
    }
}

impl Drop for CreatedFiles {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        for (path, identity) in &self.files {
            if lstat(path).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == *identity) {
                // Upstream's side may have removed it in between.
                let _ = unlink(path);
            }
        }
    }
}
