//! Segments of a peer: checked before they are mapped.

use std::ops::RangeInclusive;

use rustix::fs::{SealFlags, SeekFrom, fcntl_get_seals, fstat, fstatfs, seek};
use rustix::mm::MapFlags;

use super::{Mapping, SegmentError};
use crate::descriptor::ForeignDescriptor;

/// `f_type` of tmpfs, from `statfs(2)`.
const TMPFS_MAGIC: u64 = 0x0102_1994;

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

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use rustix::fs::{
        FallocateFlags, MemfdFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
    };

    use super::*;
    use crate::segment::{OWNER_SEALS, create};

    fn memfd(flags: MemfdFlags) -> OwnedFd {
        memfd_create(c"test", flags).unwrap()
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
