//! Owned message space: any thread fills it while the session runs, and the endpoint's user sends
//! it.

use std::fmt;
use std::sync::Arc;

use super::Endpoint;
use super::error::{NotLent, SendError};
use super::payload::Pieces;
use super::space::EndpointId;
use crate::doorbell::SocketError;
use crate::foreign::ForeignBytes;
use crate::payload::lender::Loan;
use crate::payload::placement::Copying;
use crate::payload::returned::Returned;
use crate::ring::Head;
use crate::ring::layout::INLINE_MAX;
use breezeway_os::Origin;
use breezeway_os::copy::stream_fence;
use breezeway_os::segment::{Mapping, Unfinished};

/// Payload memory that is filled outside the endpoint. Dropping it gives it back.
struct Reserved {
    /// Present until sent or dropped.
    loan: Option<Loan>,
    /// Length of the message; at most the length of the loan.
    len: usize,
    /// This side's segment. Present until dropped.
    segment: Option<Arc<Mapping>>,
    /// Receives the loan if it is not sent.
    returned: Arc<Returned>,
    origin: Origin,
    copying: Copying,
}

impl Reserved {
    fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(
            self.origin.is_here(),
            "space reserved before a fork cannot be filled in the child"
        );
        let segment = self.segment.as_ref().expect("present until dropped");
        let loan = self.loan.as_ref().expect("present until sent or dropped");
        let (offset, len) = (loan.offset, self.len.min(loan.len));
        let inside = offset.checked_add(len).is_some_and(|end| end <= segment.size());
        assert!(inside, "loan outside its segment");
        // SAFETY: the range was checked to lie in our writable mapping, which `segment` keeps alive
        // and which this process has: `origin` excludes a forked child. `loan` is in view and is
        // neither Copy nor Clone, so the lender does not have it, and lends these bytes to no other
        // loan. The result borrows `self`, and with it the loan, exclusively; the peer has
        // read-only mappings.
        unsafe { std::slice::from_raw_parts_mut(segment.address().add(offset), len) }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // First, so that the lender holds the last reference to a segment that it retires.
        self.segment = None;
        if self.origin.is_here()
            && let Some(loan) = self.loan.take()
        {
            self.returned.push(loan);
        }
    }
}

/// Content of an owned space.
enum Held {
    /// Nothing: the space was sent.
    Nothing,
    /// Private memory, of which this many bytes are used.
    Inline([u8; INLINE_MAX], usize),
    /// Payload memory.
    Payload(Reserved),
}

/// Space for one message that owns its memory: any thread fills it, for any length of time. The
/// endpoint's user then sends it. Dropping it gives the memory back.
///
/// Payload memory (from 105 bytes on) is readable by the peer before it is sent. The space holds a
/// lend number until it is sent or dropped, and its segment is not given back before that.
///
/// It may outlive its endpoint. In a forked child it cannot be filled, and dropping it there
/// changes nothing.
pub struct OwnedSpace {
    owner: EndpointId,
    held: Held,
}

impl OwnedSpace {
    /// Returns the length in bytes; 0 after it was sent.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.held {
            Held::Nothing => 0,
            Held::Inline(_, len) => *len,
            Held::Payload(reserved) => reserved.len,
        }
    }

    /// Returns true if the space has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes to fill. They hold bytes that this session wrote there before, or zeros.
    ///
    /// # Panics
    ///
    /// In a forked child of the process that reserved it.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.held {
            Held::Nothing => &mut [],
            Held::Inline(bytes, len) => &mut bytes[..*len],
            Held::Payload(reserved) => reserved.bytes_mut(),
        }
    }

    /// Shortens the message to its first `len` bytes, if it is longer. The rest of the memory is
    /// given back when the message is sent.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        match &mut self.held {
            Held::Nothing => {}
            Held::Inline(_, whole) => *whole = len.min(*whole),
            Held::Payload(reserved) => reserved.len = len.min(reserved.len),
        }
    }

    /// Returns true if the space was truncated, so that sending it gives payload memory back.
    pub fn is_cut(&self) -> bool {
        let Held::Payload(Reserved { loan: Some(loan), len, .. }) = &self.held else {
            return false;
        };
        *len < loan.len
    }

    /// Copies `bytes` to `offset` by the fastest method.
    ///
    /// # Panics
    ///
    /// If the range reaches outside, or in a forked child of the process that reserved the space.
    pub fn write(&mut self, offset: usize, bytes: ForeignBytes<'_>) {
        let copying = match &self.held {
            Held::Payload(reserved) => reserved.copying,
            _ => Copying::Private,
        };
        copying.fill(self.bytes_mut(), offset, bytes);
        if copying == Copying::Far {
            // Non-temporal stores are not ordered by moving the space to another thread.
            stream_fence();
        }
    }
}

impl fmt::Debug for OwnedSpace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OwnedSpace").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Reserves space for a message of `len` bytes that any thread may fill: up to 104 bytes in
    /// private memory, more in a payload segment, which is added when needed. The number of such
    /// spaces is limited by the lend numbers and the cap.
    pub fn reserve_owned(&mut self, len: usize) -> Result<OwnedSpace, SendError> {
        if !self.origin.is_here() {
            return Err(SocketError::Forked.into());
        }
        let held = if len <= INLINE_MAX {
            Held::Inline([0; INLINE_MAX], len)
        } else {
            let loan = self.take_loan(len)?;
            self.reserved_elsewhere += 1;
            Held::Payload(Reserved {
                len,
                segment: Some(self.lender.segment(&loan)),
                loan: Some(loan),
                returned: Arc::clone(&self.returned),
                origin: self.origin,
                copying: self.lender.segments.placement.copying(),
            })
        };
        Ok(OwnedSpace { owner: self.id, held })
    }

    /// Reserves space like [`reserve_owned`](Self::reserve_owned), but creates a needed segment in
    /// pieces, one per call: `None` after each piece but the last. The unfinished segment is in
    /// `begun`, which the caller keeps for as long as the space is wanted; it is dropped if other
    /// space is found.
    pub fn reserve_in_pieces(
        &mut self,
        len: usize,
        begun: &mut Option<Unfinished>,
    ) -> Result<Option<OwnedSpace>, SendError> {
        self.pieces = Pieces::One(begun.take());
        let outcome = self.reserve_owned(len);
        match (outcome, std::mem::take(&mut self.pieces)) {
            (Err(_), Pieces::Made(segment)) => {
                *begun = Some(segment);
                Ok(None)
            }
            // No piece was made, for example because the ring has no free slot now.
            (Err(error), Pieces::One(segment)) => {
                *begun = segment;
                Err(error)
            }
            (outcome, _) => outcome.map(Some),
        }
    }

    /// Publishes a message from owned space. On an error the space keeps its content.
    pub(super) fn send_owned(
        &mut self,
        head: Head,
        space: &mut OwnedSpace,
    ) -> Result<(), SendError> {
        assert!(space.owner == self.id, "this space was reserved by another endpoint");
        match &mut space.held {
            Held::Nothing => panic!("space is sent once"),
            Held::Inline(bytes, len) => self.publish(head, &bytes[..*len])?,
            Held::Payload(reserved) if reserved.len <= INLINE_MAX => {
                let mut bytes = [0; INLINE_MAX];
                let bytes = &mut bytes[..reserved.len];
                bytes.copy_from_slice(reserved.bytes_mut());
                self.publish(head, bytes)?;
                if let Some(loan) = reserved.loan.take() {
                    self.take_back(loan);
                }
            }
            Held::Payload(reserved) => {
                let mut loan = reserved.loan.take().expect("present until sent or dropped");
                if reserved.len < loan.len && self.lender.shorten(&mut loan, reserved.len) {
                    self.rings.lent.note_return();
                }
                if let Err(NotLent { error, loan }) = self.lend(head, loan) {
                    reserved.loan = Some(loan);
                    return Err(error);
                }
                self.reserved_elsewhere -= 1;
            }
        }
        space.held = Held::Nothing;
        Ok(())
    }

    /// Takes back owned spaces that were dropped without being sent.
    pub(super) fn collect_returned(&mut self) {
        for loan in self.returned.take() {
            self.take_back(loan);
        }
    }

    /// Takes back the loan of an owned space.
    fn take_back(&mut self, loan: Loan) {
        self.reserved_elsewhere -= 1;
        self.lender.give_back(loan);
        self.rings.lent.note_return();
    }
}
