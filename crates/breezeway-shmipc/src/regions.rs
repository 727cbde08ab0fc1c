//! The regions of a session: a client makes them, a server takes them from its client.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use breezeway_os::ForeignDescriptor;
use breezeway_os::memory::cgroup_headroom;
use rustix::fs::{
    FallocateFlags, FileType, MemfdFlags, Mode, OFlags, SealFlags, fallocate, fcntl_add_seals,
    fcntl_get_seals, fstat, ftruncate, memfd_create, open,
};
use rustix::io::Errno;

use crate::created::CreatedFiles;
use crate::error::{ConnectError, HandshakeError};
use crate::file_claim::FileClaim;
use crate::free_list;
use crate::layout::buffer::BufferLayout;
use crate::layout::queue::RingLayout;
use crate::options::{ClientOptions, Memory, ServerOptions};
use crate::queue;
use crate::region::Region;
use crate::violation::Violation;

/// The kernel's limit for the name of a memfd, less what upstream puts before it.
const LONGEST_LABEL: usize = 249 - "shmipc".len();

/// What the two regions are called. Unique per session, since upstream's servers find regions by
/// name.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) queue: String,
    pub(crate) buffer: String,
}

impl Names {
    /// Names as upstream forms them: prefix, process, for a session with a restarted server its
    /// epoch, and an index. A random number and a count make each its own.
    pub(crate) fn new(memory: &Memory, index: usize, epoch: Option<u64>) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let prefix = match memory {
            Memory::Memfd => "/dev/shm/breezeway".to_owned(),
            // A server resolves names elsewhere. Without a working directory opening it fails.
            Memory::FilesV2(prefix) | Memory::FilesV3(prefix) => {
                std::path::absolute(prefix).as_ref().unwrap_or(prefix).display().to_string()
            }
        };
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let epoch = epoch.unwrap_or(count);
        let process = std::process::id();
        let own = format!("{prefix}_{process}_epoch_{epoch}_{}", random());
        Self { queue: format!("{own}_queue_{index}"), buffer: format!("{own}_buffer") }
    }
}

/// Not for secrets: two containers may give two processes the same id.
fn random() -> u64 {
    let mut bytes = [0; 8];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if read.is_err() {
        return breezeway_os::clock::ticks();
    }
    u64::from_ne_bytes(bytes)
}

/// The regions that a client has made, and what the server needs to find them.
pub(crate) struct OwnRegions {
    pub(crate) names: Names,
    pub(crate) queue: Arc<Region>,
    pub(crate) buffer: Arc<Region>,
    pub(crate) rings: [RingLayout; 2],
    pub(crate) layout: Arc<BufferLayout>,
    /// Queue, buffer; not needed for files.
    pub(crate) memfds: Option<[OwnedFd; 2]>,
    pub(crate) created: Option<CreatedFiles>,
}

impl OwnRegions {
    /// Makes and lays out both regions, with their memory present, so that no page can be missing
    /// later.
    pub(crate) fn create(options: &ClientOptions, names: &Names) -> Result<Self, ConnectError> {
        let (queue_size, layout) = (options.queue_size()?, options.layout()?);
        judge_headroom(u64::from(queue_size) + u64::from(options.buffer_size))?;
        let mut created = CreatedFiles::new();
        let mut make = |name: &str, size: u32| match &options.memory {
            Memory::Memfd => make_memfd(name, size),
            Memory::FilesV2(_) | Memory::FilesV3(_) => make_file(name, size, &mut created),
        };
        let queue_file = make(&names.queue, queue_size)?;
        let buffer_file = make(&names.buffer, options.buffer_size)?;
        let queue = map_own(&queue_file, queue_size)?;
        let buffer = map_own(&buffer_file, options.buffer_size)?;
        queue::initialise(&queue, options.queue_capacity);
        free_list::initialise(&buffer, &layout);
        let rings = queue::judge(&queue).map_err(HandshakeError::from)?;
        let is_memfd = options.memory == Memory::Memfd;
        Ok(Self {
            names: names.clone(),
            queue,
            buffer,
            rings,
            layout: Arc::new(layout),
            memfds: is_memfd.then_some([queue_file, buffer_file]),
            created: (!is_memfd).then_some(created),
        })
    }
}

fn judge_headroom(size: u64) -> Result<(), ConnectError> {
    let Some(headroom) = cgroup_headroom() else { return Ok(()) };
    let left = headroom.available();
    if size > left {
        return Err(ConnectError::NoHeadroom { size, headroom: left, file: headroom.file });
    }
    Ok(())
}

fn memory_error(call: &'static str) -> impl Fn(Errno) -> ConnectError {
    move |errno| ConnectError::Memory { call, cause: errno.into() }
}

/// A memfd that the server cannot truncate under us.
fn make_memfd(name: &str, size: u32) -> Result<OwnedFd, ConnectError> {
    let label: String = name.chars().take(LONGEST_LABEL / 4).collect();
    let label = format!("shmipc{label}");
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = match memfd_create(label.as_str(), flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(label.as_str(), flags),
        made => made,
    };
    let fd = fd.map_err(memory_error("memfd_create"))?;
    allocate(&fd, size)?;
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&fd, seals).map_err(memory_error("fcntl(F_ADD_SEALS)"))?;
    Ok(fd)
}

/// A file that was not there before.
fn make_file(name: &str, size: u32, created: &mut CreatedFiles) -> Result<OwnedFd, ConnectError> {
    let path = Path::new(name);
    if let Some(folder) = path.parent() {
        // If it cannot be made, opening the file says so.
        let _ = std::fs::create_dir_all(folder);
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = open(path, flags, Mode::from_raw_mode(0o600)).map_err(memory_error("open"))?;
    let stat = fstat(&fd).map_err(memory_error("fstat"))?;
    created.add(path, (stat.st_dev, stat.st_ino));
    allocate(&fd, size)?;
    Ok(fd)
}

/// Gives a fresh file its size and its memory: an error now rather than a fault at the first touch.
fn allocate(fd: &OwnedFd, size: u32) -> Result<(), ConnectError> {
    ftruncate(fd, size.into()).map_err(memory_error("ftruncate"))?;
    match fallocate(fd, FallocateFlags::empty(), 0, size.into()) {
        // A file system without it still works, at the risk of a lost region later.
        Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
        Err(errno) => Err(memory_error("fallocate")(errno)),
    }
}

fn map_own(fd: &OwnedFd, size: u32) -> Result<Arc<Region>, ConnectError> {
    let mapped = Region::map(fd, size);
    Ok(Arc::new(mapped.map_err(|cause| ConnectError::Memory { call: "mmap", cause })?))
}

/// The regions of a client, found good by its server.
pub(crate) struct ForeignRegions {
    pub(crate) queue: Arc<Region>,
    pub(crate) buffer: Arc<Region>,
    pub(crate) rings: [RingLayout; 2],
    pub(crate) layout: Arc<BufferLayout>,
    /// Of files, the right to map them.
    pub(crate) claims: Option<[FileClaim; 2]>,
}

impl ForeignRegions {
    /// As [`Self::accept`], for descriptors that the client has opened, wherever it liked.
    pub(crate) fn accept_passed(
        queue: &ForeignDescriptor,
        buffer: &ForeignDescriptor,
        options: &ServerOptions,
    ) -> Result<Self, HandshakeError> {
        judge_passed("queue", queue)?;
        judge_passed("buffer", buffer)?;
        Self::accept(queue, buffer, options)
    }

    /// Checks and maps what a client brings, by whatever way it came.
    pub(crate) fn accept(
        queue: impl AsFd,
        buffer: impl AsFd,
        options: &ServerOptions,
    ) -> Result<Self, HandshakeError> {
        let queue = map_foreign("queue", queue, options)?;
        let buffer = map_foreign("buffer", buffer, options)?;
        let judged = queue::judge(&queue).and_then(|rings| {
            let word = |at| buffer.word(at).load(Ordering::Relaxed);
            Ok((rings, BufferLayout::judge(buffer.len(), word)?))
        });
        for (name, region) in [("queue", &queue), ("buffer", &buffer)] {
            if region.is_lost() {
                return Err(Violation::Truncated(name).into());
            }
        }
        let (rings, layout) = judged?;
        Ok(Self { queue, buffer, rings, layout: Arc::new(layout), claims: None })
    }
}

/// Who touches a page of a mapped file waits for its file system, and of some of those the client
/// can be the server (FUSE). Only files that live in memory know seals; and being asked for them is
/// answered by the kernel, whereas already their size may be asked of the file system.
fn judge_passed(name: &'static str, fd: impl AsFd) -> Result<(), HandshakeError> {
    match fcntl_get_seals(fd) {
        Ok(_) => Ok(()),
        Err(_) => Err(Violation::NotInMemory(name).into()),
    }
}

fn map_foreign(
    name: &'static str,
    fd: impl AsFd,
    options: &ServerOptions,
) -> Result<Arc<Region>, HandshakeError> {
    let stat = fstat(&fd).map_err(HandshakeError::io("fstat"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Violation::NotAFile(name).into());
    }
    if options.require_sealed {
        let seals = fcntl_get_seals(&fd).unwrap_or(SealFlags::empty());
        if !seals.contains(SealFlags::SHRINK) {
            return Err(Violation::NotSealed(name).into());
        }
    }
    let size = stat.st_size as u64;
    let allowed = u32::try_from(size).ok().filter(|_| size > 0 && size <= options.largest_region);
    let len = allowed.ok_or(Violation::RegionSize {
        region: name,
        size,
        allowed: "more than nothing and at most largest_region is possible",
    })?;
    let region =
        Region::map(fd.as_fd(), len).map_err(|cause| HandshakeError::Io { call: "mmap", cause })?;
    Ok(Arc::new(region))
}
