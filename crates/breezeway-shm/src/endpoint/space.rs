//! Space for one message: who holds it, how it is filled, and what a message is sent from.

use std::sync::atomic::{AtomicU64, Ordering};

use super::owned::OwnedSpace;
use crate::foreign::ForeignBytes;
use crate::payload::lender::Loan;
use breezeway_os::copy::{PREFETCHED_UP_TO, STREAM_FROM, claim_and_copy};

/// Which endpoint of this process a space belongs to. Numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndpointId(u64);

impl EndpointId {
    /// The owner of a space that holds nothing.
    const NOBODY: Self = Self(0);

    pub(super) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Relaxed: nothing but the number itself is shared.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Space reserved for one message: private until it is sent, or payload memory.
///
/// It belongs to the endpoint that reserved it; another endpoint refuses it with a panic.
#[derive(Debug)]
pub struct Space {
    pub(super) owner: EndpointId,
    pub(super) held: Held,
}

/// What a space holds.
#[derive(Debug)]
pub(super) enum Held {
    /// Nothing: it was sent or given back.
    Nothing,
    /// So many bytes of the endpoint's staging memory, of which there is one piece.
    Inline(usize),
    /// Payload memory.
    Payload(Loan),
}

impl Space {
    /// No space: what is left after sending.
    pub const fn none() -> Self {
        Self { owner: EndpointId::NOBODY, held: Held::Nothing }
    }

    /// Its length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.held {
            Held::Inline(len) => *len,
            Held::Payload(loan) => loan.len,
            Held::Nothing => 0,
        }
    }

    /// Whether it has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the payload memory that it holds, if it holds any; then it holds nothing.
    #[inline]
    pub(super) fn take_loan(&mut self, endpoint: EndpointId) -> Option<Loan> {
        if !matches!(self.held_by(endpoint), Held::Payload(_)) {
            return None;
        }
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Payload(loan) => Some(loan),
            Held::Inline(_) | Held::Nothing => None,
        }
    }

    /// What it holds, for its owner. Without this check, one endpoint could write where another
    /// has lent.
    #[inline(always)]
    pub(super) fn held_by(&self, endpoint: EndpointId) -> &Held {
        let is_owner = self.owner == endpoint || matches!(self.held, Held::Nothing);
        assert!(is_owner, "this space was reserved by another endpoint");
        &self.held
    }
}

/// What a message is sent from.
#[derive(Debug)]
pub enum Body<'a> {
    /// A copy of these bytes: inline up to 104, else lent.
    Bytes(&'a [u8]),
    /// Reserved space, which was filled. If the message is not sent, the space stays.
    Space(&'a mut Space),
    /// Space that owns what it holds, filled by whatever thread. If the message is not sent, the
    /// space stays.
    Owned(&'a mut OwnedSpace),
    /// A copy of the current message's body, which is released with it.
    Received,
}

/// Reserved space that is being filled, and the current message's body to fill it from.
pub struct Filling<'a> {
    received: ForeignBytes<'a>,
    bytes: &'a mut [u8],
    copying: Copying,
}

/// How bytes get into reserved space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copying {
    /// Into private memory.
    Private,
    /// Into shared memory of a near peer.
    Near,
    /// Into shared memory of a distant peer.
    Far,
}

impl<'a> Filling<'a> {
    #[inline(always)]
    pub(super) fn new(received: ForeignBytes<'a>, bytes: &'a mut [u8], copying: Copying) -> Self {
        Self { received, bytes, copying }
    }

    /// Private memory that is being filled, for a carrier without shared memory.
    #[inline(always)]
    pub fn private(received: ForeignBytes<'a>, bytes: &'a mut [u8]) -> Self {
        Self::new(received, bytes, Copying::Private)
    }

    /// The bytes to be filled. They hold whatever this session wrote there before, or zeros.
    #[inline(always)]
    pub fn into_bytes(self) -> &'a mut [u8] {
        self.bytes
    }

    /// The current message's body and the bytes to be filled.
    #[inline(always)]
    pub fn into_parts(self) -> (ForeignBytes<'a>, &'a mut [u8]) {
        (self.received, self.bytes)
    }

    /// Copies `bytes` to `offset`, the fastest way. Panics if they reach outside.
    #[inline(always)]
    pub fn write(&mut self, offset: usize, bytes: ForeignBytes<'_>) {
        fill(self.bytes, offset, bytes, self.copying);
    }

    /// Copies the current message's whole body to `offset`. Panics if it reaches outside.
    #[inline(always)]
    pub fn write_received(&mut self, offset: usize) {
        fill(self.bytes, offset, self.received, self.copying);
    }
}

/// Large payloads for a distant peer are written past the caches, however small the pieces they
/// are written in.
#[inline]
pub(super) fn fill(space: &mut [u8], offset: usize, bytes: ForeignBytes<'_>, copying: Copying) {
    let size = space.len();
    let to = &mut space[offset..][..bytes.len()];
    if copying == Copying::Far && size >= STREAM_FROM {
        bytes.stream_to(to);
    } else if copying != Copying::Private && size > PREFETCHED_UP_TO {
        claim_and_copy(to, |at, piece| bytes.slice(at..at + piece.len()).copy_to(piece));
    } else {
        bytes.copy_to(to);
    }
}
