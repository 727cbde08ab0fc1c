//! What an endpoint receives: entries, one at a time, and the payload lent with them.

use super::Endpoint;
use crate::doorbell::SocketError;
use crate::foreign::ForeignBytes;
use crate::payload::borrower::{Borrowed, Borrower};
use crate::ring::Entry;
use crate::ring::layout::{INLINE_MAX, LENT, MESSAGE, SEGMENT_ADD, SEGMENT_RETIRE};
use crate::statistics::Field;
use crate::violation::Violation;
use breezeway_os::segment::SegmentError;

impl Endpoint {
    /// Takes the next entry, if one is committed, and consumes it: the peer may use its slot again.
    /// It stays the current one, and what it lends is lent, until [`Self::finish`] or
    /// [`Self::detach`].
    /// An entry about a segment is dealt with here, one a call (a peer may send any number of
    /// them), and a large segment a piece a call; then this says false although more may be there.
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

    /// Consumes the entry that was copied and dealt with. The peer learns of it at once only if it
    /// waits for that, or after a quarter of the ring.
    #[inline(always)]
    fn consume(&mut self) -> Result<(), SocketError> {
        if self.rings.consumer.advance() { self.flush() } else { Ok(()) }
    }

    /// Takes back what the entry says to be released.
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

    /// Deals with an entry about segments; true for others, which become the current one. After a
    /// shortage, and while a large segment is mapped piece by piece, the entry is still the next
    /// one.
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

    /// How often [`Self::take`] may have to be asked for all that the peer's ring holds: once for
    /// each entry, and for pieces of segments, in which the cap may come and go a few times.
    pub fn most_pending(&self) -> usize {
        self.rings.consumer.capacity() as usize + 4 * self.borrower.most_pieces()
    }

    /// Maps the segment that a `segment add` entry announces, a piece a call: a turn that serves a
    /// peer is not to take the milliseconds of a large one. True after the last.
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

    /// The current entry.
    #[inline]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The current entry's body: a private copy if it came inline, else the peer's memory.
    #[inline]
    pub fn body(&self) -> ForeignBytes<'_> {
        body(&self.borrower, self.borrowed.as_ref(), &self.entry, self.trusted)
    }

    /// The current entry's body, if it came inline: as many bytes as an entry holds, of which those
    /// behind its length mean nothing.
    #[inline]
    pub fn inline_body(&self) -> [u8; INLINE_MAX] {
        self.entry.inline_room()
    }

    /// Releases the current entry's payload ahead of [`Self::finish`], so that the release travels
    /// with the next entry published. Its body is empty from now on.
    #[inline(always)]
    pub fn release(&mut self) {
        if let Some(borrowed) = self.borrowed.take() {
            self.rings.release(borrowed.lend);
            self.entry.clear_body();
        }
    }

    /// Whether an entry was taken and neither finished nor detached.
    #[inline]
    pub fn has_current(&self) -> bool {
        self.has_entry
    }

    /// Whether the peer lends the current entry's body, and it was not released.
    #[inline]
    pub fn is_lent(&self) -> bool {
        self.has_entry && self.borrowed.is_some()
    }

    /// Ends the current entry and releases its payload; does nothing without one. The release
    /// travels with the next entry published, or is made visible by [`Self::flush`], at once only
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
