//! Files that this side removes: those it made, and by choice those that its client made.

use std::path::{Path, PathBuf};

use rustix::fs::{lstat, unlink};

use crate::named_file::NamedFile;

/// Files that go when this is dropped: only those that are still the ones that were made, and only
/// in the process that made them.
#[derive(Debug)]
pub(crate) struct CreatedFiles {
    files: Vec<(PathBuf, (u64, u64))>,
    adopted: Vec<NamedFile>,
    process: u32,
}

impl CreatedFiles {
    /// No files yet.
    pub(crate) fn new() -> Self {
        Self { files: Vec::new(), adopted: Vec::new(), process: std::process::id() }
    }

    /// The file at `path` was just made here, exclusively, with this device and inode.
    pub(crate) fn add(&mut self, path: &Path, identity: (u64, u64)) {
        self.files.push((path.to_owned(), identity));
    }

    /// A client made the file, and this side removes it when the session ends, as upstream's
    /// servers do.
    pub(crate) fn adopt(&mut self, file: NamedFile) {
        self.adopted.push(file);
    }
}

impl Drop for CreatedFiles {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        self.adopted.iter().for_each(NamedFile::remove);
        for (path, identity) in &self.files {
            if lstat(path).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == *identity) {
                // Upstream's side may have removed it in between.
                let _ = unlink(path);
            }
        }
    }
}
