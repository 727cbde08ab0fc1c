//! Memory that another process shares, found and read from outside and without its help.
//!
//! The process may be stopped, stuck or uncooperative: its memory changes while it is read and may
//! be forged. It is copied by system calls, so a file that is truncated under a reader is an error
//! and not a fault.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, OFlags, fstat, major, memfd_create, minor};

/// A device's major and minor number.
type Device = (u32, u32);

/// A file in memory (a memfd, or one of tmpfs) that a process has mapped shared from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedMapping {
    pid: u32,
    start: u64,
    end: u64,
    device: Device,
    inode: u64,
    /// The file's path in the kernel's form: for a memfd `/memfd:` and a label. The creator of the
    /// file has chosen it.
    pub name: String,
}

/// Readable memory of a mapping.
#[derive(Debug)]
pub struct SharedMemory {
    file: File,
    base: u64,
    len: u64,
}

/// Returns the shared memory mappings of a process, each file once.
///
/// Files of other file systems are skipped: a server of such a file system could block a read for
/// ever.
///
/// # Errors
///
/// The process does not exist, or it belongs to another user and this process is not root.
pub fn shared_mappings(pid: u32) -> io::Result<Vec<SharedMapping>> {
    let devices = memory_devices(pid)?;
    let maps = lossy(format!("/proc/{pid}/maps"))?;
    let mut known = HashSet::new();
    let mut is_first = |mapping: &SharedMapping| {
        devices.contains(&mapping.device) && known.insert((mapping.device, mapping.inode))
    };
    let mappings = maps.lines().filter_map(|line| SharedMapping::parse(pid, line));
    Ok(mappings.filter(|mapping| is_first(mapping)).collect())
}

impl SharedMapping {
    /// Parses a line: `7f0000000000-7f0000001000 rw-s 00000000 00:01 1234   /memfd:label (deleted)`
    fn parse(pid: u32, line: &str) -> Option<Self> {
        let mut rest = line;
        let mut field = || {
            let (field, behind) = rest.split_once(' ')?;
            rest = behind.trim_start();
            Some(field)
        };
        let (start, end) = field()?.split_once('-')?;
        let (rights, offset, device, inode) = (field()?, field()?, field()?, field()?);
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let (major, minor) = device.split_once(':')?;
        let mapping = Self {
            pid,
            start: hex(start)?,
            end: hex(end)?,
            device: (hex(major)?.try_into().ok()?, hex(minor)?.try_into().ok()?),
            inode: inode.parse().ok()?,
            name: rest.to_owned(),
        };
        let is_shared = rights.ends_with('s') && hex(offset)? == 0 && mapping.start < mapping.end;
        is_shared.then_some(mapping)
    }

    /// Returns true if it is mapped at this address.
    #[must_use]
    pub fn starts_at(&self, address: u64) -> bool {
        self.start == address
    }

    fn is_of(&self, device: Device, inode: u64) -> bool {
        (self.device, self.inode) == (device, inode)
    }

    /// Opens the mapping for reading: by its file if possible, else through the process's memory,
    /// which requires a debugger's rights.
    ///
    /// # Errors
    ///
    /// Neither is allowed, or the process has ended.
    pub fn open(&self) -> io::Result<SharedMemory> {
        let file = self.ways().find_map(|path| self.open_same(path));
        if let Some((file, len)) = file {
            return Ok(SharedMemory { file, base: 0, len });
        }
        let file = File::open(format!("/proc/{}/mem", self.pid))?;
        Ok(SharedMemory { file, base: self.start, len: self.end - self.start })
    }

    /// Returns paths that may lead to the file: by the mapping itself, as root; by its path, as the
    /// process sees it; by a descriptor of the process. A process may have thousands of
    /// descriptors: they are searched only if no path before them leads there.
    fn ways(&self) -> impl Iterator<Item = PathBuf> {
        let process = PathBuf::from(format!("/proc/{}", self.pid));
        let mapped = process.join(format!("map_files/{:x}-{:x}", self.start, self.end));
        let has_path = !self.name.starts_with("/memfd:");
        let path = has_path.then(|| process.join("root").join(self.name.trim_start_matches('/')));
        let descriptors = move || fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let is_named = |path: &PathBuf| {
            fs::read_link(path).is_ok_and(|name| name.as_os_str() == self.name.as_str())
        };
        let described = std::iter::once_with(descriptors).flatten().map(|entry| entry.path());
        std::iter::once(mapped).chain(path).chain(described.filter(is_named))
    }

    /// Opens a file if it is the mapped one, and returns its length.
    fn open_same(&self, path: PathBuf) -> Option<(File, u64)> {
        // The file may have been replaced by a pipe, and opening must not wait for that.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let options =
            OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
        let file = options.ok()?;
        let found = file.metadata().ok()?;
        let device = (major(found.dev()), minor(found.dev()));
        self.is_of(device, found.ino()).then(|| (file, found.len().min(self.end - self.start)))
    }
}

impl SharedMemory {
    /// Returns the number of readable bytes: those of the file, or whole pages if only the
    /// process's memory is readable.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a reader needs the length")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Copies bytes out. A concurrent change by the process may be seen in part.
    ///
    /// # Errors
    ///
    /// The range is out of bounds, or the process has ended.
    pub fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let fits = at.checked_add(bytes.len() as u64).is_some_and(|end| end <= self.len);
        if !fits {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.file.read_exact_at(bytes, self.base + at)
    }
}

/// Reads a file of proc(5), in which names may contain any bytes.
fn lossy(path: String) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

/// Returns the devices of files in memory: that of all memfds, and the tmpfs mounts that the
/// process sees.
fn memory_devices(pid: u32) -> io::Result<Vec<Device>> {
    let own = fstat(memfd_create("device", MemfdFlags::CLOEXEC)?)?;
    let mut devices = vec![(major(own.st_dev), minor(own.st_dev))];
    let mounts = lossy(format!("/proc/{pid}/mountinfo"))?;
    devices.extend(mounts.lines().filter_map(tmpfs_device));
    Ok(devices)
}

/// Parses a line: `36 35 0:22 / /dev/shm rw,nosuid shared:1 - tmpfs tmpfs rw`
fn tmpfs_device(line: &str) -> Option<Device> {
    let (place, system) = line.split_once(" - ")?;
    let (major, minor) = place.split(' ').nth(2)?.split_once(':')?;
    let is_tmpfs = system.starts_with("tmpfs ");
    Some((major.parse().ok()?, minor.parse().ok()?)).filter(|_| is_tmpfs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::ftruncate;
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    use std::os::fd::AsFd;

    /// A page of a file, mapped shared for as long as this lives.
    struct Mapped(*mut core::ffi::c_void);

    const PAGE: usize = 4096;

    impl Mapped {
        fn new(file: impl AsFd, bytes: &[u8]) -> Self {
            ftruncate(&file, 100).unwrap();
            rustix::io::pwrite(&file, bytes, 0).unwrap();
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new mapping aliases nothing.
            let address = unsafe {
                mmap(std::ptr::null_mut(), PAGE, rights, MapFlags::SHARED, file, 0).unwrap()
            };
            Self(address)
        }
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            // SAFETY: nothing refers to it.
            unsafe { munmap(self.0, PAGE).unwrap() };
        }
    }

    fn found(name: &str) -> SharedMapping {
        let mappings = shared_mappings(std::process::id()).unwrap();
        let mut named = mappings.into_iter().filter(|mapping| mapping.name.contains(name));
        let mapping = named.next().expect("it is mapped");
        assert_eq!(named.next(), None);
        mapping
    }

    fn first_bytes(memory: &SharedMemory) -> [u8; 5] {
        let mut bytes = [0; 5];
        memory.read_at(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn memfd_is_found_once_and_read_without_descriptor() {
        let file = memfd_create("breezeway-found", MemfdFlags::CLOEXEC).unwrap();
        let mapped = [Mapped::new(&file, b"hello"), Mapped::new(&file, b"hello")];
        let mapping = found("/memfd:breezeway-found");
        let memory = mapping.open().unwrap();
        assert_eq!((first_bytes(&memory), memory.len()), (*b"hello", 100));
        drop(file);
        let memory = mapping.open().unwrap();
        assert_eq!(first_bytes(&memory), *b"hello");
        let beyond = memory.read_at(memory.len(), &mut [0]).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
        assert!(memory.read_at(u64::MAX, &mut [0]).is_err());
        drop(mapped);
    }

    #[test]
    fn file_is_read_by_path_but_not_its_replacement() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = folder.path().join("region");
        let file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
        let mapped = Mapped::new(&file, b"hello");
        drop(file);
        let mapping = found(path.to_str().unwrap());
        assert_eq!(first_bytes(&mapping.open().unwrap()), *b"hello");
        fs::remove_file(&path).unwrap();
        fs::write(&path, b"other").unwrap();
        assert!(mapping.open_same(path.clone()).is_none());
        assert_eq!(first_bytes(&mapping.open().unwrap()), *b"hello");
        fs::remove_file(&path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        assert!(mapping.open_same(path).is_none(), "and not waited for");
        drop(mapped);
    }

    #[test]
    fn files_of_disks_private_mappings_and_later_parts_are_left_out() {
        let mappings = shared_mappings(std::process::id()).unwrap();
        let program = std::env::current_exe().unwrap();
        assert!(mappings.iter().all(|mapping| mapping.name != program.to_str().unwrap()));
        let parse = |line| SharedMapping::parse(1, line);
        let line = "7f00-8f00 rw-s 00000000 00:01 12                 /memfd:a b (deleted)";
        let mapping = parse(line).unwrap();
        assert_eq!((mapping.start, mapping.end, mapping.inode), (0x7f00, 0x8f00, 12));
        assert_eq!((mapping.device, mapping.name.as_str()), ((0, 1), "/memfd:a b (deleted)"));
        for other in [
            "7f00-8f00 rw-p 00000000 00:01 12                 /memfd:a",
            "7f00-8f00 rw-s 00001000 00:01 12                 /memfd:a",
            "8f00-7f00 rw-s 00000000 00:01 12                 /memfd:a",
            "7f00 rw-s",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn only_the_file_system_type_identifies_tmpfs() {
        let device = tmpfs_device("36 35 0:22 / /dev/shm rw shared:1 - tmpfs tmpfs rw");
        assert_eq!(device, Some((0, 22)));
        for other in [
            "36 35 0:23 / /mnt rw - fuse.tmpfs tmpfs rw",
            "36 35 8:1 / /tmpfs rw - ext4 tmpfs rw",
            "",
        ] {
            assert_eq!(tmpfs_device(other), None, "{other}");
        }
    }

    #[test]
    fn a_process_that_is_not_there_is_not_found() {
        assert_eq!(shared_mappings(u32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_name_that_is_no_text_hides_no_other_mapping() {
        let name = std::ffi::CString::new(&b"not-\xff\xfe-text"[..]).unwrap();
        let file = memfd_create(name, MemfdFlags::CLOEXEC).unwrap();
        let _mapped = Mapped::new(&file, b"hello");
        assert_eq!(first_bytes(&found("-text").open().unwrap()), *b"hello");
    }
}
