//! Our payload segments: placement of messages, and when segments are added and retired.
//!
//! Segments are sorted by size, and space is taken from the smallest that has it. Small messages
//! therefore stay in a small segment, whose pages and lines are warm, and large segments become
//! free when large messages cease. A new segment has room for twice of all that is taken, so that
//! steady traffic soon fits into one; while nothing is taken it is as large as the message.
//!
//! A segment that traffic has not needed for a while is retired. The largest free one, the spare,
//! is kept much longer, and one of the first size stays. Timers are not needed: time is cut into
//! windows, which end when there is traffic, so that an idle session costs nothing and a pause of
//! any length is one window.

use std::sync::Arc;

use breezeway_os::segment::Mapping;

use crate::payload::allocator::{FreeSpace, rounded};
use crate::payload::placement::{MUCH_LARGER, PAGE, Placement, QUIET, QUIET_SPARE, ROTATED_FROM};
use crate::ring::layout::MAX_SEGMENTS;

struct PayloadSegment {
    number: u32,
    /// The mapping, also held by threads that fill owned space in it.
    mapping: Arc<Mapping>,
    free: FreeSpace,
    /// True if space was taken since the last window began.
    used: bool,
    /// Consecutive windows in which no space was taken.
    quiet: u32,
}

/// Space in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) segment: u32,
    pub(crate) offset: usize,
}

/// Our payload segments, the smallest first.
pub(crate) struct Segments {
    list: Vec<PayloadSegment>,
    next_number: u32,
    /// Size of the first segment, unless a message needs more.
    first: usize,
    /// Maximum bytes of segments at any time.
    cap: usize,
    total: usize,
    /// Bytes taken.
    taken: usize,
    /// Maximum of bytes taken since the last window began.
    peak: usize,
    /// Consecutive windows in which the first segment would have sufficed.
    modest: u32,
    /// True if there is more than an idle session keeps, or may be a reason for more.
    grown: bool,
    pub(crate) placement: Placement,
    /// Bytes of retired segments that the peer may still have mapped, until it has consumed up to
    /// the position beside.
    leaving: (usize, u64),
}

impl Segments {
    pub(crate) fn new(first: usize, cap: usize) -> Self {
        Self {
            list: Vec::new(),
            next_number: 0,
            first: first.max(1).next_multiple_of(PAGE),
            cap,
            total: 0,
            taken: 0,
            peak: 0,
            modest: 0,
            grown: false,
            placement: Placement::new(cap),
            leaving: (0, 0),
        }
    }

    /// Raises the limit of bytes at any time by `reserve`.
    pub(crate) fn keeping(self, reserve: usize) -> Self {
        Self { cap: self.cap + reserve, ..self }
    }

    /// Returns the size of the first segment, unless a message needs more.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// Returns the bytes of segments now.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Returns the bytes taken now.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// Returns true if the maximum number of segments exists.
    pub(crate) fn are_all(&self) -> bool {
        self.list.len() == MAX_SEGMENTS
    }

    /// Returns the number of segments added so far, which is the number of the next one.
    pub(crate) fn next_number(&self) -> u32 {
        self.next_number
    }

    /// Takes space for `len` bytes, if there is some.
    ///
    /// Unless releases were `looked` for recently, it takes nothing from a segment larger than one
    /// that would suffice: fast traffic would otherwise fill a small segment with payload released
    /// long ago, and keep a large one. Before the first small segment exists, small messages get
    /// nothing either, so that their real need becomes known.
    #[inline]
    pub(crate) fn take(&mut self, len: usize, looked: bool) -> Option<Place> {
        if len >= ROTATED_FROM
            && let Some(place) = self.take_around(len)
        {
            return Some(place);
        }
        let smallest = self.list.first()?.free.size();
        if !looked && smallest > self.first && len <= self.first {
            return None;
        }
        for segment in &mut self.list {
            if let Some(offset) = segment.free.take(len) {
                segment.used = true;
                let place = Place { segment: segment.number, offset };
                self.count_taken(len);
                return Some(place);
            }
            if !looked && len <= segment.free.size() {
                return None;
            }
        }
        None
    }

    /// Returns the index of the segment in which messages rotate: the smallest that is large
    /// enough, if it is not much larger. Otherwise returns the index where such a segment would be
    /// inserted.
    fn round_segment(&self) -> Result<usize, usize> {
        let rotation = self.placement.size();
        let index = self.list.partition_point(|segment| segment.free.size() < rotation);
        // A segment of the first size stays anyway.
        let most = (MUCH_LARGER * rotation).max(self.first);
        let found = self.list.get(index).is_some_and(|segment| segment.free.size() <= most);
        if found { Ok(index) } else { Err(index) }
    }

    /// Takes space behind that of the previous rotating message, or at the start again: in the
    /// rotation segment, else in the next smaller one if that has room.
    fn take_around(&mut self, len: usize) -> Option<Place> {
        if !self.placement.rotates(len) {
            return None;
        }
        let index = match self.round_segment() {
            Ok(index) => index,
            Err(index) => index.checked_sub(1)?,
        };
        let PayloadSegment { number, free, used, .. } = &mut self.list[index];
        let end = self.placement.end(free.size(), len)?;
        let next = self.placement.next;
        let offset = free.take_within(next, end, len).or_else(|| free.take_within(0, end, len))?;
        *used = true;
        let place = Place { segment: *number, offset };
        self.placement.next = offset + rounded(len);
        self.count_taken(len);
        Some(place)
    }

    #[inline]
    fn count_taken(&mut self, len: usize) {
        self.taken += rounded(len);
        self.peak = self.peak.max(self.taken);
        if len >= ROTATED_FROM && self.placement.count(len) {
            self.grown |= self.lacks_round();
        }
    }

    /// Gives back the result of `take(len)`.
    #[inline]
    pub(crate) fn give_back(&mut self, place: Place, len: usize) {
        if let Some(segment) = self.find(place.segment) {
            segment.free.give_back(place.offset, len);
            self.taken -= rounded(len);
        }
    }

    /// Gives back what `take(len)` returned behind the first `kept` bytes. Returns true if that
    /// frees space.
    pub(crate) fn shorten(&mut self, place: Place, len: usize, kept: usize) -> bool {
        let (len, kept) = (rounded(len), rounded(kept));
        if kept < len {
            let behind = Place { offset: place.offset + kept, ..place };
            self.give_back(behind, len - kept);
        }
        kept < len
    }

    /// Returns the mapping that holds a place.
    #[inline]
    pub(crate) fn mapping(&mut self, place: Place) -> &Arc<Mapping> {
        &self.find(place.segment).expect("what is taken lies in a live segment").mapping
    }

    #[inline]
    fn find(&mut self, number: u32) -> Option<&mut PayloadSegment> {
        self.list.iter_mut().find(|segment| segment.number == number)
    }

    // ---- growing ----

    /// Returns the size of a new segment for `len` bytes, with extra room where the cap allows.
    /// `None` if the cap leaves no room for it.
    pub(crate) fn growth(&self, len: usize) -> Option<usize> {
        let needed = pages(len);
        let left = self.left();
        // A sender with one message at a time, as in calls, needs only that message's room.
        let spare = if self.taken == 0 { 0 } else { needed.saturating_add(2 * pages(self.taken)) };
        // Slowly growing message sizes still add few segments.
        let wanted = needed.saturating_add(spare).max(self.first).max(self.total);
        (needed <= left && !self.are_all()).then(|| wanted.min(left))
    }

    /// Returns the maximum size of a new segment.
    pub(crate) fn left(&self) -> usize {
        (self.cap - self.total) / PAGE * PAGE
    }

    /// Returns true if there is room for `len` bytes once all wholly free segments are retired.
    pub(crate) fn can_make_room(&self, len: usize) -> bool {
        let free: usize = self.whole().map(|segment| segment.free.size()).sum();
        pages(len) <= (self.cap - self.total + free) / PAGE * PAGE
    }

    /// Returns true if no segment for rotation exists.
    fn lacks_round(&self) -> bool {
        self.round_segment().is_err()
    }

    /// Returns the size of a segment to add because messages would have rotated in it often within
    /// this window. Returns it once per that many messages.
    pub(crate) fn round_growth(&mut self) -> Option<usize> {
        if !self.placement.take_often() {
            return None;
        }
        self.note_growth();
        let size = self.placement.size();
        (self.lacks_round() && size <= self.left() && !self.are_all()).then_some(size)
    }

    /// Adds a segment.
    pub(crate) fn add(&mut self, mapping: Mapping) {
        let (number, size) = (self.next_number, mapping.size());
        self.next_number += 1;
        self.total += size;
        let free = FreeSpace::new(size);
        let mapping = Arc::new(mapping);
        let segment = PayloadSegment { number, mapping, free, used: true, quiet: 0 };
        let at = self.list.partition_point(|other| other.free.size() <= size);
        self.list.insert(at, segment);
        self.note_growth();
    }

    // ---- shrinking ----

    fn whole(&self) -> impl Iterator<Item = &PayloadSegment> {
        self.list.iter().filter(|segment| segment.free.is_whole())
    }

    /// Returns the largest segment in which nothing is taken.
    pub(crate) fn spare(&self) -> Option<u32> {
        self.whole().last().map(|segment| segment.number)
    }

    /// Returns true if there is more than an idle session keeps, which is at most one segment of
    /// the first size.
    #[inline(always)]
    pub(crate) fn have_grown(&self) -> bool {
        self.grown
    }

    fn note_growth(&mut self) {
        self.grown = self.total > self.first;
    }

    /// Ends a window: notes the memory that traffic needed in it.
    pub(crate) fn age(&mut self) {
        let modest = self.peak <= self.first / 2;
        self.modest = if modest { self.modest.saturating_add(1) } else { 0 };
        self.peak = self.taken;
        self.placement.age();
        self.note_growth();
        for segment in &mut self.list {
            let needed = std::mem::take(&mut segment.used) || !segment.free.is_whole();
            segment.quiet = if needed { 0 } else { segment.quiet.saturating_add(1) };
        }
    }

    /// Returns a segment that traffic has not needed for a while.
    pub(crate) fn unneeded(&self) -> Option<u32> {
        let spare = self.spare();
        // The segment that an idle session keeps.
        let kept = self.list.first().filter(|segment| segment.free.size() <= self.first);
        let kept = kept.map(|segment| segment.number);
        let mut whole = self.whole().filter(|segment| Some(segment.number) != kept);
        let patience = |number| if Some(number) == spare { QUIET_SPARE } else { QUIET };
        whole.find(|segment| segment.quiet >= patience(segment.number)).map(|found| found.number)
    }

    /// Returns the size of a segment to add for traffic that has become small, so that larger
    /// segments become free: where the first messages were large there is none of the first size.
    pub(crate) fn modest_growth(&self) -> Option<usize> {
        let smallest = self.list.first()?.free.size();
        let fits = self.first <= self.cap - self.total && !self.are_all();
        (smallest > self.first && self.modest >= QUIET_SPARE && fits).then_some(self.first)
    }

    /// Returns true if a segment may be retired once the peer has consumed `consumed` entries: the
    /// retired segments that it may still have mapped stay within the cap.
    pub(crate) fn may_retire(&mut self, number: u32, consumed: u64) -> bool {
        let (bytes, until) = &mut self.leaving;
        if consumed >= *until {
            *bytes = 0;
        }
        let size = self.list.iter().find(|segment| segment.number == number);
        size.is_some_and(|segment| *bytes + segment.free.size() <= self.cap)
    }

    /// Drops a wholly free segment. The peer does so when it has consumed the entries before
    /// `position`.
    pub(crate) fn retire(&mut self, number: u32, position: u64) {
        let Some(index) = self.list.iter().position(|segment| segment.number == number) else {
            return;
        };
        let segment = self.list.remove(index);
        assert!(segment.free.is_whole(), "what is lent stays");
        self.total -= segment.free.size();
        self.leaving = (self.leaving.0 + segment.free.size(), position);
        self.note_growth();
    }
}

/// Returns the size of the whole pages that `len` bytes take.
pub(crate) fn pages(len: usize) -> usize {
    rounded(len).next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests;
