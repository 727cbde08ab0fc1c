//! Segments: memfds that one process writes, sealed so that no process, their owner included, can
//! shrink them or write them through another mapping. The rules are in section 3 of `docs/abi.md`;
//! `memfd_create(2)` and `fcntl(2)` describe the seals.

mod unfinished;

use std::borrow::Cow;
use std::ffi::CStr;
use std::io::IoSlice;
use std::ops::{Range, RangeInclusive};
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, SeekFrom, fallocate, fcntl_add_seals, fcntl_get_seals,
    fstat, fstatfs, ftruncate, memfd_create, seek,
};
use rustix::io::{Errno, pwritev};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use rustix::process::{Resource, getrlimit};
use thiserror::Error;

use crate::copy::copy_from_foreign;
use crate::descriptor::ForeignDescriptor;
use crate::fork::Origin;
use crate::huge;
use crate::ledger::{MemoryAccount, MemoryLimit};
use crate::memory::check_headroom;
use crate::placement::huge::HUGE;
use crate::shortage;
use crate::unmap::unmap;

pub use unfinished::Unfinished;

/// `f_type` of tmpfs, from `statfs(2)`.
const TMPFS_MAGIC: u64 = 0x0102_1994;
/// Seals that an owner sets.
const OWNER_SEALS: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::FUTURE_WRITE).union(SealFlags::SEAL);

/// Error of making or accepting a segment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// A system call failed.
    #[error("{call} for a segment of {size} bytes: {source}{}", advice(call, *source))]
    Call {
        /// The system call.
        call: &'static str,
        /// Size of the segment.
        size: usize,
        /// Error of the system call.
        source: Errno,
    },
    /// The memory cgroup has no room; past its limit the kernel kills the process instead of
    /// failing.
    #[error(
        "{size} bytes do not fit into the memory cgroup: {headroom} bytes are left below the limit \
         in {file}; raise that limit or lower the session's cap"
    )]
    NoHeadroom {
        /// Size of the segment, or of the private memory.
        size: usize,
        /// Bytes left.
        headroom: u64,
        /// File of the limit.
        file: String,
    },
    /// The process may not make a file of this size; the kernel would end it by SIGXFSZ.
    #[error(
        "a segment of {size} bytes exceeds this process's limit of file sizes, RLIMIT_FSIZE, of \
         {limit} bytes; raise it (ulimit -f) or lower the session's cap"
    )]
    FileSize {
        /// Size of the segment.
        size: usize,
        /// The limit.
        limit: u64,
    },
    /// The allocator has no private memory of this size.
    #[error("no private memory for {size} bytes{}", memory_advice())]
    Private {
        /// Bytes asked for.
        size: usize,
    },
    /// Clients, or this client's user, hold as much memory as allowed.
    #[error("no room for a segment of {size} bytes: {limit}; raise it, or let some be released")]
    Limit {
        /// Size of the segment.
        size: usize,
        /// The limit that was reached.
        limit: MemoryLimit,
    },
    /// Segments must be counted, and this one could not be.
    #[error(
        "no segment of {size} bytes: whether clients hold it would not be known: inotify: {source} \
         (raise sysctl fs.inotify.max_user_instances and max_user_watches, or do without \
         max_memory and max_memory_of_user)"
    )]
    Uncounted {
        /// Size of the segment.
        size: usize,
        /// Error of the system call.
        source: Errno,
    },
    /// Segments must be counted, and this machine does not report deleted ones.
    #[error(
        "this machine does not report by inotify that a memfd is gone, which max_memory and \
         max_memory_of_user need; do without them here"
    )]
    NotReported,
    /// The peer's segment lacks the required seals.
    #[error(
        "the segment is not sealed against shrinking and writing by others (seals {0:#x}); no \
         memfd with F_SEAL_SHRINK and F_SEAL_FUTURE_WRITE"
    )]
    NotSealed(u32),
    /// The peer's segment is not a plain tmpfs file.
    #[error("the segment is not a tmpfs file (file system type {0:#x})")]
    NotTmpfs(u64),
    /// The peer's segment does not have the announced or allowed size.
    #[error("the segment has {found} bytes, {expected} were announced or allowed")]
    Size {
        /// Size of the segment.
        found: u64,
        /// Required size.
        expected: u64,
    },
    /// The peer's segment has holes, which could fault later.
    #[error("only {backed} of the segment's {size} bytes are backed by memory")]
    NotBacked {
        /// Bytes backed by memory.
        backed: u64,
        /// Size of the segment.
        size: u64,
    },
    /// Seals have no effect on this machine.
    #[error(
        "sealed memfds do not work here: {0}; shm: needs Linux 5.1 or newer, use unix: on this \
         machine"
    )]
    Probe(&'static str),
}

impl SegmentError {
    /// Returns true if this process or machine lacks a resource at the moment. Such an error is not
    /// the peer's fault and may pass.
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::NoHeadroom { .. }
            | Self::FileSize { .. }
            | Self::Private { .. }
            | Self::Limit { .. }
            | Self::Uncounted { .. } => true,
            Self::Call { source, .. } => matches!(
                *source,
                Errno::MFILE
                    | Errno::NFILE
                    | Errno::NOMEM
                    | Errno::NOSPC
                    | Errno::TOOMANYREFS
                    | Errno::NOBUFS
                    | Errno::AGAIN
            ),
            _ => false,
        }
    }
}

fn advice(call: &str, errno: Errno) -> Cow<'static, str> {
    let advice = match errno {
        Errno::AGAIN if call == "sendmsg" => " (the peer has left the session socket unread)",
        // mmap(2): a process with mlockall(MCL_FUTURE) locks each new mapping.
        Errno::AGAIN if call == "mmap" => match limit_of(Resource::Memlock) {
            Some(limit) => return limited("locked memory, RLIMIT_MEMLOCK", limit, 'l').into(),
            None => " (the kernel has no memory for it now)",
        },
        Errno::AGAIN => " (the kernel has no memory for it now)",
        Errno::NOMEM if call == "mmap" => return memory_advice().into(),
        Errno::NOSPC | Errno::NOMEM => " (memory is short; lower the session's cap)",
        Errno::NOSYS | Errno::INVAL => " (shm: needs Linux 5.1 or newer)",
        errno => shortage::advice_for(errno),
    };
    advice.into()
}

/// Returns advice for a mapping, or the allocator, that found no memory.
fn memory_advice() -> String {
    match limit_of(Resource::As) {
        Some(limit) => limited("address space, RLIMIT_AS", limit, 'v'),
        None => " (memory is short; lower the session's cap)".to_owned(),
    }
}

fn limited(what: &str, limit: u64, option: char) -> String {
    format!(
        " (this process's limit of {what}, is {limit} bytes; raise it, ulimit -{option}, or lower \
         the session's cap)"
    )
}

/// Returns a limit of this process (getrlimit(2)), or None without one.
fn limit_of(resource: Resource) -> Option<u64> {
    getrlimit(resource).current
}

/// Bytes whose pages [`Mapping::populate`] populates at once, in a small part of a slice.
pub const PIECE: usize = 1 << 20;
/// Smallest page size.
const PAGE: usize = 4096;

/// A mapped run of memory, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    address: NonNull<u8>,
    len: usize,
    /// Process of a writable mapping; a forked child does not have it.
    origin: Option<Origin>,
}

// SAFETY: a mapping is an address range, and munmap may be called from any thread. The type gives
// out a raw address; the types that hold it decide which accesses to its bytes are sound.
unsafe impl Send for Mapping {}
// SAFETY: `&Mapping` gives the raw address and the length, and reads none of the bytes.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a whole memfd; with `POPULATE` among the flags also its pages, so that the first touch
    /// does not fault.
    fn new(
        fd: impl AsFd,
        len: usize,
        writable: bool,
        populate: MapFlags,
    ) -> Result<Self, SegmentError> {
        let failed = |call| move |source| SegmentError::Call { call, size: len, source };
        let protection =
            if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let flags = MapFlags::SHARED | populate;
        let address = if len >= HUGE {
            huge::map_aligned(fd, len, protection, flags)
        } else {
            // SAFETY: a new mapping at an address of the kernel's choice aliases no Rust object.
            unsafe { mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) }
        }
        .map_err(failed("mmap"))?;
        let address =
            NonNull::new(address.cast()).expect("mmap never returns null without an error");
        let mapping = Self { address, len, origin: writable.then(Origin::here) };
        if writable {
            // SAFETY: the advice concerns just the mapping made above.
            unsafe { madvise(address.as_ptr().cast(), len, Advice::LinuxDontFork) }
                .map_err(failed("madvise"))?;
        }
        Ok(mapping)
    }

    /// Populates the next pages of a mapping for reading, so that their first touch does not fault:
    /// from `done` bytes on, as many as take about half a slice. Returns the number of populated
    /// bytes. Pages that the kernel does not populate are mapped when they are touched.
    pub fn populate(&self, done: usize) -> usize {
        self.populate_by(done, |address, len| {
            // SAFETY: `populate_by` gives a range of this mapping, whose pages are there already:
            // populating them changes none.
            unsafe { madvise(address.cast(), len, Advice::LinuxPopulateRead) }
        })
    }

    fn populate_by(
        &self,
        done: usize,
        advise: impl FnOnce(*mut u8, usize) -> Result<(), Errno>,
    ) -> usize {
        let piece = PIECE.min(self.len - done);
        let start = self.address.as_ptr().wrapping_add(done);
        // Linux before 5.14 lacks this advice. Where it fails for another reason, such as a broken
        // page, a touch would fail too.
        if advise(start, piece) == Err(Errno::INVAL) {
            for offset in (0..piece).step_by(PAGE) {
                let mut byte = 0;
                // SAFETY: inside this mapping, which is readable, and `byte` is this function's.
                unsafe { copy_from_foreign(&raw mut byte, start.wrapping_add(offset), 1) };
            }
        }
        done + piece
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.origin.is_some_and(|origin| !origin.is_here()) {
            // A forked child never had this range; another mapping may be there now.
            return;
        }
        // SAFETY: the range was mapped by `new`, and all users of pointers into it hold the mapping
        // by reference count.
        unsafe { unmap(self.address, self.len) };
    }
}

/// Creates a sealed segment: returns the only writable mapping, and the descriptor for the peer.
pub fn create(size: usize) -> Result<(Mapping, OwnedFd), SegmentError> {
    let fd = unbacked(size)?;
    write_zeros(&fd, 0..size)?;
    let mapping = Mapping::new(&fd, size, true, MapFlags::POPULATE)?;
    seal(&fd, size)?;
    Ok((mapping, fd))
}

/// Creates a segment like [`create`], charged to `account`.
fn create_for(size: usize, account: &MemoryAccount) -> Result<(Mapping, OwnedFd), SegmentError> {
    account.make(size, create)
}

/// Creates a segment like [`create`], charged to `account`; where the kernel provides huge pages,
/// of a whole number of them within `bounds`. That is much faster and may take more memory.
pub fn create_near(
    size: usize,
    bounds: RangeInclusive<usize>,
    account: &MemoryAccount,
) -> Result<(Mapping, OwnedFd), SegmentError> {
    let huge = huge::size_near(size, &bounds);
    // The reason for the lack of huge pages does not matter.
    match huge.and_then(|size| account.make(size, create_of_huge_pages).ok()) {
        Some(made) => Ok(made),
        None => create_for(size, account),
    }
}

/// Creates a segment whose pages are allocated when they are first written, with its own name: for
/// data that tools read and no peer receives. A process that is out of memory then is killed by the
/// kernel, as it is for any other kind of memory.
pub fn create_sparse(name: &CStr, size: usize) -> Result<(Mapping, OwnedFd), SegmentError> {
    let fd = named(name, size)?;
    let mapping = Mapping::new(&fd, size, true, MapFlags::empty())?;
    seal(&fd, size)?;
    Ok((mapping, fd))
}

/// Tests that a segment can have huge pages now.
///
/// # Errors
///
/// The reason why it cannot.
pub fn try_huge_page() -> Result<(), SegmentError> {
    create_of_huge_pages(HUGE).map(drop)
}

fn create_of_huge_pages(size: usize) -> Result<(Mapping, OwnedFd), SegmentError> {
    let fd = unbacked(size)?;
    let mapping = Mapping::new(&fd, size, true, MapFlags::empty())?;
    huge::back(&fd, mapping.address().cast(), 0..size).map_err(|source| SegmentError::Call {
        call: "madvise(MADV_COLLAPSE)",
        size,
        source,
    })?;
    check_backed(&fd, size)?;
    seal(&fd, size)?;
    Ok((mapping, fd))
}

/// Checks that all pages exist. A system that emulates Linux may ignore advice that it does not
/// know, and report success.
fn check_backed(fd: &OwnedFd, size: usize) -> Result<(), SegmentError> {
    let hole = |source| SegmentError::Call { call: "lseek", size, source };
    let backed = seek(fd, SeekFrom::Hole(0)).map_err(hole)?;
    if backed < size as u64 {
        return Err(SegmentError::NotBacked { backed, size: size as u64 });
    }
    Ok(())
}

/// Creates a memfd without pages.
fn unbacked(size: usize) -> Result<OwnedFd, SegmentError> {
    check_headroom(size)?;
    named(c"breezeway", size)
}

fn named(name: &CStr, size: usize) -> Result<OwnedFd, SegmentError> {
    let failed = |call| move |source| SegmentError::Call { call, size, source };
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = match memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(name, flags),
        other => other,
    }
    .map_err(failed("memfd_create"))?;
    check_file_size(size)?;
    ftruncate(&fd, size as u64).map_err(failed("ftruncate"))?;
    Ok(fd)
}

/// Checks that this process may make a file of this size: beyond its limit `ftruncate(2)` ends the
/// process by SIGXFSZ.
///
/// # Errors
///
/// [`SegmentError::FileSize`].
pub fn check_file_size(size: usize) -> Result<(), SegmentError> {
    match limit_of(Resource::Fsize) {
        Some(limit) if limit < size as u64 => Err(SegmentError::FileSize { size, limit }),
        _ => Ok(()),
    }
}

/// Allocates the pages of a part of a memfd. Writing is faster than `fallocate`, after which each
/// page is cleared by a fault of its own.
fn write_zeros(fd: &OwnedFd, part: Range<usize>) -> Result<(), SegmentError> {
    const AT_ONCE: usize = 64;
    static ZEROS: [u8; 4096] = [0; 4096];
    let size = part.len();
    let mut written = part.start;
    while written < part.end {
        let mut slices = [IoSlice::new(&[]); AT_ONCE];
        let mut left = part.end - written;
        for slice in &mut slices {
            let len = left.min(ZEROS.len());
            *slice = IoSlice::new(&ZEROS[..len]);
            left -= len;
        }
        match pwritev(fd, &slices, written as u64) {
            Ok(0) => Err(Errno::NOSPC),
            Ok(len) => {
                written += len;
                Ok(())
            }
            Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
        .map_err(|source| SegmentError::Call { call: "pwritev", size, source })?;
    }
    Ok(())
}

fn seal(fd: &OwnedFd, size: usize) -> Result<(), SegmentError> {
    let failed = |source| SegmentError::Call { call: "fcntl(F_ADD_SEALS)", size, source };
    fcntl_add_seals(fd, OWNER_SEALS).map_err(failed)
}

/// Checks that a peer's descriptor is a fully backed segment of one of these sizes, and maps it
/// read-only. From then on its owner cannot remove a page, and the descriptor can be closed;
/// [`Mapping::populate`] populates the pages. After a shortage ([`SegmentError::is_shortage`]) the
/// call can be repeated.
pub fn map_foreign(
    descriptor: &ForeignDescriptor,
    sizes: RangeInclusive<u64>,
) -> Result<Mapping, SegmentError> {
    let (fd, expected) = (descriptor.get(), *sizes.end());
    // Reading the seals blocks on no file system, and only memfds have any.
    let seals = fcntl_get_seals(fd).unwrap_or(SealFlags::empty());
    let sealed = seals.contains(SealFlags::SHRINK)
        && seals.intersects(SealFlags::FUTURE_WRITE | SealFlags::WRITE);
    if !sealed {
        return Err(SegmentError::NotSealed(seals.bits()));
    }
    let failed = |call| move |source| SegmentError::Call { call, size: expected as usize, source };
    let kind = fstatfs(fd).map_err(failed("fstatfs"))?.f_type as u64;
    if kind != TMPFS_MAGIC {
        return Err(SegmentError::NotTmpfs(kind));
    }
    let stat = fstat(fd).map_err(failed("fstat"))?;
    let (size, backed) = (stat.st_size as u64, stat.st_blocks as u64 * 512);
    if !sizes.contains(&size) {
        return Err(SegmentError::Size { found: size, expected });
    }
    // The count alone may include blocks behind the end. Both together prove that every page is
    // there, and the seals that it stays.
    let first_hole = seek(fd, SeekFrom::Hole(0)).map_err(failed("lseek"))?;
    if backed < size || first_hole < size {
        return Err(SegmentError::NotBacked { backed: backed.min(first_hole), size });
    }
    Mapping::new(fd, size as usize, false, MapFlags::empty())
}

/// Validates a peer's descriptor and maps it read-only, with its pages. After these checks it can
/// neither shrink nor lose pages.
pub fn accept(fd: ForeignDescriptor, expected: u64) -> Result<Mapping, SegmentError> {
    let mapping = map_foreign(&fd, expected..=expected)?;
    fd.close_mapped();
    let mut done = 0;
    while done < mapping.size() {
        done = mapping.populate(done);
    }
    Ok(mapping)
}

/// Tests once per process that sealed memfds work on this machine.
pub fn probe() -> Result<(), SegmentError> {
    static PASSED: AtomicBool = AtomicBool::new(false);
    if !PASSED.load(Ordering::Relaxed) {
        try_seals()?;
        PASSED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn try_seals() -> Result<(), SegmentError> {
    const SIZE: usize = 4096;
    let (_own, fd) = create(SIZE)?;
    if Mapping::new(&fd, SIZE, true, MapFlags::empty()).is_ok() {
        return Err(SegmentError::Probe("a sealed memfd could be mapped writable again"));
    }
    if rustix::io::pwrite(&fd, &[0], 0).is_ok() {
        return Err(SegmentError::Probe("a sealed memfd could be written"));
    }
    if ftruncate(&fd, 0).is_ok() {
        return Err(SegmentError::Probe("a sealed memfd could be truncated"));
    }
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    if fallocate(&fd, punch, 0, SIZE as u64).is_ok() {
        return Err(SegmentError::Probe("a hole could be punched into a sealed memfd"));
    }
    accept(fd.into(), SIZE as u64).map(drop)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::os::unix::fs::FileExt;

    use super::*;

    fn memfd(flags: MemfdFlags) -> OwnedFd {
        memfd_create(c"test", flags).unwrap()
    }

    #[test]
    fn this_machine_passes_its_probe() {
        probe().unwrap();
    }

    #[test]
    fn a_segment_is_accepted_by_its_receiver() {
        let (own, fd) = create(8192).unwrap();
        let foreign = accept(fd.into(), 8192).unwrap();
        assert_eq!((own.size(), foreign.size()), (8192, 8192));
    }

    fn first_hole(fd: &OwnedFd) -> u64 {
        seek(fd, SeekFrom::Hole(0)).unwrap()
    }

    /// Checks the peer's view of a segment that its owner has filled.
    fn arrives(own: &Mapping, fd: OwnedFd) {
        let (size, address) = (own.size(), own.address());
        // SAFETY: a writable mapping of that size, which no other code writes.
        unsafe { std::slice::from_raw_parts_mut(address, size) }.fill(7);
        let foreign = accept(fd.into(), size as u64).unwrap();
        // SAFETY: mapped, and no longer written.
        let seen = unsafe { std::slice::from_raw_parts(foreign.address(), size) };
        assert!(seen.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn sealed_segment_keeps_bytes_after_page_out() {
        let size = 1 << 16;
        let (own, fd) = create(size).unwrap();
        let foreign = accept(fd.try_clone().unwrap().into(), size as u64).unwrap();
        // SAFETY: a writable mapping of that size, which no other code writes.
        unsafe { std::slice::from_raw_parts_mut(own.address(), size) }.fill(7);
        for advice in [Advice::LinuxCold, Advice::LinuxPageOut, Advice::LinuxDontNeed] {
            // SAFETY: the mapping is shared, so its bytes are the file's.
            unsafe { madvise(own.address().cast(), size, advice) }.unwrap();
        }
        // MADV_REMOVE frees pages of the file: sealed, it has to refuse.
        // SAFETY: the range is the mapping's, and no reference into it is alive; the sealed file
        // refuses the advice.
        let removed = unsafe { madvise(own.address().cast(), size, Advice::LinuxRemove) };
        assert_eq!(removed, Err(Errno::PERM));
        // SAFETY: mapped, and no longer written.
        let seen = unsafe { std::slice::from_raw_parts(foreign.address(), size) };
        assert!(seen.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn every_page_of_a_new_segment_is_there_and_zero() {
        for size in [4096, 3 * 4096, 300 * 1024, 3 << 20] {
            let (own, fd) = create(size).unwrap();
            assert_eq!((own.size(), first_hole(&fd)), (size, size as u64));
            assert!(fstat(&fd).unwrap().st_blocks as usize * 512 >= size);
            // SAFETY: mapped, and not written.
            let bytes = unsafe { std::slice::from_raw_parts(own.address(), size) };
            assert!(bytes.iter().all(|&byte| byte == 0));
            arrives(&own, fd);
        }
    }

    #[test]
    fn large_segment_stays_within_its_bounds() {
        for (size, most) in [(4096, HUGE), (3 << 19, HUGE), (3 << 20, 8 << 20), (5 << 20, 5 << 20)]
        {
            let (own, fd) = create_near(size, 4096..=most, &MemoryAccount::default()).unwrap();
            assert!(own.size() <= most, "{}", own.size());
            assert!(own.size() == size || own.size().is_multiple_of(HUGE));
            assert_eq!(first_hole(&fd), own.size() as u64);
            arrives(&own, fd);
        }
    }

    /// Returns the number of populated pages in a range, by `proc_pid_pagemap(5)`.
    fn entered(mapping: &Mapping, range: Range<usize>) -> usize {
        let pagemap = std::fs::File::open("/proc/self/pagemap").unwrap();
        let first_page = (mapping.address().addr() + range.start) / PAGE;
        let mut words = vec![0; range.len() / PAGE * 8];
        pagemap.read_exact_at(&mut words, first_page as u64 * 8).unwrap();
        words.chunks(8).filter(|word| word[7] & 0x80 != 0).count()
    }

    /// Returns a peer's segment of one piece and two pages, none of which is populated.
    fn foreign_of_two_pieces() -> Mapping {
        let size = PIECE + 2 * PAGE;
        let (_own, fd) = create(size).unwrap();
        map_foreign(&ForeignDescriptor::from(fd), 1..=size as u64).unwrap()
    }

    #[test]
    fn populate_without_kernel_support_touches_pages() {
        let foreign = foreign_of_two_pieces();
        assert_eq!(entered(&foreign, 0..foreign.size()), 0);
        let mut done = 0;
        for expected in [PIECE, foreign.size()] {
            done = foreign.populate_by(done, |_, _| Err(Errno::INVAL));
            assert_eq!(done, expected);
            assert_eq!(entered(&foreign, 0..done), done / PAGE);
        }
    }

    #[test]
    fn failed_piece_is_skipped_and_next_is_populated() {
        let foreign = foreign_of_two_pieces();
        for error in [Errno::NOMEM, Errno::FAULT, Errno::AGAIN] {
            assert_eq!(foreign.populate_by(0, |_, _| Err(error)), PIECE);
            assert_eq!(entered(&foreign, 0..foreign.size()), 0);
        }
        assert_eq!(foreign.populate(PIECE), foreign.size());
        assert_eq!(entered(&foreign, PIECE..foreign.size()), 2);
    }

    #[test]
    fn an_unsealed_memfd_is_refused() {
        let fd = memfd(MemfdFlags::ALLOW_SEALING);
        ftruncate(&fd, 4096).unwrap();
        assert!(matches!(accept(fd.into(), 4096), Err(SegmentError::NotSealed(0))));
    }

    #[test]
    fn a_memfd_sealed_only_against_shrinking_is_refused() {
        let fd = memfd(MemfdFlags::ALLOW_SEALING);
        ftruncate(&fd, 4096).unwrap();
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::SEAL).unwrap();
        assert!(matches!(accept(fd.into(), 4096), Err(SegmentError::NotSealed(_))));
    }

    #[test]
    fn a_segment_with_a_hole_is_refused() {
        let fd = memfd(MemfdFlags::ALLOW_SEALING);
        ftruncate(&fd, 8192).unwrap();
        fallocate(&fd, FallocateFlags::empty(), 0, 4096).unwrap();
        fcntl_add_seals(&fd, OWNER_SEALS).unwrap();
        assert!(matches!(accept(fd.into(), 8192), Err(SegmentError::NotBacked { size: 8192, .. })));
    }

    #[test]
    fn another_size_than_announced_is_refused() {
        let (_own, fd) = create(8192).unwrap();
        assert!(matches!(
            accept(fd.into(), 4096),
            Err(SegmentError::Size { found: 8192, expected: 4096 })
        ));
    }

    #[test]
    fn files_pipes_and_sockets_are_refused() {
        let (pipe, _writer) = std::io::pipe().unwrap();
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        for fd in [OwnedFd::from(pipe), OwnedFd::from(socket), OwnedFd::from(file)] {
            assert!(matches!(accept(fd.into(), 4096), Err(SegmentError::NotSealed(0))));
        }
    }
}
