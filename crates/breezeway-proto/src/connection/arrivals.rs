//! What came from the peer and nobody has taken up.

use std::collections::VecDeque;

use super::StreamKey;
use crate::Time;
use crate::validate::Request;

/// What the peer asks for.
#[derive(Debug)]
pub enum Arrival<M> {
    /// A call, or a one-way message.
    Call(Request, M, Time),
    /// A stream that the peer has opened.
    Stream {
        /// The stream.
        key: StreamKey,
        /// The method that it was opened for.
        method: u32,
        /// Until when the peer waits for it.
        deadline: Time,
    },
}

/// Arrivals in the order in which they came.
pub struct Arrivals<M> {
    queue: VecDeque<Arrival<M>>,
    /// One-way messages that are among them or are served, and of how many bytes.
    pub(super) one_way: usize,
    pub(super) one_way_bytes: usize,
    /// How many are streams.
    pub(super) streams: usize,
}

impl<M> Arrivals<M> {
    pub(super) fn new() -> Self {
        Self { queue: VecDeque::new(), one_way: 0, one_way_bytes: 0, streams: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn push_call(&mut self, request: Request, content: M, deadline: Time) {
        self.queue.push_back(Arrival::Call(request, content, deadline));
    }

    /// A one-way message of so many bytes that is about to be pushed as a call.
    pub(super) fn count_one_way(&mut self, len: usize) {
        self.one_way += 1;
        self.one_way_bytes += len;
    }

    pub(super) fn push_stream(&mut self, key: StreamKey, method: u32, deadline: Time) {
        self.streams += 1;
        self.queue.push_back(Arrival::Stream { key, method, deadline });
    }

    /// The oldest. A one-way message counts until [`Self::one_way_ended`].
    pub(super) fn pop(&mut self) -> Option<Arrival<M>> {
        let arrival = self.queue.pop_front()?;
        self.streams -= usize::from(matches!(arrival, Arrival::Stream { .. }));
        Some(arrival)
    }

    pub(super) fn one_way_ended(&mut self, len: usize) {
        // Those that are served when nobody takes up more are no longer counted.
        self.one_way = self.one_way.saturating_sub(1);
        self.one_way_bytes = self.one_way_bytes.saturating_sub(len);
    }

    /// Takes out the oldest stream of which `is_over` says so.
    pub(super) fn remove_stream(
        &mut self,
        is_over: impl Fn(StreamKey) -> bool,
    ) -> Option<StreamKey> {
        let over = |arrival: &Arrival<M>| match arrival {
            Arrival::Stream { key, .. } => is_over(*key),
            Arrival::Call(..) => false,
        };
        let at = self.queue.iter().position(over)?;
        match self.queue.remove(at) {
            Some(Arrival::Stream { key, .. }) => {
                self.streams -= 1;
                Some(key)
            }
            _ => None,
        }
    }

    /// Nobody will take them up.
    pub fn clear(&mut self) {
        self.queue.clear();
        (self.one_way, self.one_way_bytes, self.streams) = (0, 0, 0);
    }
}
