//! Receiving of messages on streams.

use super::Streams;
use super::event::{Opening, RecvState, StreamEvent};
use super::key::StreamKey;
use crate::connection::stream::{Carried, Direction};
use crate::violation::StreamViolation;

impl<M> Streams<M> {
    /// Validates a message on a stream that is open, or that it opens. Its content is kept by the
    /// stream if a reader may take it.
    #[inline]
    pub(in crate::connection) fn receive(
        &mut self,
        number: u32,
        opening: Option<Opening>,
        flags: u8,
        carried: Carried,
        content: impl FnOnce() -> M,
    ) -> Result<StreamEvent, StreamViolation> {
        let Some(Opening { method, .. }) = opening else {
            let key = self.find(number).ok_or(StreamViolation::NotOpen(number))?;
            let is_wanted = self.receive_message(key, flags, carried, content)?;
            return Ok(if is_wanted { StreamEvent::Received(key) } else { StreamEvent::Nothing });
        };
        let key = self.open_for_peer(number)?;
        self.receive_message(key, flags, carried, content)?;
        Ok(StreamEvent::Opened { key, method })
    }

    /// Validates a message on a stream that is open. Returns true if a reader may wait for it.
    #[inline]
    pub(in crate::connection) fn receive_message(
        &mut self,
        key: StreamKey,
        flags: u8,
        carried: Carried,
        content: impl FnOnce() -> M,
    ) -> Result<bool, StreamViolation> {
        // The caller has just made the key.
        let stream = self.slots[key.index()].as_mut().expect("a stream that is not over");
        let is_wanted = stream.receive(flags, carried, content)?;
        if carried.last {
            self.settle(key.place());
        }
        Ok(is_wanted)
    }

    /// Accepts an entry of a stream that is not in the table any more. Number 0 is a violation,
    /// because it never was a stream.
    pub(super) fn crossed(&self, number: u32) -> Result<StreamEvent, StreamViolation> {
        if number == 0 { Err(StreamViolation::NotOpen(0)) } else { Ok(StreamEvent::Nothing) }
    }

    pub(super) fn nothing_to_take<R>(&self, key: StreamKey) -> RecvState<R> {
        match (self.reset_code(key), self.get(key).incoming) {
            (_, Direction::Refusing(_)) => RecvState::End,
            (Some(code), _) => RecvState::Reset(code),
            (None, Direction::Finished) => RecvState::End,
            (None, _) => RecvState::Nothing,
        }
    }
}
