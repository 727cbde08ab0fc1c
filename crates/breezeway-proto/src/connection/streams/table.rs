//! The table: a stream's place from its opening to its end, by key and by number.

use super::Streams;
use super::key::StreamKey;
use crate::connection::stream::Stream;
use crate::violation::StreamViolation;

impl<M> Streams<M> {
    pub(super) fn open_for_peer(&mut self, number: u32) -> Result<StreamKey, StreamViolation> {
        let is_odd = !number.is_multiple_of(2);
        if number == 0 || is_odd == self.opens_odd || self.uses(number) {
            return Err(StreamViolation::Number(number));
        }
        if self.opened_by_peer == self.own.max_streams {
            return Err(StreamViolation::TooMany(self.own.max_streams));
        }
        self.opened_by_peer += 1;
        Ok(self.insert(number))
    }

    pub(super) fn insert(&mut self, number: u32) -> StreamKey {
        let stream = Stream::new(number, self.own.window, self.peers.window);
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.generations.push(0);
            self.slots.len() as u32 - 1
        });
        let generation = &mut self.generations[index as usize];
        *generation = generation.wrapping_add(1);
        self.slots[index as usize] = Some(stream);
        self.by_number.insert(number, index);
        StreamKey::new(index, *generation)
    }

    /// Returns the stream that has this number.
    #[inline]
    pub(in crate::connection) fn find(&self, number: u32) -> Option<StreamKey> {
        let &index = self.by_number.get(&number)?;
        Some(StreamKey::new(index, self.generations[index as usize]))
    }

    #[inline]
    fn check(&self, key: StreamKey) {
        let generation = self.generations[key.index()];
        assert!(generation == key.generation(), "the stream's handle outlives it");
    }

    #[inline]
    pub(super) fn get(&self, key: StreamKey) -> &Stream<M> {
        self.check(key);
        self.slots[key.index()].as_ref().expect("a stream lives until its handle is dropped")
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: StreamKey) -> &mut Stream<M> {
        self.check(key);
        self.slots[key.index()].as_mut().expect("a stream lives until its handle is dropped")
    }

    pub(super) fn list(&mut self, index: u32) {
        if let Some(stream) = &mut self.slots[index as usize]
            && !std::mem::replace(&mut stream.is_listed, true)
        {
            self.listed.push_back(index);
        }
    }

    /// Frees the number of a stream that is over, and the stream itself if the application has
    /// abandoned it.
    pub(super) fn settle(&mut self, index: u32) {
        let Some(stream) = &mut self.slots[index as usize] else { return };
        if !stream.is_over() {
            return;
        }
        stream.end();
        let (number, is_abandoned) = (stream.number, stream.is_abandoned());
        if self.by_number.get(&number) == Some(&index) {
            self.by_number.remove(&number);
            let is_odd = !number.is_multiple_of(2);
            if is_odd == self.opens_odd {
                self.opened_here -= 1;
                self.has_ended_here = true;
            } else {
                self.opened_by_peer -= 1;
            }
        }
        if is_abandoned {
            // The index may still be listed, which has no effect then.
            self.slots[index as usize] = None;
            self.free.push(index);
        }
    }
}
