//! Files that this side creates and removes.

use std::path::{Path, PathBuf};

use rustix::fs::{lstat, unlink};

/// Files that are removed when this is dropped: only those that are still the created ones, and
/// only in the process that created them.
#[derive(Debug)]
pub(crate) struct CreatedFiles {
    files: Vec<(PathBuf, (u64, u64))>,
    process: u32,
}

impl CreatedFiles {
    /// Creates a set without files.
    pub(crate) fn new() -> Self {
        Self { files: Vec::new(), process: std::process::id() }
    }

    /// Adds the file at `path`, which was just created exclusively, with this device and inode.
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
