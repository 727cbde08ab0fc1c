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
//!
//! Many messages of one size are not placed in the same spot each time: they rotate through more
//! memory than a second-level cache holds. A few messages do not rotate, because they would only
//! keep that memory, and where the cap is small, none do.

use std::sync::Arc;

use crate::payload::allocator::{FreeSpace, rounded};
use breezeway_os::cpu;
use breezeway_os::segment::Mapping;

/// Maximum number of payload segments per direction at any time.
pub(crate) const MOST_SEGMENTS: usize = 64;
/// Messages of at least this size rotate, if at least two fit. A line that both sides have in their
/// second-level caches must be transferred from the other cache for each write and again for each
/// read; a line that only the shared cache holds need not. (Figures: `docs/design.md`.)
const ROUND_FROM: usize = 16 * 1024;
/// Bytes of memory they rotate through: more than a second-level cache, and one huge page.
const ROUND: usize = 2 << 20;
/// Divisor of the last-level cache's size that gives the rotation's size for a distant peer.
const FAR_SHARE: usize = 2;
/// Divisor of the cap that gives the largest rotation. If that is too small, messages do not
/// rotate.
const MOST_OF_CAP: usize = 4;
/// Factor by which the segment may exceed the rotation's size. It stays as long as messages rotate
/// in it.
const MUCH_LARGER: usize = 4;
/// Windows in which messages rotate, counted from one with as many bytes as the rotation's size.
const BUSY: u32 = 2;
/// Number of full rotations within one window after which a segment is added for them.
const OFTEN: usize = 16;
/// Segment sizes are multiples of this.
pub(crate) const PAGE: usize = 4096;

/// Consecutive windows without use after which a segment is retired.
const QUIET: u32 = 1;
/// Consecutive windows without use after which the spare, the largest wholly free segment, is
/// retired.
const QUIET_SPARE: u32 = 10;

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
    /// Offset of the next rotating message.
    round: usize,
    /// Bytes of messages that can rotate, since the last window began.
    going: usize,
    /// Windows left in which messages rotate, this one included.
    busy: u32,
    is_far: bool,
    /// Size of the rotation for a near and a distant peer; 0 without rotation.
    near_round: usize,
    far_round: usize,
    /// Bytes of retired segments that the peer may still have mapped, until it has consumed up to
    /// the position beside.
    leaving: (usize, u64),
}

impl Segments {
    pub(crate) fn new(first: usize, cap: usize) -> Self {
        let most = cap / MOST_OF_CAP / ROUND * ROUND;
        let far_round = cpu::last_cache().unwrap_or(0) / FAR_SHARE;
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
            round: 0,
            going: 0,
            busy: 0,
            is_far: false,
            near_round: ROUND.min(most),
            far_round: far_round.next_multiple_of(ROUND).max(ROUND).min(most),
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
        self.list.len() == MOST_SEGMENTS
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
        if len >= ROUND_FROM
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

    /// Returns the size of the rotation.
    fn round_size(&self) -> usize {
        if self.is_far { self.far_round } else { self.near_round }
    }

    /// Returns the index of the segment in which messages rotate: the smallest that is large
    /// enough, if it is not much larger. Otherwise returns the index where such a segment would be
    /// inserted.
    fn round_segment(&self) -> Result<usize, usize> {
        let round = self.round_size();
        let index = self.list.partition_point(|segment| segment.free.size() < round);
        // A segment of the first size stays anyway.
        let most = (MUCH_LARGER * round).max(self.first);
        let found = self.list.get(index).is_some_and(|segment| segment.free.size() <= most);
        if found { Ok(index) } else { Err(index) }
    }

    /// Takes space behind that of the previous rotating message, or at the start again: in the
    /// rotation segment, else in the next smaller one if that has room.
    fn take_around(&mut self, len: usize) -> Option<Place> {
        let round = self.round_size();
        if self.busy == 0 || len > round / 2 {
            return None;
        }
        let index = match self.round_segment() {
            Ok(index) => index,
            Err(index) => index.checked_sub(1)?,
        };
        let PayloadSegment { number, free, used, .. } = &mut self.list[index];
        let end = free.size().min(round);
        if end < (2 * len).max(self.near_round / 2) {
            return None;
        }
        let offset =
            free.take_within(self.round, end, len).or_else(|| free.take_within(0, end, len))?;
        *used = true;
        let place = Place { segment: *number, offset };
        self.round = offset + rounded(len);
        self.count_taken(len);
        Some(place)
    }

    #[inline]
    fn count_taken(&mut self, len: usize) {
        self.taken += rounded(len);
        self.peak = self.peak.max(self.taken);
        if len >= ROUND_FROM {
            self.count_going(len);
        }
    }

    /// Counts a message that can rotate.
    fn count_going(&mut self, len: usize) {
        let round = self.round_size();
        if len <= round / 2 {
            self.going = self.going.saturating_add(len);
            if self.going >= round {
                self.busy = BUSY;
            }
            self.grown |= self.goes_often() && self.lacks_round();
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

    /// Notes whether the peer runs on a distant core.
    #[inline]
    pub(crate) fn set_far(&mut self, is_far: bool) {
        if self.is_far != is_far {
            (self.is_far, self.going) = (is_far, 0);
        }
    }

    /// Returns true if no segment for rotation exists.
    fn lacks_round(&self) -> bool {
        self.round_segment().is_err()
    }

    fn goes_often(&self) -> bool {
        self.going > 0 && self.going / OFTEN >= self.round_size()
    }

    /// Returns the size of a segment to add because messages would have rotated in it often within
    /// this window. Returns it once per that many messages.
    pub(crate) fn round_growth(&mut self) -> Option<usize> {
        if !self.goes_often() {
            return None;
        }
        self.going = 0;
        self.note_growth();
        let round = self.round_size();
        (self.lacks_round() && round <= self.left() && !self.are_all()).then_some(round)
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
        self.going = 0;
        self.busy = self.busy.saturating_sub(1);
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use breezeway_os::segment;

    const FIRST: usize = 8 * PAGE;
    const CAP: usize = 1024 * PAGE;

    fn segments() -> Segments {
        Segments::new(FIRST, CAP)
    }

    /// Adds a segment as a session does when `len` bytes do not fit. Returns false if the cap does
    /// not allow it.
    fn grow(segments: &mut Segments, len: usize) -> bool {
        let Some(size) = segments.growth(len) else { return false };
        segments.add(segment::create(size).unwrap().0);
        true
    }

    fn take(segments: &mut Segments, len: usize) -> Place {
        segments.take(len, true).unwrap_or_else(|| {
            assert!(grow(segments, len), "{len} bytes");
            segments.take(len, true).expect("the new segment has room")
        })
    }

    fn sizes(segments: &Segments) -> Vec<usize> {
        segments.list.iter().map(|segment| segment.mapping.size() / PAGE).collect()
    }

    /// Ends `count` windows in which nothing is taken, and retires the unneeded segments.
    fn windows(segments: &mut Segments, count: u32) {
        for _ in 0..count {
            segments.age();
            if let Some(size) = segments.modest_growth() {
                segments.add(segment::create(size).unwrap().0);
            }
            while let Some(number) = segments.unneeded() {
                segments.retire(number, 0);
            }
        }
    }

    #[test]
    fn first_segment_has_first_size_or_the_messages() {
        assert_eq!(segments().growth(1), Some(FIRST));
        assert_eq!(segments().growth(FIRST / 2), Some(FIRST));
        assert_eq!(segments().growth(FIRST + 1), Some(FIRST + PAGE));
        assert_eq!(segments().growth(CAP), Some(CAP));
        assert_eq!(segments().growth(CAP + 1), None);
        assert_eq!(Segments::new(1, CAP).growth(1), Some(PAGE));
        assert_eq!(Segments::new(FIRST, PAGE).growth(PAGE), Some(PAGE));
    }

    #[test]
    fn new_segment_doubles_memory_up_to_cap() {
        let mut segments = segments();
        take(&mut segments, FIRST);
        assert_eq!(segments.growth(PAGE), Some(2 * (FIRST + PAGE)));
        take(&mut segments, CAP / 2);
        assert_eq!(segments.total(), CAP);
        assert_eq!(segments.growth(1), None);
    }

    #[test]
    fn space_is_taken_from_the_smallest_segment_that_has_it() {
        let mut segments = segments();
        segments.add(segment::create(3 * FIRST).unwrap().0);
        let large = take(&mut segments, FIRST + 1);
        let mut small = segments.take(PAGE, true).unwrap();
        assert_eq!(small.segment, large.segment, "there is room enough");
        segments.give_back(small, PAGE);
        segments.add(segment::create(2 * PAGE).unwrap().0);
        for _ in 0..3 {
            small = segments.take(2 * PAGE, true).unwrap();
            assert_eq!(small, Place { segment: 1, offset: 0 });
            segments.give_back(small, 2 * PAGE);
        }
        assert_eq!(segments.take(2 * PAGE + 1, true).unwrap().segment, large.segment);
    }

    /// Takes and gives back messages of this size, and returns their places.
    fn one_by_one(segments: &mut Segments, len: usize, count: usize) -> Vec<(u32, usize)> {
        let one = |_| {
            let place = take(segments, len);
            segments.give_back(place, len);
            (place.segment, place.offset)
        };
        (0..count).map(one).collect()
    }

    /// Takes and gives back as many bytes of messages as begin a busy window.
    fn busy(segments: &mut Segments, round: usize) {
        one_by_one(segments, ROUND_FROM, round / ROUND_FROM);
        segments.round = 0;
    }

    #[test]
    fn messages_go_around_in_a_segment_that_has_room_for_it() {
        let mut segments = Segments::new(ROUND, 64 << 20);
        let half = ROUND / 2;
        busy(&mut segments, ROUND);
        assert_eq!(one_by_one(&mut segments, half, 3), [(0, 0), (0, half), (0, 0)]);
        assert_eq!(one_by_one(&mut segments, half + 1, 2), [(0, 0), (0, 0)], "two do not fit");
        assert_eq!(one_by_one(&mut segments, ROUND_FROM - 1, 2), [(0, 0), (0, 0)], "too small");
        let kept = take(&mut segments, ROUND_FROM);
        assert_eq!(kept.offset, half, "behind the last of those that went around");
        let wide = take(&mut segments, half);
        assert_eq!(wide.offset, 0);
        let behind = take(&mut segments, ROUND_FROM);
        assert_eq!(behind.offset, half + ROUND_FROM, "past what is taken");
        for (place, len) in [(kept, ROUND_FROM), (wide, half), (behind, ROUND_FROM)] {
            segments.give_back(place, len);
        }
        assert!(segments.spare().is_some(), "all of it is free again");
    }

    #[test]
    fn for_a_peer_that_is_far_more_memory_is_gone_around_in() {
        let mut segments = Segments::new(32 << 20, 64 << 20);
        segments.far_round = 8 << 20;
        segments.set_far(true);
        busy(&mut segments, 8 << 20);
        let places = one_by_one(&mut segments, ROUND, 5);
        assert_eq!(places, [0, 1, 2, 3, 0].map(|turn| (0, turn * ROUND)));
        segments.set_far(false);
        assert_eq!(one_by_one(&mut segments, ROUND, 2), [(0, 0), (0, 0)]);
    }

    #[test]
    fn messages_go_around_from_a_busy_window_on_until_one_is_quiet() {
        let mut segments = Segments::new(ROUND, 64 << 20);
        let len = 64 << 10;
        let mut goes_around = |count| {
            let places = one_by_one(&mut segments, len, count);
            segments.age();
            places.windows(2).any(|pair| pair[0] != pair[1])
        };
        assert!(!goes_around(ROUND / len), "in the first window from its {ROUND} bytes on");
        assert!(goes_around(2), "the next one from its beginning");
        assert!(!goes_around(ROUND / len), "after one in which there was little, anew");
        assert!(goes_around(ROUND / len));
        assert!(goes_around(2));
    }

    #[test]
    fn distant_traffic_asks_for_no_growth_once_near() {
        let mut segments = Segments::new(ROUND, 64 << 20);
        segments.far_round = 8 << 20;
        segments.set_far(true);
        one_by_one(&mut segments, ROUND / 2, 2 * OFTEN);
        segments.set_far(false);
        assert_eq!(segments.round_growth(), None);
    }

    #[test]
    fn a_segment_to_go_around_in_is_for_messages_that_come_often() {
        let mut segments = Segments::new(64 << 10, 64 << 20);
        let often = OFTEN * ROUND / (64 << 10);
        one_by_one(&mut segments, 64 << 10, often - 1);
        assert!(!segments.have_grown() && segments.round_growth().is_none());
        windows(&mut segments, 1);
        one_by_one(&mut segments, 64 << 10, often - 1);
        assert!(!segments.have_grown(), "not within a window");
        one_by_one(&mut segments, 64 << 10, 1);
        assert!(segments.have_grown());
        let size = segments.round_growth().unwrap();
        assert_eq!((size, segments.round_growth()), (ROUND, None));
        segments.add(segment::create(size).unwrap().0);
        assert_eq!(one_by_one(&mut segments, 64 << 10, 2), [(1, 0), (1, 64 << 10)]);
        one_by_one(&mut segments, 64 << 10, often);
        assert_eq!(segments.round_growth(), None, "there is one");
        windows(&mut segments, QUIET_SPARE + 1);
        assert_eq!(sizes(&segments), [16], "which goes when it is not needed");
        let mut full = Segments::new(64 << 10, 64 << 20);
        one_by_one(&mut full, 63 << 20, 1);
        one_by_one(&mut full, 64 << 10, often);
        assert_eq!(full.round_growth(), None, "the cap leaves no room");
    }

    #[test]
    fn other_segment_is_tried_only_after_collecting() {
        let mut segments = segments();
        segments.add(segment::create(4 * FIRST).unwrap().0);
        assert_eq!(segments.take(FIRST, false), None, "a small message, and no small segment");
        assert_eq!(segments.take(FIRST + 1, false).unwrap().segment, 0);
        segments.add(segment::create(FIRST).unwrap().0);
        assert_eq!(segments.take(FIRST, false).unwrap().segment, 1);
        assert_eq!(segments.take(1, false), None, "one is full");
        assert_eq!(segments.take(FIRST + 1, false).unwrap().segment, 0, "which is too small");
        assert_eq!(segments.take(1, true).unwrap().segment, 0);
    }

    #[test]
    fn unneeded_segments_are_retired_except_first_and_spare() {
        let mut segments = segments();
        let held = [1, FIRST, 3 * FIRST, 9 * FIRST].map(|len| (take(&mut segments, len), len));
        assert_eq!(sizes(&segments), [8, 18, 66, 210]);
        for (place, len) in held {
            segments.give_back(place, len);
        }
        windows(&mut segments, 1);
        assert_eq!(sizes(&segments), [8, 18, 66, 210], "all were needed in this window");
        windows(&mut segments, 1);
        assert_eq!(sizes(&segments), [8, 210]);
        windows(&mut segments, QUIET_SPARE - 2);
        assert_eq!(sizes(&segments), [8, 210]);
        windows(&mut segments, 1);
        assert_eq!(sizes(&segments), [8]);
        assert!(!segments.have_grown());
        windows(&mut segments, 100);
        assert_eq!(sizes(&segments), [8]);
    }

    #[test]
    fn a_segment_from_which_something_is_taken_stays() {
        let mut segments = segments();
        let held = take(&mut segments, FIRST / 2);
        let large = take(&mut segments, 20 * FIRST);
        segments.give_back(held, FIRST / 2);
        windows(&mut segments, 100);
        assert_eq!(sizes(&segments).len(), 2);
        segments.give_back(large, 20 * FIRST);
        windows(&mut segments, 100);
        assert_eq!(sizes(&segments), [8]);
    }

    #[test]
    fn small_messages_move_out_of_a_large_segment_so_that_it_can_go() {
        let mut segments = segments();
        let large = take(&mut segments, 50 * FIRST);
        segments.give_back(large, 50 * FIRST);
        assert_eq!(sizes(&segments), [400]);
        for _ in 0..3 * QUIET_SPARE {
            let small = take(&mut segments, PAGE);
            segments.give_back(small, PAGE);
            windows(&mut segments, 1);
        }
        assert_eq!(sizes(&segments), [8]);
        assert_eq!(segments.next_number(), 2);
    }

    /// Takes one message of `len` bytes in each of `count` windows, after which nothing else is
    /// there.
    fn now_and_then(segments: &mut Segments, len: usize, count: u32) {
        for _ in 0..count {
            one_by_one(segments, len, 1);
            windows(segments, 1);
        }
    }

    #[test]
    fn rare_messages_move_out_of_a_large_segment() {
        let mut segments = Segments::new(64 << 10, 64 << 20);
        one_by_one(&mut segments, 48 << 20, 1);
        now_and_then(&mut segments, ROUND_FROM, 3 * QUIET_SPARE);
        assert_eq!(sizes(&segments), [16]);
    }

    #[test]
    fn rotation_segment_is_retired_when_messages_are_rare() {
        let mut segments = Segments::new(64 << 10, 64 << 20);
        one_by_one(&mut segments, 64 << 10, OFTEN * ROUND / (64 << 10));
        let size = segments.round_growth().unwrap();
        segments.add(segment::create(size).unwrap().0);
        now_and_then(&mut segments, 64 << 10, 2 * QUIET_SPARE);
        assert_eq!(sizes(&segments), [16]);
    }

    #[test]
    fn a_large_segment_goes_while_many_messages_go_around() {
        let mut segments = Segments::new(64 << 10, 64 << 20);
        one_by_one(&mut segments, 48 << 20, 1);
        for _ in 0..2 * QUIET_SPARE {
            one_by_one(&mut segments, 64 << 10, OFTEN * ROUND / (64 << 10));
            if let Some(size) = segments.round_growth() {
                segments.add(segment::create(size).unwrap().0);
            }
            windows(&mut segments, 1);
        }
        assert_eq!(sizes(&segments), [ROUND / PAGE]);
    }

    #[test]
    fn kept_message_leaves_rest_of_small_cap_in_one_piece() {
        let mut segments = Segments::new(1 << 20, 1 << 20);
        for _ in 0..2 * ROUND / ROUND_FROM {
            let kept = take(&mut segments, ROUND_FROM);
            let large = segments.take(600 << 10, true).expect("most of it is free");
            segments.give_back(large, 600 << 10);
            segments.give_back(kept, ROUND_FROM);
        }
    }

    #[test]
    fn where_the_cap_is_small_none_of_it_is_spent_on_going_around() {
        let mut segments = Segments::new(64 << 10, 4 << 20);
        assert_eq!(segments.round_growth(), None);
        one_by_one(&mut segments, 16 << 10, 2 * OFTEN * ROUND / (16 << 10));
        assert_eq!(segments.round_growth(), None);
        assert!(!segments.have_grown());
    }

    #[test]
    fn a_message_now_and_then_keeps_the_spare() {
        let mut segments = segments();
        let mut added = 0;
        for round in 0..50 {
            let place = take(&mut segments, 10 * FIRST);
            segments.give_back(place, 10 * FIRST);
            windows(&mut segments, QUIET_SPARE - 1);
            if round == 0 {
                added = segments.next_number();
            }
        }
        assert_eq!(segments.next_number(), added);
    }

    #[test]
    fn retired_segments_stay_within_the_cap() {
        let mut segments = segments();
        segments.add(segment::create(CAP / 2).unwrap().0);
        take(&mut segments, CAP / 4);
        let mut retire = |position| {
            let place = take(&mut segments, CAP / 4 + PAGE);
            segments.give_back(place, CAP / 4 + PAGE);
            let may = segments.may_retire(place.segment, 0);
            if may {
                segments.retire(place.segment, position);
            }
            (place.segment, may)
        };
        assert!(retire(1).1 && retire(2).1, "two halves of the cap");
        let (third, may) = retire(3);
        assert!(!may, "the peer may have a whole cap");
        assert!(!segments.may_retire(third, 1));
        assert!(segments.may_retire(third, 2), "the peer has dropped both");
    }

    #[test]
    fn the_number_of_segments_is_bounded() {
        let mut segments = Segments::new(PAGE, CAP);
        for _ in 0..MOST_SEGMENTS {
            segments.add(segment::create(PAGE).unwrap().0);
        }
        assert!(segments.are_all());
        assert_eq!(segments.growth(1), None);
    }

    /// One step of a sender.
    #[derive(Clone, Debug)]
    enum Step {
        Take(usize),
        GiveBack(prop::sample::Index),
        Window,
        Far(bool),
        Round,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (1usize..4 * PAGE).prop_map(Step::Take),
            2 => (1usize..CAP / 3).prop_map(Step::Take),
            2 => (ROUND_FROM..12 * PAGE).prop_map(Step::Take),
            6 => any::<prop::sample::Index>().prop_map(Step::GiveBack),
            1 => Just(Step::Window),
            1 => any::<bool>().prop_map(Step::Far),
            1 => Just(Step::Round),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn taken_places_never_overlap_and_all_return(
            steps in prop::collection::vec(step(), 1..300),
        ) {
            let mut segments = segments();
            // Small enough that a segment is soon added, and that some messages are too long for
            // it.
            (segments.near_round, segments.far_round) = (24 * PAGE, 96 * PAGE);
            let mut model: Vec<(Place, usize)> = Vec::new();
            for step in steps {
                match step {
                    Step::Take(len) => {
                        let fits = segments.can_make_room(len);
                        let place = segments.take(len, true).or_else(|| {
                            while segments.growth(len).is_none() {
                                let spare = segments.spare().filter(|_| fits)?;
                                segments.retire(spare, 0);
                            }
                            assert!(grow(&mut segments, len));
                            segments.take(len, true)
                        });
                        if let Some(place) = place {
                            for &(other, other_len) in &model {
                                prop_assert!(
                                    place.segment != other.segment
                                        || place.offset + len <= other.offset
                                        || other.offset + other_len <= place.offset
                                );
                            }
                            model.push((place, len));
                        } else {
                            prop_assert!(!fits);
                        }
                    }
                    Step::GiveBack(index) if !model.is_empty() => {
                        let (place, len) = model.swap_remove(index.index(model.len()));
                        segments.give_back(place, len);
                    }
                    Step::GiveBack(_) => {}
                    Step::Window => windows(&mut segments, 1),
                    Step::Far(is_far) => segments.set_far(is_far),
                    Step::Round => {
                        // As after many more messages.
                        segments.going = segments.going.saturating_mul(OFTEN);
                        if let Some(size) = segments.round_growth() {
                            segments.add(segment::create(size).unwrap().0);
                        }
                    }
                }
                let taken: usize = model.iter().map(|&(_, len)| rounded(len)).sum();
                prop_assert_eq!(segments.taken(), taken);
                prop_assert!(segments.total() <= CAP);
                let total: usize = segments.list.iter().map(|segment| segment.mapping.size()).sum();
                prop_assert_eq!(segments.total(), total);
                for &(place, len) in &model {
                    prop_assert!(place.offset + len <= segments.mapping(place).size());
                }
            }
            for (place, len) in model {
                segments.give_back(place, len);
            }
            windows(&mut segments, 2 + QUIET_SPARE);
            prop_assert!(sizes(&segments).len() <= 1);
            prop_assert_eq!(segments.taken(), 0);
        }

        #[test]
        fn repeated_traffic_needs_no_further_segments(
            lens in prop::collection::vec(1usize..CAP / 24, 1..40),
            depth in 1usize..6,
        ) {
            let mut segments = segments();
            let mut flying = std::collections::VecDeque::new();
            let mut rounds = |count: usize| {
                for _ in 0..count {
                    for &len in &lens {
                        flying.push_back((take(&mut segments, len), len));
                        if flying.len() > depth {
                            let (place, len) = flying.pop_front().unwrap();
                            segments.give_back(place, len);
                        }
                    }
                    windows(&mut segments, 1);
                }
                segments.next_number()
            };
            let warm = rounds(50);
            prop_assert_eq!(rounds(100), warm);
        }
    }
}
