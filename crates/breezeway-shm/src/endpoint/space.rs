//! Space for one message: its owner, its memory, and the body that a message is sent from.

use std::sync::atomic::{AtomicU64, Ordering};

use super::owned::OwnedSpace;
use crate::foreign::ForeignBytes;
use crate::payload::lender::Loan;
use crate::payload::placement::Copying;

/// Number of an endpoint in this process, which marks the spaces it reserved. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndpointId(u64);

impl EndpointId {
    /// The owner of a space that holds nothing.
    const NOBODY: Self = Self(0);

    pub(super) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Relaxed: only the number itself is shared.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Space reserved for one message: private until it is sent, or payload memory.
///
/// It belongs to the endpoint that reserved it; another endpoint rejects it with a panic.
#[derive(Debug)]
pub struct Space {
    pub(super) owner: EndpointId,
    pub(super) held: Held,
}

/// Content of a space.
#[derive(Debug)]
pub(super) enum Held {
    /// Nothing: the space was sent or given back.
    Nothing,
    /// This many bytes of the endpoint's staging memory, of which there is one piece.
    Inline(usize),
    /// Payload memory.
    Payload(Loan),
}

impl Space {
    /// Returns an empty space, the state after sending.
    pub const fn none() -> Self {
        Self { owner: EndpointId::NOBODY, held: Held::Nothing }
    }

    /// Returns the length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.held {
            Held::Inline(len) => *len,
            Held::Payload(loan) => loan.len,
            Held::Nothing => 0,
        }
    }

    /// Returns true if the space has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the payload memory out of the space, if it holds any. The space is empty afterwards.
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

    /// Returns the content, for the owner only. Without this check, one endpoint could write where
    /// another one has lent.
    #[inline(always)]
    pub(super) fn held_by(&self, endpoint: EndpointId) -> &Held {
        let is_owner = self.owner == endpoint || matches!(self.held, Held::Nothing);
        assert!(is_owner, "this space was reserved by another endpoint");
        &self.held
    }
}

/// Source of a message's body.
#[derive(Debug)]
pub enum Body<'a> {
    /// A copy of these bytes: inline up to 104, else lent.
    Bytes(&'a [u8]),
    /// Reserved space that was filled. If the message is not sent, the space keeps its content.
    Space(&'a mut Space),
    /// Owned space that any thread has filled. If the message is not sent, the space keeps its
    /// content.
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

impl<'a> Filling<'a> {
    #[inline(always)]
    pub(super) fn new(received: ForeignBytes<'a>, bytes: &'a mut [u8], copying: Copying) -> Self {
        Self { received, bytes, copying }
    }

    /// Wraps private memory to be filled, for a carrier without shared memory.
    #[inline(always)]
    pub fn private(received: ForeignBytes<'a>, bytes: &'a mut [u8]) -> Self {
        Self::new(received, bytes, Copying::Private)
    }

    /// Returns the bytes to fill. They hold bytes that this session wrote there before, or zeros.
    #[inline(always)]
    pub fn into_bytes(self) -> &'a mut [u8] {
        self.bytes
    }

    /// Returns the current message's body and the bytes to fill.
    #[inline(always)]
    pub fn into_parts(self) -> (ForeignBytes<'a>, &'a mut [u8]) {
        (self.received, self.bytes)
    }

    /// Copies `bytes` to `offset` by the fastest method. Panics if they reach outside.
    #[inline(always)]
    pub fn write(&mut self, offset: usize, bytes: ForeignBytes<'_>) {
        self.copying.fill(self.bytes, offset, bytes);
    }

    /// Copies the current message's whole body to `offset`. Panics if it reaches outside.
    #[inline(always)]
    pub fn write_received(&mut self, offset: usize) {
        self.copying.fill(self.bytes, offset, self.received);
    }
}
