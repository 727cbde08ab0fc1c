//! Bytes received from a socket: those that are not yet a whole frame, and frames not yet taken.

use breezeway_os::memory;
use breezeway_os::segment::SegmentError;
use breezeway_proto::frame::{self, HEADER_LEN};
use breezeway_proto::{CallViolation, RawHead};

/// Minimum room, which an idle session keeps, in bytes.
const KEPT: usize = 64 * 1024;
/// Number of messages in a row that need a quarter of a larger buffer at most, before it is given
/// back.
const SMALL_ENOUGH: u32 = 64;

/// A run of bytes in one buffer, so that each body is one slice.
pub(super) struct ReceiveBuffer {
    bytes: Vec<u8>,
    /// Start and end of the bytes that were not taken yet.
    start: usize,
    end: usize,
    /// Length of the current frame, header included.
    current: usize,
    /// Number of messages in a row that would have needed less.
    small: u32,
    /// Bytes of a [dropped](Self::drop_frame) frame that are still to come.
    dropped: usize,
    /// Memory that [`Self::reserve_copy`] has taken.
    copy: Vec<u8>,
}

impl ReceiveBuffer {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            end: 0,
            current: 0,
            small: 0,
            dropped: 0,
            copy: Vec::new(),
        }
    }

    /// Returns the number of bytes that were not taken yet.
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Makes the next frame the current one if all of it is there.
    pub(super) fn next(&mut self, cap: usize) -> Result<Option<RawHead>, CallViolation> {
        debug_assert!(self.current == 0, "the frame before was finished");
        let Some((head, len)) = self.peek(cap)? else { return Ok(None) };
        if self.len() < HEADER_LEN + len {
            return Ok(None);
        }
        self.current = HEADER_LEN + len;
        Ok(Some(head))
    }

    /// Returns true if a whole frame is there.
    pub(super) fn has_frame(&self, cap: usize) -> Result<bool, CallViolation> {
        Ok(self.peek(cap)?.is_some_and(|(_, len)| self.len() >= HEADER_LEN + len))
    }

    /// Returns the next frame's head and body length, if its header has come.
    fn peek(&self, cap: usize) -> Result<Option<(RawHead, usize)>, CallViolation> {
        let bytes = &self.bytes[self.start..self.end];
        bytes.first_chunk().map(|header| frame::decode(header, cap)).transpose()
    }

    /// Returns the current frame's body; empty if there is no current frame.
    pub(super) fn body(&self) -> &[u8] {
        self.bytes[self.start..][..self.current].get(HEADER_LEN..).unwrap_or_default()
    }

    /// Forgets the current frame.
    pub(super) fn finish(&mut self) {
        self.start += self.current;
        let small = self.current <= self.bytes.len() / 4;
        self.current = 0;
        if self.start < self.end {
            return;
        }
        (self.start, self.end) = (0, 0);
        if self.bytes.len() <= KEPT {
            return;
        }
        self.small = if small { self.small + 1 } else { 0 };
        if self.small >= SMALL_ENOUGH {
            self.bytes = Vec::new();
            self.small = 0;
        }
    }

    /// Takes the memory that [`Self::take_body`] may need, from `spare` if that has more.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory. The frame stays the current one.
    pub(super) fn reserve_copy(&mut self, spare: &mut Vec<u8>) -> Result<(), SegmentError> {
        let needed = self.behind().min(self.body().len());
        if self.copy.capacity() < needed {
            if spare.capacity() >= needed {
                std::mem::swap(&mut self.copy, spare);
            }
            self.copy.clear();
            memory::reserve(&mut self.copy, needed)?;
        }
        Ok(())
    }

    /// Finishes the current frame, and returns the last `rest` bytes of its body: bytes, and where
    /// in them these begin. It is the frame's own memory, unless a copy is less work, or takes much
    /// less memory. [`Self::reserve_copy`] comes first.
    pub(super) fn take_body(&mut self, rest: usize) -> (Vec<u8>, usize) {
        let behind = self.behind();
        self.copy.clear();
        let is_little = rest < self.bytes.len() / 4;
        if behind > rest || is_little && memory::reserve(&mut self.copy, rest).is_ok() {
            let mut copy = std::mem::take(&mut self.copy);
            let body = self.body();
            copy.extend_from_slice(&body[body.len() - rest..]);
            self.finish();
            return (copy, 0);
        }
        let frame = self.start + self.current;
        let mut other = std::mem::take(&mut self.copy);
        other.extend_from_slice(&self.bytes[frame..self.end]);
        let mut bytes = std::mem::replace(&mut self.bytes, other);
        bytes.truncate(frame);
        (self.start, self.end, self.current, self.small) = (0, behind, 0, 0);
        (bytes, frame - rest)
    }

    /// Returns the number of bytes that came behind the current frame.
    fn behind(&self) -> usize {
        self.end - self.start - self.current
    }

    /// Drops the frame that has begun, with its memory: the rest of it is dropped as it comes.
    /// Returns its head and the length of its body; `None` if no header has come, the frame is
    /// whole, or another one is the current.
    pub(super) fn drop_frame(&mut self, cap: usize) -> Option<(RawHead, usize)> {
        let (head, len) = self.peek(cap).ok()??;
        let come = self.len();
        if self.current > 0 || come >= HEADER_LEN + len {
            return None;
        }
        self.dropped = HEADER_LEN + len - come;
        (self.bytes, self.start, self.end, self.small) = (Vec::new(), 0, 0, 0);
        Some((head, len))
    }

    /// Returns the bytes that are to come before the frame that has begun is whole, or its header
    /// if that has not come.
    pub(super) fn missing(&self, cap: usize) -> usize {
        let whole = match self.peek(cap) {
            Ok(Some((_, len))) => HEADER_LEN + len,
            _ => self.dropped + HEADER_LEN,
        };
        whole.saturating_sub(self.len())
    }

    /// Exchanges the memory with `other`, if no bytes are in it and `other` suits better.
    pub(super) fn exchange(
        &mut self,
        other: &mut Vec<u8>,
        suits: impl FnOnce(&[u8], &[u8]) -> bool,
    ) {
        if self.start == self.end && self.current == 0 && suits(&self.bytes, other) {
            std::mem::swap(&mut self.bytes, other);
            (self.start, self.end, self.small) = (0, 0, 0);
        }
    }

    /// Returns room for the next bytes: for the rest of the frame that has begun, but at most for
    /// as much again as has come, so that memory is taken as bytes arrive, not as a header
    /// announces them.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory. Received bytes stay, and the caller can ask for room again.
    pub(super) fn room(&mut self, cap: usize) -> Result<&mut [u8], SegmentError> {
        let announced = match self.peek(cap) {
            Ok(Some((_, len))) => HEADER_LEN + len,
            _ => HEADER_LEN,
        };
        let len = self.len();
        let wanted = if announced > len { announced.min(2 * len).max(KEPT) } else { len + KEPT };
        if self.start + wanted > self.bytes.len() {
            self.make_room(wanted)?;
        }
        Ok(&mut self.bytes[self.end..])
    }

    /// Makes room for `wanted` bytes from the first that was not taken yet.
    fn make_room(&mut self, wanted: usize) -> Result<(), SegmentError> {
        // The current frame's body stays where it is.
        if self.current == 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.len());
        }
        let needed = self.start + wanted;
        if self.bytes.len() < needed {
            let size = needed.next_multiple_of(KEPT);
            let more = size - self.bytes.len();
            memory::reserve(&mut self.bytes, more)?;
            self.bytes.resize(size, 0);
        }
        Ok(())
    }

    /// Notes that `len` bytes were put into [`Self::room`].
    pub(super) fn filled(&mut self, len: usize) {
        self.end += len;
        debug_assert!(self.end <= self.bytes.len());
        if self.dropped > 0 {
            let dropped = self.dropped.min(self.len());
            self.dropped -= dropped;
            self.start += dropped;
            if self.start == self.end {
                (self.start, self.end) = (0, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use breezeway_proto::{Flags, Head, Kind};
    use proptest::prelude::*;

    use super::*;

    const CAP: usize = 1 << 20;

    fn frame_of(body: &[u8]) -> Vec<u8> {
        let head = Head { kind: Kind::Message, flags: Flags::FIN, stream: 1, tag: 2, time: 0 };
        [&frame::encode(head, body.len())[..], body].concat()
    }

    /// Puts as much of `bytes` into the buffer as one read would.
    fn receive(buffer: &mut ReceiveBuffer, bytes: &[u8]) -> usize {
        let room = buffer.room(CAP).unwrap();
        let len = room.len().min(bytes.len());
        room[..len].copy_from_slice(&bytes[..len]);
        buffer.filled(len);
        len
    }

    #[test]
    fn without_a_current_frame_there_is_no_body() {
        let mut buffer = ReceiveBuffer::new();
        assert_eq!(buffer.body(), b"");
        receive(&mut buffer, &frame_of(b"next"));
        assert_eq!(buffer.body(), b"");
    }

    #[test]
    fn a_header_alone_takes_no_memory_for_its_body() {
        let mut buffer = ReceiveBuffer::new();
        receive(&mut buffer, &frame_of(&vec![0; CAP])[..HEADER_LEN]);
        assert!(buffer.room(CAP).unwrap().len() <= KEPT);
        assert!(buffer.bytes.len() <= KEPT);
    }

    #[test]
    fn a_large_buffer_is_given_back_after_many_small_messages() {
        let mut buffer = ReceiveBuffer::new();
        let large = frame_of(&vec![1; CAP]);
        let mut sent = 0;
        while sent < large.len() {
            sent += receive(&mut buffer, &large[sent..]);
        }
        buffer.next(CAP).unwrap().unwrap();
        buffer.finish();
        assert!(buffer.bytes.len() >= CAP);
        for _ in 0..SMALL_ENOUGH {
            receive(&mut buffer, &frame_of(b"small"));
            buffer.next(CAP).unwrap().unwrap();
            buffer.finish();
        }
        assert!(buffer.bytes.is_empty());
    }

    fn receive_all(buffer: &mut ReceiveBuffer, bytes: &[u8]) {
        let mut sent = 0;
        while sent < bytes.len() {
            sent += receive(buffer, &bytes[sent..]);
        }
    }

    #[test]
    fn taken_frame_leaves_the_next_one_intact() {
        let mut buffer = ReceiveBuffer::new();
        let first = vec![1; 300_000];
        receive_all(&mut buffer, &[frame_of(&first), frame_of(b"second")].concat());
        buffer.next(CAP).unwrap().unwrap();
        let address = buffer.body().as_ptr();
        buffer.reserve_copy(&mut Vec::new()).unwrap();
        let (bytes, body) = buffer.take_body(first.len());
        assert_eq!((&bytes[body..], bytes[body..].as_ptr()), (&first[..], address));
        assert_eq!(buffer.body(), b"");
        buffer.next(CAP).unwrap().unwrap();
        assert_eq!(buffer.body(), b"second");
        buffer.finish();
        receive_all(&mut buffer, &frame_of(&first));
        buffer.next(CAP).unwrap().unwrap();
        assert_eq!(buffer.body(), first);
    }

    #[test]
    fn body_with_more_behind_it_or_a_small_rest_is_copied() {
        let mut buffer = ReceiveBuffer::new();
        let bodies = [vec![1; 300_000], vec![2; 400_000], vec![3; 300_000]];
        receive_all(&mut buffer, &bodies.each_ref().map(|body| frame_of(body)).concat());
        let mut spare = Vec::new();
        for (body, rest) in bodies.iter().zip([300_000, 400_000, 50_000]) {
            buffer.next(CAP).unwrap().unwrap();
            let address = buffer.body().as_ptr();
            buffer.reserve_copy(&mut spare).unwrap();
            let (bytes, start) = buffer.take_body(rest);
            assert_eq!(bytes[start..], body[..rest]);
            let is_own = bytes[start..].as_ptr() == address;
            assert_eq!(is_own, body[0] == 2, "{}", body[0]);
        }
        assert_eq!(buffer.len(), 0);
    }

    #[test]
    fn dropped_frame_frees_memory_and_next_frame_is_received() {
        let mut buffer = ReceiveBuffer::new();
        assert!(buffer.drop_frame(CAP).is_none());
        let stream = [frame_of(&vec![1; 300_000]), frame_of(b"next")].concat();
        receive_all(&mut buffer, &stream[..200_000]);
        assert_eq!(buffer.missing(CAP), HEADER_LEN + 300_000 - 200_000);
        let (head, len) = buffer.drop_frame(CAP).unwrap();
        assert_eq!((head.stream, len, buffer.bytes.capacity()), (1, 300_000, 0));
        receive_all(&mut buffer, &stream[200_000..]);
        buffer.next(CAP).unwrap().unwrap();
        assert_eq!(buffer.body(), b"next");
        assert!(buffer.drop_frame(CAP).is_none(), "it is whole");
    }

    #[test]
    fn memory_is_exchanged_only_while_nothing_lies_there() {
        let mut buffer = ReceiveBuffer::new();
        let mut other = vec![0; 2 * KEPT];
        buffer.exchange(&mut other, |own, other| other.len() > own.len());
        assert_eq!((buffer.bytes.len(), other.len()), (2 * KEPT, 0));
        receive_all(&mut buffer, &frame_of(b"body"));
        buffer.exchange(&mut other, |_, _| true);
        buffer.next(CAP).unwrap().unwrap();
        buffer.exchange(&mut other, |_, _| true);
        assert_eq!((buffer.body(), other.len()), (&b"body"[..], 0));
        buffer.finish();
        buffer.exchange(&mut other, |_, _| true);
        assert_eq!((buffer.bytes.len(), other.len()), (0, 2 * KEPT));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn frames_come_out_as_they_were_sent_in_any_pieces(
            lens in prop::collection::vec(prop_oneof![0usize..200, 0usize..300_000], 1..20),
            pieces in prop::collection::vec(1usize..200_000, 1..20),
            peek_while_current in any::<bool>(),
        ) {
            let body = |(index, &len): (usize, &usize)| vec![index as u8; len];
            let bodies: Vec<Vec<u8>> = lens.iter().enumerate().map(body).collect();
            let stream: Vec<u8> = bodies.iter().flat_map(|body| frame_of(body)).collect();
            let mut buffer = ReceiveBuffer::new();
            let (mut sent, mut taken) = (0, 0);
            let mut pieces = pieces.iter().cycle();
            while taken < bodies.len() {
                let piece = (sent + pieces.next().unwrap()).min(stream.len());
                sent += receive(&mut buffer, &stream[sent..piece]);
                while buffer.next(CAP).unwrap().is_some() {
                    if peek_while_current {
                        let piece = (sent + 1000).min(stream.len());
                        sent += receive(&mut buffer, &stream[sent..piece]);
                    }
                    prop_assert_eq!(buffer.body(), &bodies[taken][..]);
                    buffer.finish();
                    taken += 1;
                }
            }
            prop_assert_eq!(buffer.len(), 0);
        }
    }
}
