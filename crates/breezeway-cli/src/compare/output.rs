//! Files that are written at the end of a run, and refused before it if they cannot be.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::failure::Failure;

/// A file that appears under its name only once it is complete.
pub(super) struct Output {
    file: NamedTempFile<File>,
    path: PathBuf,
}

impl Output {
    /// Makes sure that `path` can be written.
    pub(super) fn prepare(path: &Path) -> Result<Self, Failure> {
        let refuse =
            |why: &dyn std::fmt::Display| format!("cannot write {}: {why}", path.display());
        let target = target(path).map_err(|why| refuse(&why))?;
        let folder = match target.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        // Made here rather than by the crate, whose errors name a file that users do not know.
        let file = Builder::new()
            .prefix(".breezeway-")
            .make_in(folder, |path| File::create_new(path))
            .map_err(|error| refuse(&error))?;
        Ok(Self { file, path: target })
    }

    pub(super) fn write(mut self, text: &str) -> Result<PathBuf, Failure> {
        let refuse =
            |why: &dyn std::fmt::Display| format!("cannot write {}: {why}", self.path.display());
        self.file.write_all(text.as_bytes()).map_err(|error| refuse(&error))?;
        self.file.persist(&self.path).map_err(|error| refuse(&error.error))?;
        Ok(std::path::absolute(&self.path).unwrap_or(self.path))
    }
}

/// Returns the file of `path`. If it exists it must be a file: it will be replaced, which would
/// harm a device.
fn target(path: &Path) -> Result<PathBuf, String> {
    let is_link = path.is_symlink();
    let target = if is_link { path.canonicalize() } else { Ok(path.to_owned()) };
    let target = target.map_err(|error| error.to_string())?;
    match target.metadata() {
        Ok(found) if found.is_dir() => Err("it is a folder".to_owned()),
        Ok(found) if !found.is_file() => Err("it is not a regular file".to_owned()),
        _ if target.file_name().is_none() => Err("it is not a file name".to_owned()),
        _ => Ok(target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_only_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        drop(Output::prepare(&path).unwrap());
        assert_eq!(names(), 0);
        Output::prepare(&path).unwrap().write("all of it").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "all of it");
        assert_eq!(names(), 1);
    }

    #[test]
    fn unwritable_output_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("no/such/folder.json"), folder.path().to_owned()] {
            let error = Output::prepare(&path).err().unwrap().to_string();
            assert!(error.starts_with("cannot write "), "{error}");
        }
    }

    #[test]
    fn devices_are_left_alone_and_links_are_followed() {
        assert!(Output::prepare(Path::new("/dev/null")).is_err());
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        Output::prepare(&link).unwrap().write("new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(file).unwrap(), "new");
    }
}
