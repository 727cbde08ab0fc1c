//! The regions of a session: a client creates them, a server takes them from its client.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use breezeway_os::ForeignDescriptor;
use breezeway_os::memory::cgroup_headroom;
use breezeway_os::segment::check_file_size;
use rustix::fs::{
    FallocateFlags, FileType, MemfdFlags, Mode, OFlags, SealFlags, fallocate, fcntl_add_seals,
    fcntl_get_seals, fstat, fstatfs, ftruncate, memfd_create, open,
};
use rustix::io::Errno;

use crate::created::CreatedFiles;
use crate::error::{ConnectError, HandshakeError};
use crate::file_claim::FileClaim;
use crate::free_list;
use crate::layout::buffer::BufferLayout;
use crate::layout::queue::RingLayout;
use crate::options::{ClientOptions, Memory, ServerOptions};
use crate::pool::Pool;
use crate::queue;
use crate::region::Region;
use crate::violation::Violation;

/// Maximum length of a memfd's label: the kernel's limit for its name, less upstream's prefix.
const LONGEST_LABEL: usize = 249 - "shmipc".len();

/// Returns the name of a region, without its suffix. Unique, because upstream's servers find
/// regions by name: prefix, process, for a session with a restarted server its epoch, in upstream's
/// form, and a random number and a count.
fn own_name(memory: &Memory, epoch: Option<u64>) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let prefix = match memory {
        Memory::Memfd => "/dev/shm/breezeway".to_owned(),
        // A server resolves names in another directory. Without a working directory opening it
        // fails.
        Memory::FilesV2(prefix) | Memory::FilesV3(prefix) => {
            std::path::absolute(prefix).as_ref().unwrap_or(prefix).display().to_string()
        }
    };
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let epoch = epoch.unwrap_or(count);
    format!("{prefix}_{}_epoch_{epoch}_{}", std::process::id(), random())
}

/// Returns a random number; not for secrets: two containers may give two processes the same id.
fn random() -> u64 {
    let mut bytes = [0; 8];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if read.is_err() {
        return breezeway_os::clock::ticks();
    }
    u64::from_ne_bytes(bytes)
}

/// A buffer region that a client has created. Sessions that are connected together share it, as
/// upstream's do, and with it the slices that this side holds and keeps.
pub(crate) struct OwnBuffer {
    name: String,
    pub(crate) region: Arc<Region>,
    pub(crate) layout: Arc<BufferLayout>,
    pub(crate) pool: Arc<Mutex<Pool>>,
    /// Descriptor of the memfd; not needed for files.
    memfd: Option<OwnedFd>,
    /// File, removed when each of the sessions is known to be agreed on, or over.
    created: Option<Arc<CreatedFiles>>,
}

impl OwnBuffer {
    /// Creates and lays out a buffer region for sessions of these options.
    pub(crate) fn create(
        options: &ClientOptions,
        epoch: Option<u64>,
    ) -> Result<Self, ConnectError> {
        let (size, layout) = (options.buffer_size, Arc::new(options.layout()?));
        let name = format!("{}_buffer", own_name(&options.memory, epoch));
        let mut created = CreatedFiles::new();
        let file =
            Wanted { name: &name, size, option: "buffer_size" }.make(options, &mut created)?;
        let region = map_own(&file, size, "buffer_size")?;
        free_list::initialise(&region, &layout);
        let is_memfd = options.memory == Memory::Memfd;
        Ok(Self {
            name,
            pool: Arc::new(Mutex::new(Pool::new(Arc::clone(&region), Arc::clone(&layout)))),
            region,
            layout,
            memfd: is_memfd.then_some(file),
            created: (!is_memfd).then(|| Arc::new(created)),
        })
    }
}

/// The regions that a client has created for a session, and the data by which the server finds
/// them.
pub(crate) struct OwnRegions<'a> {
    pub(crate) buffer: &'a OwnBuffer,
    pub(crate) queue_name: String,
    pub(crate) queue: Arc<Region>,
    pub(crate) rings: [RingLayout; 2],
    /// Descriptor of the memfd; not needed for files.
    queue_memfd: Option<OwnedFd>,
    queue_created: Option<CreatedFiles>,
}

impl<'a> OwnRegions<'a> {
    /// Creates and lays out a queue beside the buffer.
    pub(crate) fn create(
        options: &ClientOptions,
        buffer: &'a OwnBuffer,
        index: usize,
    ) -> Result<Self, ConnectError> {
        let size = options.queue_size()?;
        let stem = own_name(&options.memory, None);
        let name = format!("{stem}_queue_{index}");
        let mut created = CreatedFiles::new();
        let wanted = Wanted { name: &name, size, option: "queue_capacity" };
        let file = wanted.make(options, &mut created)?;
        let queue = map_own(&file, size, "queue_capacity")?;
        queue::initialise(&queue, options.queue_capacity);
        let rings = queue::judge(&queue).map_err(HandshakeError::from)?;
        let is_memfd = options.memory == Memory::Memfd;
        Ok(Self {
            buffer,
            queue_name: name,
            queue,
            rings,
            queue_memfd: is_memfd.then_some(file),
            queue_created: (!is_memfd).then_some(created),
        })
    }

    /// Returns the names of queue and buffer.
    pub(crate) fn names(&self) -> [&str; 2] {
        [&self.queue_name, &self.buffer.name]
    }

    /// Returns the memfds of queue and buffer.
    pub(crate) fn memfds(&self) -> Option<[&OwnedFd; 2]> {
        Some([self.queue_memfd.as_ref()?, self.buffer.memfd.as_ref()?])
    }

    /// Takes the files, to be removed when the server has them.
    pub(crate) fn take_created(&mut self) -> Option<SessionFiles> {
        let queue = self.queue_created.take()?;
        Some(SessionFiles { _queue: queue, _buffer: self.buffer.created.clone() })
    }
}

/// The files of a client's session: its queue's is removed when this is dropped, its buffer's with
/// the last session's.
pub(crate) struct SessionFiles {
    _queue: CreatedFiles,
    _buffer: Option<Arc<CreatedFiles>>,
}

/// A region to be created.
struct Wanted<'a> {
    name: &'a str,
    size: u32,
    /// Option that sets its size.
    option: &'static str,
}

impl Wanted<'_> {
    fn make(
        &self,
        options: &ClientOptions,
        created: &mut CreatedFiles,
    ) -> Result<OwnedFd, ConnectError> {
        self.judge_headroom()?;
        match &options.memory {
            Memory::Memfd => self.make_memfd(options.preallocate),
            Memory::FilesV2(_) | Memory::FilesV3(_) => self.make_file(options.preallocate, created),
        }
    }

    fn judge_headroom(&self) -> Result<(), ConnectError> {
        let (size, option) = (u64::from(self.size), self.option);
        let Some(headroom) = cgroup_headroom() else { return Ok(()) };
        let left = headroom.available();
        if size > left {
            let file = headroom.file;
            return Err(ConnectError::NoHeadroom { size, headroom: left, file, option });
        }
        Ok(())
    }

    fn failed(&self, call: &'static str) -> impl Fn(Errno) -> ConnectError {
        let (size, option) = (self.size, self.option);
        move |errno| ConnectError::Memory { call, size, option, cause: errno.into() }
    }

    /// Creates a memfd that the server cannot truncate.
    fn make_memfd(&self, preallocate: bool) -> Result<OwnedFd, ConnectError> {
        let label: String = self.name.chars().take(LONGEST_LABEL / 4).collect();
        let label = format!("shmipc{label}");
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = match memfd_create(label.as_str(), flags | MemfdFlags::NOEXEC_SEAL) {
            Err(Errno::INVAL) => memfd_create(label.as_str(), flags),
            made => made,
        };
        let fd = fd.map_err(self.failed("memfd_create"))?;
        self.allocate(&fd, preallocate)?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&fd, seals).map_err(self.failed("fcntl(F_ADD_SEALS)"))?;
        Ok(fd)
    }

    /// Creates a new file.
    fn make_file(
        &self,
        preallocate: bool,
        created: &mut CreatedFiles,
    ) -> Result<OwnedFd, ConnectError> {
        let path = Path::new(self.name);
        if let Some(folder) = path.parent() {
            // If it cannot be created, opening the file fails.
            let _ = std::fs::create_dir_all(folder);
        }
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::from_raw_mode(0o600)).map_err(self.failed("open"))?;
        let stat = fstat(&fd).map_err(self.failed("fstat"))?;
        created.add(path, (stat.st_dev, stat.st_ino));
        // As in upstream; space that others take later is missed only when a page is accessed.
        let space = fstatfs(&fd).map_err(self.failed("fstatfs"))?;
        let free = space.f_bavail.saturating_mul(space.f_bsize.unsigned_abs());
        if space.f_blocks > 0 && free < self.size.into() {
            return Err(self.failed("fstatfs")(Errno::NOSPC));
        }
        self.allocate(&fd, preallocate)?;
        Ok(fd)
    }

    /// Sets the size of a new file, and allocates its memory if requested: an error now rather than
    /// a fault at the first access.
    fn allocate(&self, fd: &OwnedFd, preallocate: bool) -> Result<(), ConnectError> {
        if let Err(error) = check_file_size(self.size as usize) {
            let cause = io::Error::new(io::ErrorKind::FileTooLarge, error);
            let (size, option) = (self.size, self.option);
            return Err(ConnectError::Memory { call: "ftruncate", size, option, cause });
        }
        ftruncate(fd, self.size.into()).map_err(self.failed("ftruncate"))?;
        if !preallocate {
            return Ok(());
        }
        match fallocate(fd, FallocateFlags::empty(), 0, self.size.into()) {
            // A file system without it still works, at the risk of a lost region later.
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(errno) => Err(self.failed("fallocate")(errno)),
        }
    }
}

fn map_own(fd: &OwnedFd, size: u32, option: &'static str) -> Result<Arc<Region>, ConnectError> {
    let mapped = Region::map(fd, size);
    let failed = |cause| ConnectError::Memory { call: "mmap", size, option, cause };
    Ok(Arc::new(mapped.map_err(failed)?))
}

/// The regions of a client, validated by its server.
pub(crate) struct ForeignRegions {
    pub(crate) queue: Arc<Region>,
    pub(crate) buffer: Arc<Region>,
    pub(crate) rings: [RingLayout; 2],
    pub(crate) layout: Arc<BufferLayout>,
    /// Claims of files, for the right to map them.
    pub(crate) claims: Option<[FileClaim; 2]>,
}

impl ForeignRegions {
    /// Accepts regions like [`accept`](Self::accept), from descriptors that the client has opened,
    /// possibly anywhere.
    pub(crate) fn accept_passed(
        queue: &ForeignDescriptor,
        buffer: &ForeignDescriptor,
        options: &ServerOptions,
    ) -> Result<Self, HandshakeError> {
        judge_passed("queue", queue)?;
        judge_passed("buffer", buffer)?;
        Self::accept(queue, buffer, options)
    }

    /// Validates and maps a client's regions.
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

/// Validates a passed file. Access to a page of a mapped file waits for its file system, which for
/// some of them the client itself can serve (FUSE). Only files in memory have seals; the kernel
/// itself answers a query for them, whereas even a query for their size may reach the file system.
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
