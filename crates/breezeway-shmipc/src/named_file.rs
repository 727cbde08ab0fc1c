//! Safe opening of a file that a client names: only inside the folders that the options allow and
//! on their file systems, never through a symbolic link, only regular files of the client's user,
//! and not before that is known. (openat2(2) with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
//! RESOLVE_NO_XDEV`; the check is made on a descriptor that can neither read nor write.)

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat2, statat, unlinkat,
};
use rustix::io::Errno;

use crate::error::HandshakeError;
use crate::log_limit::warn_limited;

/// Device and inode.
pub(crate) type FileIdentity = (u64, u64);

/// A file that a client named and this side has open.
#[derive(Debug)]
pub(crate) struct NamedFile {
    pub(crate) file: OwnedFd,
    pub(crate) identity: FileIdentity,
}

/// Name of a file that is mapped here, for removal. No descriptor is held for it: the name is
/// resolved once more, by the same rules, and while the file is mapped no other has its identity.
#[derive(Debug)]
pub(crate) struct FileName {
    path: PathBuf,
    folders: Vec<PathBuf>,
    identity: FileIdentity,
    /// Process that has the session; a forked child has this too, but not the session.
    process: u32,
}

impl FileName {
    /// Creates the name of `file`, which was found at `path` in one of `folders`.
    pub(crate) fn new(path: &Path, folders: &[PathBuf], file: &NamedFile) -> Self {
        Self {
            path: path.to_owned(),
            folders: folders.to_owned(),
            identity: file.identity,
            process: std::process::id(),
        }
    }

    /// Removes the name, if it is still that of the file.
    pub(crate) fn remove(&self) {
        if self.process != std::process::id() {
            return;
        }
        let Ok((folder, name)) = open_parent(&self.path, &self.folders) else { return };
        let found = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok_and(|stat| identity(&stat) == self.identity) {
            match unlinkat(&folder, name, AtFlags::empty()) {
                // The client removes it as well.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => {
                    let (path, error) = (self.path.display(), io::Error::from(errno));
                    warn_limited!(%path, %error, "a client's file cannot be removed");
                }
            }
        }
    }
}

/// Opens `path` for reading and writing.
pub(crate) fn open_named(
    path: &Path,
    owner: Option<u32>,
    folders: &[PathBuf],
) -> Result<NamedFile, HandshakeError> {
    let (folder, name) = open_parent(path, folders)?;
    let path_only = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = beneath(&folder, name, path_only).map_err(|errno| because(path, errno))?;
    let stat = fstat(&found).map_err(HandshakeError::io("fstat"))?;
    judge(path, &stat, owner)?;
    // Opened a second time by name, because a path descriptor (`O_PATH`) cannot be reopened without
    // /proc; the comparison shows that it is still the same file.
    let open =
        OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = beneath(&folder, name, open).map_err(|errno| because(path, errno))?;
    let identity = identity(&stat);
    if self::identity(&fstat(&file).map_err(HandshakeError::io("fstat"))?) != identity {
        return Err(HandshakeError::Path {
            path: path.to_owned(),
            reason: "was replaced while it was opened",
        });
    }
    Ok(NamedFile { file, identity })
}

/// Opens the file's folder, if that is an allowed one or below.
fn open_parent<'a>(
    path: &'a Path,
    folders: &[PathBuf],
) -> Result<(OwnedFd, &'a Path), HandshakeError> {
    let refused = || HandshakeError::PathNotAllowed(path.to_owned());
    let plain =
        path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let inside = folders.iter().find_map(|folder| Some((folder, path.strip_prefix(folder).ok()?)));
    let (folder, rest) = inside.filter(|_| plain && path.is_absolute()).ok_or_else(refused)?;
    let name = rest.file_name().map(Path::new).ok_or_else(refused)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let allowed = open(folder, flags, Mode::empty()).map_err(HandshakeError::io("open"))?;
    let below = rest.parent().filter(|below| !below.as_os_str().is_empty());
    let parent = match below {
        None => allowed,
        Some(below) => beneath(&allowed, below, flags).map_err(|errno| because(path, errno))?,
    };
    Ok((parent, name))
}

fn identity(stat: &Stat) -> FileIdentity {
    (stat.st_dev, stat.st_ino)
}

fn beneath(folder: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path_stays =
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // A client can mount a file system of its own on a folder of its own (FUSE), and make the
    // resolution of a name there wait for ever.
    let resolve = path_stays | ResolveFlags::NO_XDEV;
    openat2(folder, path, flags, Mode::empty(), resolve)
}

fn because(path: &Path, errno: Errno) -> HandshakeError {
    let reason = match errno {
        Errno::LOOP => "is or passes a symbolic link",
        Errno::XDEV => "leaves the allowed folder or its file system",
        Errno::NOENT | Errno::NOTDIR => "does not exist",
        Errno::ACCESS | Errno::PERM => "may not be opened",
        errno => return HandshakeError::Io { call: "openat2", cause: errno.into() },
    };
    HandshakeError::Path { path: path.to_owned(), reason }
}

fn judge(path: &Path, stat: &Stat, owner: Option<u32>) -> Result<(), HandshakeError> {
    let reason = if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        "is not a regular file"
    } else if owner.is_some_and(|owner| owner != stat.st_uid) {
        "belongs to another user than the client"
    } else if stat.st_nlink > 1 {
        "has other names"
    } else {
        return Ok(());
    };
    Err(HandshakeError::Path { path: path.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn refusal(path: &Path, owner: Option<u32>, folder: &Path) -> String {
        open_named(path, owner, &[folder.to_owned()]).unwrap_err().to_string()
    }

    #[test]
    fn a_file_in_an_allowed_folder_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/region");
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(&path, "content").unwrap();
        let own = Some(rustix::process::geteuid().as_raw());
        assert!(open_named(&path, own, &[folder.path().to_owned()]).is_ok());
    }

    #[test]
    fn only_the_file_that_was_opened_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("region");
        fs::write(&path, "old").unwrap();
        let folders = [folder.path().to_owned()];
        let name_of = |file: &NamedFile| FileName::new(&path, &folders, file);
        let old = open_named(&path, None, &folders).unwrap();
        fs::rename(&path, folder.path().join("moved")).unwrap();
        fs::write(&path, "new").unwrap();
        name_of(&old).remove();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let new = open_named(&path, None, &folders).unwrap();
        let elsewhere = FileName { process: 0, ..name_of(&new) };
        elsewhere.remove();
        assert!(path.exists(), "a forked child removes nothing");
        name_of(&new).remove();
        assert!(!path.exists());
    }

    #[test]
    fn a_path_outside_is_not_even_resolved() {
        let (allowed, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = other.path().join("victim");
        fs::write(&path, "precious").unwrap();
        let climbing =
            allowed.path().join("..").join(other.path().file_name().unwrap()).join("victim");
        for path in [path, climbing, PathBuf::from("victim"), allowed.path().to_owned()] {
            assert!(
                refusal(&path, None, allowed.path()).contains("in none of the folders"),
                "{path:?}"
            );
        }
    }

    /// `/dev/shm` is a file system of its own inside the one of `/dev`.
    #[test]
    fn another_file_system_below_an_allowed_folder_is_not_entered() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = folder.path().join("region");
        fs::write(&path, "content").unwrap();
        assert!(refusal(&path, None, Path::new("/dev")).contains("its file system"));
        assert!(open_named(&path, None, &["/dev/shm".into()]).is_ok());
    }

    #[test]
    fn links_pipes_folders_and_other_peoples_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, folder_link, hard_link] =
            ["file", "link", "folder_link", "hard_link"].map(|name| folder.path().join(name));
        fs::write(&file, "precious").unwrap();
        let stranger = Some(rustix::process::geteuid().as_raw() + 1);
        assert!(refusal(&file, stranger, folder.path()).contains("another user"));
        symlink(&file, &link).unwrap();
        assert!(refusal(&link, None, folder.path()).contains("is not a regular file"));
        symlink(folder.path(), &folder_link).unwrap();
        assert!(refusal(&folder_link.join("file"), None, folder.path()).contains("symbolic link"));
        fs::create_dir(folder.path().join("inner")).unwrap();
        assert!(
            refusal(&folder.path().join("inner"), None, folder.path()).contains("not a regular")
        );
        fs::hard_link(&file, &hard_link).unwrap();
        assert!(refusal(&hard_link, None, folder.path()).contains("other names"));
        assert!(refusal(&folder.path().join("absent"), None, folder.path()).contains("not exist"));
    }
}
