//! Receiving half of an endpoint: entries, one at a time, and the payload lent with them.

use super::Endpoint;
use crate::doorbell::SocketError;
use crate::foreign::ForeignBytes;
use crate::payload::borrower::{Borrowed, Borrower};
use crate::ring::Entry;
use crate::ring::layout::{LENT, MESSAGE, SEGMENT_ADD, SEGMENT_RETIRE};
use crate::statistics::Field;
use crate::violation::Violation;
use breezeway_os::segment::SegmentError;

impl Endpoint {
    /// Takes the next entry, if one is committed, and consumes it: the peer may use its slot again.
    /// It stays the current entry, and its payload stays lent, until [`Self::finish`] or
    /// [`Self::detach`].
    ///
    /// An entry about a segment is handled here, at most one per call (a peer may send any number
    /// of them), and a large segment one piece per call. The result is then false although more
    /// entries may be there.
    #[inline(always)]
    pub fn take(&mut self) -> Result<bool, SocketError> {
        if self.has_entry {
            return Ok(true);
        }
        if !self.origin.is_here() {
            return Err(SocketError::Forked);
        }
        if !self.rings.consumer.peek(&mut self.entry)? {
            return Ok(false);
        }
        if self.entry.kind_number() != MESSAGE {
            return self.take_session_entry();
        }
        self.take_release()?;
        let mut len = self.entry.inline_len();
        if self.entry.flag_bits() & LENT != 0 {
            let borrowed = self.borrower.borrow(&self.entry)?;
            len = borrowed.len;
            self.borrowed = Some(borrowed);
        }
        self.meter.received(MESSAGE, self.entry.flag_bits(), len);
        self.has_entry = true;
        self.consume()?;
        Ok(true)
    }

    /// Consumes the entry that was copied and handled. The peer learns of it at once only if it
    /// waits for that, or after a quarter of the ring.
    #[inline(always)]
    fn consume(&mut self) -> Result<(), SocketError> {
        if self.rings.consumer.advance() { self.flush() } else { Ok(()) }
    }

    /// Takes back the payload that the entry releases.
    #[inline(always)]
    fn take_release(&mut self) -> Result<(), Violation> {
        match self.entry.released() {
            Some(lend) => {
                self.lender.released(lend, &mut self.rings.lent)?;
                self.note_lent();
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Handles an entry about segments. Returns true for other entries, which become the current
    /// one. After a shortage, and while a large segment is mapped piece by piece, the entry stays
    /// the next one.
    fn take_session_entry(&mut self) -> Result<bool, SocketError> {
        let kind = self.entry.kind_number();
        match kind {
            SEGMENT_ADD if !self.add_peers_segment()? => return Ok(false),
            SEGMENT_ADD => {}
            SEGMENT_RETIRE => {
                self.borrower.check_len(&self.entry, 0)?;
                self.borrower.retire(self.entry.tag())?;
                self.meter.set(Field::PeerMemory, self.borrower.total());
            }
            _ => {
                self.meter.received(kind, 0, 0);
                self.take_release()?;
                self.has_entry = true;
                self.consume()?;
                return Ok(true);
            }
        }
        self.meter.received(kind, 0, 0);
        self.take_release()?;
        self.consume()?;
        Ok(false)
    }

    /// Returns the number of calls of [`Self::take`] that can be needed to empty the peer's ring:
    /// one per entry, plus pieces of segments, up to four times the cap.
    pub fn most_pending(&self) -> usize {
        self.rings.consumer.capacity() as usize + 4 * self.borrower.most_pieces()
    }

    /// Maps the segment that a `segment add` entry announces, one piece per call, so that one turn
    /// does not take the milliseconds that a large segment needs. Returns true after the last
    /// piece.
    fn add_peers_segment(&mut self) -> Result<bool, SocketError> {
        let size = self.entry.body_word(0);
        self.borrower.check_len(&self.entry, 8)?;
        self.borrower.check_segment(self.entry.tag(), size)?;
        if !self.borrower.has_arriving(size)? {
            let mapping = self.doorbell.take_segment()?;
            let found = mapping.size() as u64;
            if found != size {
                return Err(Violation::from(SegmentError::Size { found, expected: size }).into());
            }
            self.borrower.begin(mapping);
        }
        let is_added = self.borrower.goes_on();
        self.meter.set(Field::PeerMemory, self.borrower.total());
        Ok(is_added)
    }

    /// Returns the current entry.
    #[inline]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns the current entry's body: a private copy if it came inline, else the peer's memory.
    #[inline]
    pub fn body(&self) -> ForeignBytes<'_> {
        body(&self.borrower, self.borrowed.as_ref(), &self.entry, self.trusted)
    }

    /// Releases the current entry's payload ahead of [`Self::finish`], so that the release travels
    /// with the next entry published. The body is empty afterwards.
    #[inline(always)]
    pub fn release(&mut self) {
        if let Some(borrowed) = self.borrowed.take() {
            self.rings.release(borrowed.lend);
            self.entry.clear_body();
        }
    }

    /// Returns true if an entry was taken and neither finished nor detached.
    #[inline]
    pub fn has_current(&self) -> bool {
        self.has_entry
    }

    /// Returns true if the current entry's body is lent by the peer and not yet released.
    #[inline]
    pub fn is_lent(&self) -> bool {
        self.has_entry && self.borrowed.is_some()
    }

    /// Ends the current entry and releases its payload; does nothing without one. The release
    /// travels with the next entry published, or becomes visible by [`Self::flush`]; at once only
    /// if the peer waits for it.
    #[inline(always)]
    pub fn finish(&mut self) -> Result<(), SocketError> {
        if !self.has_entry {
            return Ok(());
        }
        if !self.origin.is_here() {
            return Err(SocketError::Forked);
        }
        self.has_entry = false;
        if self.borrowed.is_some() {
            self.release();
            if self.rings.releases.is_awaited() {
                return self.flush();
            }
        }
        Ok(())
    }
}

#[inline]
pub(super) fn body<'a>(
    borrower: &'a Borrower,
    borrowed: Option<&Borrowed>,
    entry: &'a Entry,
    trusted: bool,
) -> ForeignBytes<'a> {
    match borrowed {
        Some(borrowed) => borrower.bytes(borrowed, trusted),
        None => ForeignBytes::stable(entry.inline()),
    }
}
