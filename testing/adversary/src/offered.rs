//! Values from a fuzzer's input: numbers, entries and file descriptors that a hostile peer offers.

use std::os::fd::OwnedFd;

use arbitrary::{Arbitrary, Result, Unstructured};
use rustix::fs::{FallocateFlags, SealFlags, fallocate};

use crate::memfd;
use crate::memory::Shared;
use crate::native::layout::entry::BODY_MAX;
use crate::native::{Descriptor, Entry};

/// A number as attackers like them.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub u64);

impl<'a> Arbitrary<'a> for Number {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self(match input.int_in_range(0..=3)? {
            0 => u64::from(u16::arbitrary(input)?),
            1 => u64::MAX - u64::from(u8::arbitrary(input)?),
            2 => (1u64 << input.int_in_range(0..=63)?)
                .wrapping_add_signed(i8::arbitrary(input)?.into()),
            _ => u64::arbitrary(input)?,
        }))
    }
}

impl<'a> Arbitrary<'a> for Entry {
    /// Any header, and a body of 24 bytes that repeat.
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let (kind, flags, len, stream) = input.arbitrary()?;
        let (tag, released) = input.arbitrary()?;
        let pattern: [u8; 24] = input.arbitrary()?;
        let body = pattern.into_iter().cycle().take(BODY_MAX).collect();
        Ok(Self { kind, flags, len, stream, tag, released, time: 0, body })
    }
}

impl<'a> Arbitrary<'a> for Descriptor {
    /// A segment and a lend number that may be there, at any place.
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            segment: u8::arbitrary(input)?.into(),
            lend: u16::arbitrary(input)?.into(),
            offset: Number::arbitrary(input)?.0,
            len: Number::arbitrary(input)?.0,
        })
    }
}

/// Kind of a file descriptor that a hostile peer sends.
#[derive(Clone, Copy, Debug)]
pub enum File {
    /// A fit segment of a page.
    Page,
    /// A fit segment of 64 KiB.
    Large,
    /// Half of it is a hole.
    Hole,
    /// Without seals.
    Unsealed,
    /// A pipe.
    Pipe,
}

impl<'a> Arbitrary<'a> for File {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let all = [Self::Page, Self::Large, Self::Hole, Self::Unsealed, Self::Pipe];
        Ok(*input.choose(&all)?)
    }
}

impl File {
    /// Opens one.
    pub fn open(self) -> OwnedFd {
        match self {
            Self::Page => Shared::fit(4096).another_fd(),
            Self::Large => Shared::fit(65_536).another_fd(),
            Self::Hole => {
                let fd = memfd::sparse(8192);
                fallocate(&fd, FallocateFlags::empty(), 0, 4096).expect("fallocate");
                memfd::seal(&fd, SealFlags::SHRINK | SealFlags::FUTURE_WRITE);
                fd
            }
            Self::Unsealed => memfd::sparse(4096),
            Self::Pipe => std::io::pipe().expect("a pipe").0.into(),
        }
    }
}
