//! A folder for the socket and the shared files of one test.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder in shared memory, removed with the test and all files that its processes left there.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("breezeway-interop-").tempdir_in("/dev/shm");
        Self(folder.expect("a folder in /dev/shm"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("socket")
    }

    /// Returns the prefix of the names of a client's files.
    pub(crate) fn prefix(&self) -> PathBuf {
        self.path().join("region")
    }

    /// Returns the names of the files that processes share now.
    pub(crate) fn regions(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).expect("our own folder");
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("region")).collect()
    }
}
