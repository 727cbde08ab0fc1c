//! Stand-ins for TLS without the feature: options and connections that cannot exist.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use breezeway_os::{Deadline, Identity};
use rustix::io::Errno;

use super::TlsError;
use crate::carrier::LinkError;
use crate::carrier::plain::{Read, Write};

/// Options of TLS, which cannot exist.
#[derive(Clone, Debug)]
pub(crate) enum Tls {}

impl Tls {
    pub(crate) fn check_server(_: Option<&Self>) -> Result<(), TlsError> {
        Err(TlsError::NotBuilt)
    }

    pub(crate) fn check_client(_: Option<&Self>) -> Result<(), TlsError> {
        Err(TlsError::NotBuilt)
    }
}

/// A connection over TLS, which cannot exist.
#[derive(Debug)]
pub(crate) enum TlsSocket {}

impl TlsSocket {
    pub(crate) fn connect(
        _: OwnedFd,
        _: &str,
        _: Option<&Tls>,
        _: &[u8],
        _: Deadline,
    ) -> Result<Self, LinkError> {
        Err(TlsError::NotBuilt.into())
    }

    pub(crate) fn accept(_: OwnedFd, _: Option<&Tls>) -> Result<Self, TlsError> {
        Err(TlsError::NotBuilt)
    }

    pub(crate) fn is_shaking(&self) -> bool {
        match *self {}
    }

    pub(crate) fn shake(&mut self) -> Result<bool, LinkError> {
        match *self {}
    }

    pub(crate) fn identity(&self) -> Option<Arc<Identity>> {
        match *self {}
    }

    pub(crate) fn read(&mut self, _: &mut [u8], _: bool) -> Result<Read, LinkError> {
        match *self {}
    }

    pub(crate) fn read_in_bulk(&mut self) {
        match *self {}
    }

    pub(crate) fn has_buffered(&self) -> bool {
        match *self {}
    }

    pub(crate) fn write(&mut self, _: &[IoSlice<'_>]) -> Result<Write, Errno> {
        match *self {}
    }

    pub(crate) fn flush(&mut self) -> Result<Write, Errno> {
        match *self {}
    }

    pub(crate) fn has_unwritten(&self) -> bool {
        match *self {}
    }

    pub(crate) fn read_stream(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn write_stream(&mut self, _: &[IoSlice<'_>]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn flush_stream(&mut self) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn end_writing(&mut self) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn say_goodbye(&mut self) {
        match *self {}
    }

    pub(crate) fn close(self) {
        match self {}
    }
}

impl AsFd for TlsSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match *self {}
    }
}
