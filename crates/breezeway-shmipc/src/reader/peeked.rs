//! Received bytes, in place.

use std::borrow::Cow;
use std::collections::VecDeque;

use breezeway_os::TrustedPeer;

use crate::core::Core;
use crate::message::Piece;
use crate::region::Region;

/// Received bytes in place, in one or more runs. They stay until they are released; the borrow
/// prevents the reader from doing so before.
pub struct Peeked<'a> {
    pub(super) core: &'a Core,
    pub(super) pieces: &'a VecDeque<Piece>,
    pub(super) len: usize,
}

impl<'a> Peeked<'a> {
    /// Returns the length in bytes, at least one.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Copies the first bytes into `buffer`.
    ///
    /// # Panics
    ///
    /// If there are fewer bytes than the buffer's length.
    pub fn copy_to(&self, mut buffer: &mut [u8]) {
        assert!(buffer.len() <= self.len, "copy of {} bytes, {} came", buffer.len(), self.len);
        for run in self.runs() {
            let count = run.len().min(buffer.len());
            let (now, later) = buffer.split_at_mut(count);
            run.copy_to(now);
            buffer = later;
        }
    }

    /// Returns a copy of all bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        self.copy_to(&mut bytes);
        bytes
    }

    /// Returns the first `len` bytes in one piece: in place if they are contiguous, otherwise
    /// copied. `proof` asserts that the peer does not write bytes that it has sent.
    ///
    /// Without a copy on either side:
    ///
    /// ```
    /// # use breezeway_shmipc::{ClientOptions, ServerOptions, Session, Trust, TrustedPeer};
    /// # let server = ServerOptions::new(Trust::SameUser);
    /// # let (client, server) = Session::pair(&ClientOptions::new(Trust::SameUser), &server)?;
    /// // SAFETY: both sides are this program's, which writes nothing that it has sent. For others
    /// // see the table in docs/from-shmipc.md.
    /// let proof = || unsafe { TrustedPeer::assume() };
    /// let mut stream = client.open()?;
    /// let mut request = stream.reserve(5)?;
    /// request.run_mut(proof())[..5].copy_from_slice(b"hello");
    /// request.advance(5);
    /// request.commit()?;
    ///
    /// let mut served = server.accept()?;
    /// let arrived = served.peek_at_least(5)?.expect("it has sent something");
    /// assert_eq!(&arrived.contiguous(5, proof())[..], b"hello");
    /// served.release(5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there are fewer bytes.
    pub fn contiguous(&self, len: usize, proof: TrustedPeer) -> Cow<'a, [u8]> {
        match self.runs().next() {
            Some(run) if run.len() >= len => Cow::Borrowed(&run.as_slice(proof)[..len]),
            _ => {
                let mut bytes = vec![0; len];
                self.copy_to(&mut bytes);
                Cow::Owned(bytes)
            }
        }
    }

    /// Returns the runs of bytes, in order; none is empty.
    pub fn runs(&self) -> impl Iterator<Item = Run<'a>> + use<'a> {
        let core = self.core;
        self.pieces.iter().map(move |piece| Run { core, piece })
    }
}

/// A contiguous run of received bytes.
pub struct Run<'a> {
    core: &'a Core,
    piece: &'a Piece,
}

impl<'a> Run<'a> {
    /// Returns the length in bytes, at least one.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.piece.len()
    }

    /// Copies the first bytes into `buffer`.
    ///
    /// # Panics
    ///
    /// If there are fewer bytes than the buffer's length.
    pub fn copy_to(&self, buffer: &mut [u8]) {
        self.copy_part(0, buffer);
    }

    /// Copies the bytes from `skip` on.
    pub(crate) fn copy_part(&self, skip: usize, buffer: &mut [u8]) {
        let end = skip + buffer.len();
        assert!(end <= self.len(), "copy up to byte {end}, {} came", self.len());
        match self.piece {
            Piece::Slice { at, .. } => self.core.buffer.copy_to(*at + skip as u32, buffer),
            Piece::Heap { bytes, read } => buffer.copy_from_slice(&bytes[read + skip..read + end]),
        }
    }

    /// Copies `count` bytes from `skip` on to `at` in a region, directly.
    pub(crate) fn copy_into(&self, skip: usize, region: &Region, at: u32, count: usize) {
        assert!(skip + count <= self.len(), "copy of {count} bytes from {skip}");
        match self.piece {
            Piece::Slice { at: from, .. } => {
                region.copy_between(&self.core.buffer, *from + skip as u32, at, count);
            }
            Piece::Heap { bytes, read } => region.copy_from(at, &bytes[read + skip..][..count]),
        }
    }

    /// Returns the bytes themselves. `proof` asserts that the peer does not write bytes that it has
    /// sent.
    pub fn as_slice(&self, proof: TrustedPeer) -> &'a [u8] {
        match self.piece {
            Piece::Slice { at, len, .. } => self.core.buffer.slice(*at, *len, proof),
            Piece::Heap { bytes, read } => &bytes[*read..],
        }
    }
}
